package guards

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// remote are resources in Redis, each of several keys with one hash tag.
type remote struct {
	*run
	server  *redisserver.Server
	links   []*network.Link
	clients []*redis.Client
	guards  []*fence.RedisGuard

	mu   sync.Mutex // held while the server executes
	seen []string   // what each resource held last
}

var _ guarded = (*remote)(nil)

// Writes of the resource's own, to two keys: one that succeeds, one that fails, and one
// that fails when it has written.
var (
	writeBoth  = fence.NewWrite("for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1]) end")
	writeFails = fence.NewWrite("return redis.error_reply('NO the write fails by itself')")
	writeBreak = fence.NewWrite("redis.call('SET', KEYS[2], ARGV[1]) return redis.error_reply('NO the write fails by itself')")
)

// newRemote makes a server with so many ways to it.
func newRemote(r *run, ways int) *remote {
	logging.Disable() // ways are cut on purpose
	m := &remote{run: r}
	for range r.Resources {
		m.seen = append(m.seen, nothing)
	}
	m.server = redisserver.New(redisserver.Options{
		Clock: func() time.Duration { return time.Duration(time.Now().UnixNano()) }, Executed: m.executed,
	})
	for i := range ways {
		link := network.NewLink(r.Number<<8+uint64(writers+i), sim.Network{Latency: r.RoundTrip / 2, Jitter: r.RoundTrip / 4}, m.server)
		endpoint := link.Endpoint()
		client := redis.NewClient(&redis.Options{
			Addr: "store:6379", Protocol: 2, MaxRetries: -1, PoolSize: pool, ContextTimeoutEnabled: true, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, // it would look names up
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, dialling)
				defer cancel()
				return endpoint.Dial(ctx)
			},
		})
		m.links, m.clients, m.guards = append(m.links, link), append(m.clients, client), append(m.guards, fence.NewRedisGuard(client))
	}
	return m
}

// keyOf is the key that is read of a resource.
func keyOf(resource string) string { return "{" + resource + "}:last" }

// part is another key of the resource.
func part(resource, what string) string { return "{" + resource + "}:" + what }

// lasts is how long a key lasts after the call, which tells the call.
func (c *call) lasts() time.Duration { return time.Hour + time.Duration(c.number)*time.Millisecond }

// do implements guarded.
func (m *remote) do(ctx context.Context, c *call) error {
	return m.through(ctx, c.writer, c, c.token)
}

