package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/topology"
)

// Arranged is a Server that is several servers, which agree among themselves
// who of them is the primary. What is done to it, is done to the primary of one
// key; Pause and Restart are not: they are for servers that stand alone.
//
// Its methods may be called one after the other.
type Arranged interface {
	Server

	// Nodes are the addresses of all servers that a client may have to reach,
	// in an order that does not change.
	Nodes() []string
	// Guides are those of them that only tell clients which server is the primary.
	Guides() []string
	// Universal are the options of a client that finds its way among them.
	Universal() *redis.UniversalOptions

	// Sever makes the primary of the key lose its replicas, which have all
	// that it has then, and get nothing any more.
	Sever(ctx context.Context, key string) error
	// Lacks tells how many bytes of what the primary did are in no replica.
	Lacks(ctx context.Context) (int64, error)
	// Lose kills the primary of the key, with its data, like SIGKILL.
	Lose(ctx context.Context, key string) error
	// Isolate severs the primary of the key, also from those servers that
	// watch over it. Clients still reach it. It returns its address.
	Isolate(ctx context.Context, key string) (addr string, err error)
	// Promoted waits until another one has taken the place of the primary that
	// was lost or isolated, and returns its address.
	Promoted(ctx context.Context) (addr string, err error)
	// Rejoin brings the old primary back: as a replica of the new one.
	Rejoin(ctx context.Context) error
}

// The arrangements of Arrange.
const (
	Sentinel = "sentinel" // a primary with two replicas, behind three Sentinels
	Cluster  = "cluster"  // a cluster of three primaries with a replica each
)

// Arrange starts private servers of such an arrangement: processes of the
// redis-server and redis-sentinel that are on PATH.
func Arrange(ctx context.Context, kind string, o Options) (Arranged, error) {
	programs := []string{topology.ServerProgram}
	if kind == Sentinel {
		programs = append(programs, topology.SentinelProgram)
	}
	if kind != Sentinel && kind != Cluster {
		return nil, &Error{Kind: BadSpec, Text: fmt.Sprintf("no arrangement of servers is called %q; use %s or %s", kind, Sentinel, Cluster)}
	}
	if o.Engine != nil {
		return arrangeContainers(ctx, kind, o)
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return nil, &Error{Kind: Missing, Text: program + " is not on PATH; install it (apt install redis-server redis-sentinel, brew install redis)", Err: err}
		}
	}
	g, release, err := o.guard()
	if err != nil {
		return nil, err
	}
	return arrange(ctx, &arranged{attendance: attendance{supervisor: g}, release: release, kind: kind})
}

func arrange(ctx context.Context, a *arranged) (Arranged, error) {
	a.why, a.timeout = "the plan's topology", startTimeout
	a.attendance.servers = func() []*redis.Options {
		var all []*redis.Options
		for _, s := range a.one.stores() {
			o := a.Options()
			o.Addr = s.Addr
			all = append(all, o)
		}
		return all
	}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// arranged is what all arrangements have in common.
type arranged struct {
	private
	attendance
	kind, version string
	release       func() error
	dir           string
	launcher      *topology.Launcher
	sites         *sites // nil: processes of this machine
	one           arrangement

	old    *topology.Server // the primary that was lost or isolated
	await  func(context.Context) (*topology.Server, error)
	lonely *topology.Server // the primary that was severed, and where its replicas stopped
	offset int64

	once sync.Once
}

var _ Arranged = (*arranged)(nil)

// arrangement is what differs.
type arrangement interface {
	servers() []*topology.Server // that clients may have to reach
	stores() []*topology.Server  // those of them that have data
	universal() *redis.UniversalOptions
	url() string
	primary(ctx context.Context, key string) (p *topology.Server, replicas []*topology.Server, err error)
	// watch begins to look for a failover from the old primary; the function
	// that it returns waits for it.
	watch(ctx context.Context, key string, old *topology.Server) (func(context.Context) (*topology.Server, error), error)
}

func (a *arranged) open(ctx context.Context) error {
	var err error
	if a.dir, err = a.supervisor.MemoryDirectory("redis", memoryRoom); err != nil {
		return err
	}
	a.launcher = topology.NewLauncher(a.dir, func(cmd *exec.Cmd) (topology.Process, error) { return a.supervisor.Start(cmd) })
	if a.sites != nil {
		a.launcher.Settle(func(program string) (topology.Site, error) { return a.sites.site(ctx, program) })
	}
	if a.kind == Sentinel {
		a.one, err = openSentinels(ctx, a.launcher)
	} else {
		a.one, err = openCluster(ctx, a.launcher)
	}
	if err != nil {
		return fmt.Errorf("redisserver: the arrangement %s does not start: %w", a.kind, err)
	}
	a.addr = a.one.servers()[0].Addr
	fields, err := a.one.servers()[0].Info(ctx, "server")
	a.version = fields["redis_version"]
	return err
}

// Describe implements Server.
func (a *arranged) Describe() string { return a.kind + " " + a.version }

// Options implements Server: those of the first primary.
func (a *arranged) Options() *redis.Options {
	o := a.one.universal()
	return plain(redis.Options{Addr: a.addr, Password: o.Password, ClientName: ownName})
}

// CandidateURL implements Server. The candidate also needs to know which server is at
// the end of which proxy: servers name each other by their own addresses.
func (a *arranged) CandidateURL(string) string {
	text := a.one.url()
	if a.login == nil {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		panic(err) // it was made of a url.URL
	}
	u.User = a.user()
	return u.String()
}

// Nodes implements Arranged.
func (a *arranged) Nodes() []string {
	var list []string
	for _, s := range a.one.servers() {
		list = append(list, s.Addr)
	}
	return list
}

// Universal implements Arranged.
func (a *arranged) Universal() *redis.UniversalOptions {
	o := a.one.universal()
	o.ClientName = ownName
	return o
}

// Guides implements Arranged.
func (a *arranged) Guides() []string {
	var list []string
	for _, s := range a.one.servers()[len(a.one.stores()):] {
		list = append(list, s.Addr)
	}
	return list
}

// Sever implements Arranged.
func (a *arranged) Sever(ctx context.Context, key string) error {
	p, replicas, err := a.one.primary(ctx, key)
	if err != nil {
		return err
	}
	if err := p.InStep(ctx, len(replicas)); err != nil {
		return err
	}
	if err := p.Sever(ctx); err != nil {
		return err
	}
	a.lonely, a.offset = p, 0
	for _, r := range replicas {
		offset, err := offsetOf(ctx, r)
		if err != nil {
			return err
		}
		a.offset = max(a.offset, offset)
	}
	return nil
}

func offsetOf(ctx context.Context, s *topology.Server) (int64, error) {
	fields, err := s.Info(ctx, "replication")
	if err != nil {
		return 0, err
	}
	field := "master_repl_offset"
	if fields["role"] == "slave" {
		field = "slave_repl_offset"
	}
	return strconv.ParseInt(fields[field], 10, 64)
}

// Lacks implements Arranged.
func (a *arranged) Lacks(ctx context.Context) (int64, error) {
	if a.lonely == nil {
		return 0, errors.New("redisserver: no primary was severed from its replicas")
	}
	offset, err := offsetOf(ctx, a.lonely)
	return offset - a.offset, err
}
