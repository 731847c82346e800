package guards

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// remote are resources in Redis, each of several keys with one hash tag.
type remote struct {
	server  *redisserver.Server
	links   []*network.Link // by writer
	clients []*redis.Client
	guards  []*fence.RedisGuard
	both    *fence.Write // to two keys
}

var _ guarded = (*remote)(nil)

func newRedis(c Case) *remote {
	logging.Disable() // ways are cut on purpose
	r := &remote{
		server: redisserver.New(redisserver.Options{Clock: func() time.Duration { return time.Duration(time.Now().UnixNano()) }}),
		both:   fence.NewWrite("for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1]) end"),
	}
	for i := range writers {
		link := network.NewLink(c.Seed<<8+uint64(i), sim.Network{Latency: c.RoundTrip / 2, Jitter: c.RoundTrip / 4}, r.server)
		endpoint := link.Endpoint()
		client := redis.NewClient(&redis.Options{
			Addr: "store:6379", Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, // it would look names up
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, requestTimeout)
				defer cancel()
				return endpoint.Dial(ctx)
			},
		})
		r.links, r.clients, r.guards = append(r.links, link), append(r.clients, client), append(r.guards, fence.NewRedisGuard(client))
	}
	return r
}

// keyOf is the key that is read of a resource.
func keyOf(resource int) string { return "{" + resourceName(resource) + "}:last" }

// write implements guarded: some writes are of one key, some of two, and some set a
// time to live.
func (r *remote) write(ctx context.Context, writer, resource int, token uint64, value string, takes time.Duration) error {
	text := value + " " + strconv.FormatUint(token, 10)
	if takes == 0 {
		return r.guards[writer].Set(ctx, token, keyOf(resource), text, time.Hour)
	}
	_, err := r.guards[writer].Do(ctx, token, r.both, []string{"{" + resourceName(resource) + "}:other", keyOf(resource)}, text)
	return err
}

// read implements guarded.
func (r *remote) read(resource int) (value string, token uint64) {
	var text string
	r.server.With(func(dbs []*redismodel.Server, now time.Duration) { text = dbs[0].Do(now, "GET", keyOf(resource)).Text })
	value, digits, _ := strings.Cut(text, " ")
	token, _ = strconv.ParseUint(digits, 10, 64) // 0: nothing was written yet
	return value, token
}

// cut implements guarded.
func (r *remote) cut(writer int, answers bool) {
	how := faults.CutBoth
	if answers {
		how = faults.CutReplies
	}
	r.links[writer].Cut(how)
}

// mend implements guarded.
func (r *remote) mend(writer int) { r.links[writer].Mend() }

func (r *remote) close() {
	for i, c := range r.clients {
		_ = c.Close() // nobody uses it any more
		r.links[i].Close()
	}
	time.Sleep(settling) // the clients notice that within seconds
}