// through makes a call by the guard of one of the ways.
func (m *remote) through(ctx context.Context, way int, c *call, token uint64) (err error) {
	g, name := m.guards[way], resourceName(c.resource)
	key, both := keyOf(name), []string{part(name, "other"), keyOf(name)}
	switch text := c.value + " " + strconv.FormatUint(token, 10); {
	case c.what == check:
		return g.Check(ctx, token, key)
	case c.what == field:
		_, err = g.HSet(ctx, token, part(name, "fields"), map[string]string{"value": text, "beside": "x"})
	case c.what == clear:
		_, err = g.Del(ctx, token, part(name, "fields"), part(name, c.value))
	case c.what == expire:
		if _, err = g.Expire(ctx, token, key, c.lasts()); err == nil && c.number%2 == 0 {
			m.lasting(ctx, g, token, key)
		}
	case c.fate == fails:
		_, err = g.Do(ctx, token, writeFails, both, text)
	case c.fate == breaks:
		_, err = g.Do(ctx, token, writeBreak, both, text)
	case c.number%3 == 0:
		err = g.Set(ctx, token, key, text, 0)
	case c.number%3 == 1:
		err = g.Set(ctx, token, key, text, time.Hour)
	default:
		_, err = g.Do(ctx, token, writeBoth, both, text)
	}
	if redis.HasErrorPrefix(err, "NO ") {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	return err
}

// lasting takes the time to live off a key, twice: also of a key that has none, Expire says
// whether it is there.
func (m *remote) lasting(ctx context.Context, g *fence.RedisGuard, token uint64, key string) {
	for range 2 {
		before := m.exists(key)
		is, err := g.Expire(ctx, token, key, 0)
		if err == nil && before == m.exists(key) && is != before {
			m.Find(results, "Expire of %s without a time to live returned %v, and that the key is there is %v", key, is, before)
		}
	}
}

func (m *remote) exists(key string) (is bool) {
	if m.server.Open() {
		m.server.With(func(dbs []*redismodel.Server, now time.Duration) { is = dbs[0].Do(now, "EXISTS", key).Int == 1 })
	}
	return is
}

// executed sees each script, and whether it has changed the resource that its call
// names.
func (m *remote) executed(_ *redisserver.Server, db *redismodel.Server, args []string, reply redismodel.Reply) {
	if args[0] != "EVAL" && args[0] != "EVALSHA" {
		return
	}
	c := m.named(args)
	if c == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	holds := m.holds(db, c.resource)
	passed := len(reply.Items) > 0 && reply.Items[0].Int == 1
	if holds != m.seen[c.resource] || passed && (c.what == clear || c.what == expire) {
		m.record.add(done, c)
	}
	m.seen[c.resource] = holds
}

// named is the call that is named in a script's arguments; nil if none is.
func (m *remote) named(args []string) *call {
	for _, arg := range args[3:] {
		value, _, _ := strings.Cut(arg, " ")
		value = value[strings.IndexByte(value, ':')+1:]
		if c := m.record.of(value); c != nil {
			return c
		}
		if ms, err := strconv.Atoi(arg); err == nil && ms >= int(time.Hour/time.Millisecond) {
			if c := m.record.nth(ms - int(time.Hour/time.Millisecond)); c != nil && c.what == expire {
				return c
			}
		}
	}
	return nil
}

// holds is all that a resource holds, but for its fence.
func (m *remote) holds(db *redismodel.Server, resource int) string {
	now, name := time.Duration(time.Now().UnixNano()), resourceName(resource)
	var all []string
	for _, key := range []string{keyOf(name), part(name, "other")} {
		all = append(all, db.Do(now, "GET", key).Text)
	}
	all = append(all, db.Do(now, "HGET", part(name, "fields"), "value").Text, db.Do(now, "HGET", part(name, "fields"), "beside").Text)
	return strings.Join(all, "\n")
}

// nothing is what an empty resource holds.
const nothing = "\n\n\n"

// highest implements guarded.
func (m *remote) highest(ctx context.Context, resource int) (token uint64, ok bool) {
	token, err := m.guards[resource%len(m.guards)].Highest(ctx, keyOf(resourceName(resource)))
	return token, err == nil
}

// read implements guarded.
func (m *remote) read(resource int) (value string, token uint64, ok bool) {
	if !m.server.Open() {
		return "", 0, false
	}
	var text string
	m.server.With(func(dbs []*redismodel.Server, now time.Duration) {
		text = dbs[0].Do(now, "GET", keyOf(resourceName(resource))).Text
	})
	value, digits, _ := strings.Cut(text, " ")
	token, _ = strconv.ParseUint(digits, 10, 64) // 0: nothing was written yet
	return value, token, true
}

// act implements guarded.
func (m *remote) act(a Act) {
	switch a.Kind {
	case Restart:
		m.restart(a)
	case Freeze:
		if m.server.Freeze() {
			time.Sleep(a.For)
			m.server.Thaw()
		}
	case Flush:
		if !m.server.Open() {
			return
		}
		m.server.With(func(dbs []*redismodel.Server, now time.Duration) { dbs[0].Do(now, "SCRIPT", "FLUSH") })
	default:
		onWay(m.links[min(a.Way, len(m.links)-1)], a)
	}
}

func (m *remote) restart(a Act) {
	if !m.server.Crash() {
		return
	}
	for _, link := range m.links {
		link.Break()
	}
	time.Sleep(a.For)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !a.Keep {
		for i := range m.seen {
			m.seen[i] = nothing
			m.record.to(i, forgot, 0)
		}
	}
	m.server.Restart(a.Keep)
}

// onWay lets something happen to a way.
func onWay(link *network.Link, a Act) {
	switch a.Kind {
	case Cut:
		link.Cut(a.How)
		time.Sleep(a.For)
		link.Mend()
	case Hangup:
		link.Break()
	case Strand:
		link.Strand()
	}
}

func (m *remote) close() {
	for i, c := range m.clients {
		_ = c.Close() // nobody uses it any more
		m.links[i].Close()
	}
	time.Sleep(settling) // the clients notice that within seconds
}

// dialling is how long a client tries to open a connection. It does not give up with
// the one that has asked for it, since others may use the connection.
const dialling = 5 * time.Second

// settling is how long clients need to notice that they were closed.
const settling = 3 * time.Second
