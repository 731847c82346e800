package topology

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// MasterName is what the Sentinels call the primary that they watch.
	MasterName = "primary"
	// ClientPassword is what clients give to servers behind Sentinels, unless
	// the settings have another one. Without any, a Sentinel that is barred
	// would do its work without a password.
	ClientPassword = "client"
)

// Sentinels is a primary with replicas, watched by Sentinels that promote a
// replica when the primary is gone.
type Sentinels struct {
	*Replicated
	Sentinels []*Server
	Password  string // of clients at the primary and the replicas
}

// SentinelConfig is what Sentinels are started with.
type SentinelConfig struct {
	Replicas  int           // 0: two
	Sentinels int           // 0: three; the majority must agree
	DownAfter time.Duration // silence after which a server is taken for gone; 0: 500 ms
	Server    Config        // of the primary and the replicas; Client.Password is set on them
	Password  string        // that clients must give to the Sentinels; empty: none

	_ struct{}
}

// Sentinels starts a primary, its replicas and their Sentinels, and waits until
// each Sentinel knows all others and every replica.
func (l *Launcher) Sentinels(ctx context.Context, c SentinelConfig) (*Sentinels, error) {
	if c.Replicas == 0 {
		c.Replicas = 2
	}
	if c.Sentinels == 0 {
		c.Sentinels = 3
	}
	if c.DownAfter == 0 {
		c.DownAfter = 500 * time.Millisecond
	}
	if c.Server.Client.Password == "" {
		c.Server.Client.Password = ClientPassword
	}
	c.Server.Settings = append([]string{"--requirepass", c.Server.Client.Password}, c.Server.Settings...)
	r, err := l.Replicated(ctx, c.Replicas, c.Server)
	if err != nil {
		return nil, err
	}
	t := &Sentinels{Replicated: r, Password: c.Server.Client.Password}
	err = again(func() error { return t.watch(ctx, l, c) })
	if err != nil {
		return nil, err
	}
	return t, each(t.Sentinels, func(_ int, s *Server) error { return t.awaitKnown(ctx, s, c) })
}

// watch starts the Sentinels. They are told of each other and of the replicas:
// to find out by themselves takes them ten seconds.
func (t *Sentinels) watch(ctx context.Context, l *Launcher, c SentinelConfig) error {
	t.Sentinels = make([]*Server, c.Sentinels)
	ids := make([]string, c.Sentinels)
	for i := range t.Sentinels {
		s, err := l.reserve(SentinelProgram, redis.Options{Password: c.Password})
		if err != nil {
			return err
		}
		s.args = []string{"sentinel.conf"}
		t.Sentinels[i], ids[i] = s, nodeID()
	}
	return each(t.Sentinels, func(i int, s *Server) error {
		if err := os.WriteFile(filepath.Join(s.dir, "sentinel.conf"), []byte(t.settings(i, ids, c)), 0o600); err != nil {
			return fmt.Errorf("topology: the settings of a Sentinel: %w", err)
		}
		return s.Start(ctx)
	})
}

// settings are those of the i-th Sentinel.
func (t *Sentinels) settings(i int, ids []string, c SentinelConfig) string {
	var b strings.Builder
	set := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	set("port %d\nbind %s\ndir %s\nsentinel myid %s", t.Sentinels[i].Port(), t.Sentinels[i].bind, strconv.Quote(t.Sentinels[i].dir), ids[i])
	set("sentinel monitor %s %s %d %d", MasterName, t.Primary.host, t.Primary.Port(), c.Sentinels/2+1)
	set("sentinel down-after-milliseconds %s %d", MasterName, c.DownAfter.Milliseconds())
	// An election in which two Sentinels got one vote each is repeated after
	// twice this time.
	set("sentinel failover-timeout %s 2000", MasterName)
	set("sentinel auth-user %s %s\nsentinel auth-pass %s %s", MasterName, SentinelUser, MasterName, peerPassword)
	for _, r := range t.Replicas {
		set("sentinel known-replica %s %s %d", MasterName, r.host, r.Port())
	}
	for k, other := range t.Sentinels {
		if k != i {
			set("sentinel known-sentinel %s %s %d %s", MasterName, other.host, other.Port(), ids[k])
		}
	}
	if c.Password != "" {
		set("requirepass %s\nsentinel sentinel-pass %s", strconv.Quote(c.Password), strconv.Quote(c.Password))
	}
	return b.String()
}

// nodeID is a name as servers give themselves one.
func nodeID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails: it ends the program instead
	return hex.EncodeToString(id[:])
}

