package quorumstore_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/elector/storetest"
	"github.com/recount-io/recount/internal/topology"
)

// redises are independent servers of a test.
type redises struct {
	*testing.T
	ctx     context.Context
	servers []*topology.Server
	skipped atomic.Int64 // time that was not waited for
}

func startRedises(t *testing.T, n int) *redises {
	t.Helper()
	ctx, l := topology.For(t, topology.ServerProgram)
	return &redises{T: t, ctx: ctx, servers: topology.Must[[]*topology.Server](t)(l.Independent(ctx, n, topology.Config{}))}
}

// now is the machine's clock and what was skipped.
func (r *redises) now() time.Duration {
	return elector.SystemClock().Now() + time.Duration(r.skipped.Load())
}

// open makes a Store on the servers.
func (r *redises) open(o redisstore.Options) *quorumstore.Store {
	r.Helper()
	var nodes []store.Store
	var names []string
	for _, s := range r.servers {
		node, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{s.Addr}}, o)
		if err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() { _ = node.Close() })
		nodes, names = append(nodes, node), append(names, s.Addr)
	}
	s, err := quorumstore.New(nodes, quorumstore.Options{Names: names, Now: r.now})
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// shorten makes every key end so much earlier, which does to leases what the
// passing of that time does.
const shorten = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, left - tonumber(ARGV[1])) end
end`

// do runs a command on some of the servers.
func (r *redises) do(on []*topology.Server, args ...any) {
	r.Helper()
	for _, s := range on {
		if err := s.Client().Do(r.ctx, args...).Err(); err != nil && err != redis.Nil {
			r.Fatalf("%v at %s: %v", args, s.Addr, err)
		}
	}
}

// quiet lets whatever a call left behind end before the call returns.
type quiet struct{ *quorumstore.Store }

func (q quiet) settle() {
	for q.Busy() {
		runtime.Gosched()
	}
}

func (q quiet) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	defer q.settle()
	return q.Store.Acquire(ctx, a)
}

func (q quiet) Renew(ctx context.Context, l store.Lease) error {
	defer q.settle()
	return q.Store.Renew(ctx, l)
}

func (q quiet) Release(ctx context.Context, l store.Lease) error {
	defer q.settle()
	return q.Store.Release(ctx, l)
}

// The Store keeps the contract of every store on five real servers, also when two
// of them have been killed.
func TestConformanceOnRedis(t *testing.T) {
	t.Parallel()
	r := startRedises(t, 5)
	for _, killed := range []int{0, 2} {
		for _, s := range r.servers[:killed] {
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range storetest.Cases() {
			t.Run(map[int]string{0: "five", 2: "three of five"}[killed]+"/"+c.Name, func(t *testing.T) {
				r.do(r.servers[killed:], "FLUSHALL")
				// Unprotected: a server that was flushed would wait for a lease.
				c.Run(t, quiet{r.open(redisstore.Options{Unprotected: true})}, func(d time.Duration) {
					r.do(r.servers[killed:], "EVAL", shorten, 0, max(d.Milliseconds(), 1))
					r.skipped.Add(int64(d))
				})
			})
		}
	}
}

// config is an elector's, with a lease that is short for a test and long enough
// for a slow machine.
func (r *redises) config(id string, stopped chan<- elector.Reason) elector.Config {
	return elector.Config{
		Election: election, ID: id, Lease: 3 * time.Second, Logger: slog.New(slog.DiscardHandler),
		OnEvent: func(ev elector.Event) {
			if ev.Kind == event.Deposed {
				stopped <- ev.Reason
			}
		},
	}
}

// On five real servers a leader stays the leader while two of them are killed,
// one of the others hangs, and the killed ones come back without their data. When
// three are killed it steps down by its deadline; when they are back there is a
// leader again, with a larger token.
func TestElectorOnRedis(t *testing.T) {
	t.Parallel()
	r := startRedises(t, 5)
	stopped := make(chan elector.Reason, 10)
	events := make(chan elector.Event, 1000)
	cfg := r.config("a", stopped)
	deposed := cfg.OnEvent
	cfg.OnEvent = func(ev elector.Event) { deposed(ev); events <- ev }
	e, err := elector.New(r.open(redisstore.Options{}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	term, err := e.Campaign(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	extended := func(times int) {
		t.Helper()
		for times > 0 {
			select {
			case ev := <-events:
				if ev.Kind == event.Extended {
					times--
				}
			case why := <-stopped:
				t.Fatalf("deposed: %s", why)
			case <-r.ctx.Done():
				t.Fatal("the leader renews no more")
			}
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	extended(1)
	must(r.servers[0].Kill())
	must(r.servers[1].Kill())
	extended(4) // longer than the lease
	must(r.servers[0].Start(r.ctx))
	must(r.servers[1].Start(r.ctx))
	extended(6) // a quarantine, and a renewal that mends
	must(r.servers[2].Pause(r.ctx))
	must(r.servers[3].Kill())
	extended(4)
	must(r.servers[2].Resume(r.ctx))
	for _, n := range []int{1, 2} {
		must(r.servers[n].Kill())
	}
	killed := r.now()
	select {
	case <-term.Context().Done():
	case <-r.ctx.Done():
		t.Fatal("leads without a majority")
	}
	if late := r.now() - killed; late > cfg.Lease || e.IsLeader() {
		t.Errorf("led for %v without a majority, with a lease of %v", late, cfg.Lease)
	}
	for _, n := range []int{1, 2, 3} {
		must(r.servers[n].Start(r.ctx))
	}
	_ = term.Resign(r.ctx) // the lease has ended
	next, err := elector.New(r.open(redisstore.Options{}), r.config("b", stopped))
	must(err)
	second, err := next.Campaign(r.ctx)
	must(err)
	if second.Token() <= term.Token() {
		t.Errorf("token %d after %d", second.Token(), term.Token())
	}
	must(second.Resign(r.ctx))
}
