package crowd_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
)

// capacity is a process that competes alone in many elections of one store.
type capacity struct {
	elections int
	lease     time.Duration
	roundTrip time.Duration
	pool      int
	lasts     time.Duration
}

// carried is what came of it: how many lead in the end, and how many terms ended.
type carried struct {
	leading int
	lost    int64
}

func (c capacity) run(t *testing.T) (out carried) {
	logging.Disable()
	server := redisserver.New(redisserver.Options{Clock: func() time.Duration { return time.Duration(time.Now().UnixNano()) }})
	link := network.NewLink(1, sim.Network{Latency: c.roundTrip / 2, Jitter: c.roundTrip / 20}, server)
	endpoint := link.Endpoint()
	store, err := redisstore.New(&redis.UniversalOptions{
		Addrs: []string{"store:6379"}, PoolSize: c.pool,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return endpoint.Dial(ctx) },
	}, redisstore.Options{Unprotected: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var lost atomic.Int64
	var competing sync.WaitGroup
	all := make([]*elector.Elector, c.elections)
	begun := time.Now()
	for i := range all {
		all[i], err = elector.New(store, elector.Config{
			Election: "e" + strconv.Itoa(i), ID: "p0", Lease: c.lease, Clock: sinceBegun{begun}, Logger: slog.New(slog.DiscardHandler),
			OnEvent: func(ev elector.Event) {
				if ev.Kind == elector.EventDeposed && ctx.Err() == nil {
					lost.Add(1)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		competing.Go(func() { _ = all[i].Run(ctx) }) // nothing of it is fatal
	}
	<-time.After(c.lasts)
	for _, e := range all {
		if e.IsLeader() {
			out.leading++
		}
	}
	out.lost = lost.Load()
	cancel()
	competing.Wait()
	_ = store.Close() // nobody uses it any more
	link.Close()
	<-time.After(10 * time.Second) // Redis clients notice within seconds that they were closed
	return out
}

// sinceBegun is a clock in a bubble.
type sinceBegun struct{ at time.Time }

func (s sinceBegun) Now() time.Duration { return time.Since(s.at) }

func (s sinceBegun) AfterFunc(d time.Duration, f func()) elector.Timer { return time.AfterFunc(d, f) }

// carry carries it out in a bubble.
func (c capacity) carry(t *testing.T) (out carried) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	bubbletest.Run(t, 1, func(t *testing.T) { out = c.run(t) })
	return out
}

// A thousand elections of one process, with a lease of three seconds and a round trip of
// forty milliseconds, are all led, and no term is lost. RECOUNT_CAPACITY says for how
// long, ten seconds by default.
func TestThousandElectionsFarAway(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	lasts := 10 * time.Second
	if text := os.Getenv("RECOUNT_CAPACITY"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	const elections = 1000
	got := capacity{elections: elections, lease: 3 * time.Second, roundTrip: 40 * time.Millisecond, lasts: lasts}.carry(t)
	if got.leading != elections || got.lost != 0 {
		t.Errorf("after %v %d of %d elections are led, and %d terms were lost", lasts, got.leading, elections, got.lost)
	}
}

// How many elections a round trip allows is PoolSize × 100 × RequestTimeout ÷ round
// trip, as docs/operations.md has it: so many are led without a loss, though all begin
// at one moment, and four times as many, which are twice as many as can be renewed at
// all, are not.
func TestElectionsThatARoundTripAllows(t *testing.T) {
	if raced.Enabled {
		t.Skip("the same without the race detector")
	}
	const lease, roundTrip, pool = 3 * time.Second, 250 * time.Millisecond, 1
	allowed := pool * 100 * int(lease/6) / int(roundTrip)
	for _, test := range []struct {
		elections int
		all       bool
	}{{allowed, true}, {4 * allowed, false}} {
		got := capacity{elections: test.elections, lease: lease, roundTrip: roundTrip, pool: pool, lasts: 30 * time.Second}.carry(t)
		t.Logf("%d elections are allowed: of %d are %d led, and %d terms were lost", allowed, test.elections, got.leading, got.lost)
		if all := got.leading == test.elections && got.lost == 0; all != test.all {
			t.Errorf("all are led: %t, want %t", all, test.all)
		}
	}
}