// awaitKnown waits until the Sentinel could carry out a failover.
func (t *Sentinels) awaitKnown(ctx context.Context, s *Server, c SentinelConfig) error {
	// A machine that is busy for two seconds would else make a Sentinel do
	// nothing for half a minute. And a Sentinel that pings no more often than
	// after the silence for which it takes a server for gone takes the new
	// primary for gone as soon as it is promoted: then one failover follows the
	// other. Nor much more often: it promotes no replica of which it has heard
	// nothing for five periods, and one that cannot reach its primary is asked
	// once a second. Before Redis 7 there was no such command.
	_ = s.client.Do(ctx, "SENTINEL", "DEBUG", "tilt-trigger", 20000, "tilt-period", 1000,
		"ping-period", max(c.DownAfter.Milliseconds()/3, 300), "info-period", 500, "publish-period", 500, "ask-period", 200).Err()
	return until(ctx, "the Sentinel at "+s.Addr+" does not get ready", func() (bool, error) {
		if err := s.client.Do(ctx, "SENTINEL", "CKQUORUM", MasterName).Err(); err != nil {
			return false, err
		}
		replicas, err := s.list(ctx, "REPLICAS")
		ready := 0
		for _, r := range replicas {
			if r["flags"] == "slave" && r["master-link-status"] == "ok" {
				ready++
			}
		}
		if err != nil || ready < c.Replicas {
			return false, err
		}
		others, err := s.list(ctx, "SENTINELS")
		ready = 0
		for _, other := range others {
			if other["flags"] == "sentinel" {
				ready++
			}
		}
		return ready == c.Sentinels-1, err
	})
}

// list asks a Sentinel for what it knows of one kind of server.
func (s *Server) list(ctx context.Context, what string) ([]map[string]string, error) {
	reply, err := s.client.Do(ctx, "SENTINEL", what, MasterName).Slice()
	if err != nil {
		return nil, err
	}
	all := make([]map[string]string, len(reply))
	for i, one := range reply {
		all[i] = map[string]string{}
		switch fields := one.(type) {
		case []any:
			for k := 0; k+1 < len(fields); k += 2 {
				all[i][fmt.Sprint(fields[k])] = fmt.Sprint(fields[k+1])
			}
		case map[any]any:
			for k, v := range fields {
				all[i][fmt.Sprint(k)] = fmt.Sprint(v)
			}
		}
	}
	return all, nil
}

// SentinelAddrs are the addresses of the Sentinels.
func (t *Sentinels) SentinelAddrs() []string { return addrs(t.Sentinels) }

// URL is the topology for redisstore.ParseURL.
func (t *Sentinels) URL() string {
	return join(url.UserPassword("", t.Password), t.SentinelAddrs(), "master="+MasterName)
}

// Switch waits for failovers.
type Switch struct {
	topology *Sentinels
	sub      *redis.PubSub
}

// Switching subscribes to what one Sentinel announces, so that a failover
// which begins afterwards is not missed. The caller closes it.
func (t *Sentinels) Switching(ctx context.Context) (*Switch, error) {
	sub := t.Sentinels[0].client.Subscribe(ctx, "+switch-master")
	if _, err := sub.Receive(ctx); err != nil {
		return nil, fmt.Errorf("topology: listen to the Sentinel at %s: %w", t.Sentinels[0].Addr, err)
	}
	return &Switch{t, sub}, nil
}

// Close ends the subscription.
func (w *Switch) Close() error { return w.sub.Close() }

// Await waits for the end of a failover (+switch-master), and until all Sentinels
// know of it, and returns the new primary.
func (w *Switch) Await(ctx context.Context) (*Server, error) {
	message, err := w.sub.ReceiveMessage(ctx)
	if err != nil {
		return nil, fmt.Errorf("topology: no failover was announced: %w", err)
	}
	// NAME OLD-IP OLD-PORT NEW-IP NEW-PORT
	fields := strings.Fields(message.Payload)
	if len(fields) == 5 {
		for _, s := range w.topology.Servers() {
			if s.Addr == net.JoinHostPort(fields[3], fields[4]) {
				return s, w.topology.awaitAgreed(ctx, s)
			}
		}
	}
	return nil, fmt.Errorf("topology: the announcement %q names no server of ours", message.Payload)
}

// awaitAgreed waits until every Sentinel names this primary. The
// others learn of a failover a moment after the one that led it, and until then
// send clients to the old primary.
func (t *Sentinels) awaitAgreed(ctx context.Context, primary *Server) error {
	return each(t.Sentinels, func(_ int, s *Server) error {
		return until(ctx, "the Sentinel at "+s.Addr+" does not learn of the failover", func() (bool, error) {
			addr, err := s.client.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName).StringSlice()
			return strings.Join(addr, ":") == primary.Addr, err
		})
	})
}

func addrs(servers []*Server) []string {
	list := make([]string, len(servers))
	for i, s := range servers {
		list[i] = s.Addr
	}
	return list
}

// join makes a URL of addresses and a parameter.
func join(user *url.Userinfo, addrs []string, parameter string) string {
	u := url.URL{Scheme: "redis", User: user, Host: addrs[0], RawQuery: parameter}
	for _, addr := range addrs[1:] {
		u.RawQuery += "&addr=" + addr
	}
	return u.String()
}
