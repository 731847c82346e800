package calls_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/internal/race"
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

// carried is what came of it: how many lead in the end, how many terms ended, how many
// renewals succeeded and how many requests were given up once all had begun.
type carried struct {
	leading                int
	lost, renewed, givenUp int64
	crowded                int64 // how often somebody was told that they are too many
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
	var lost, renewed, givenUp, crowded atomic.Int64
	var competing sync.WaitGroup
	all := make([]*elector.Elector, c.elections)
	begun := time.Now()
	for i := range all {
		all[i], err = elector.New(store, elector.Config{
			Election: "e" + strconv.Itoa(i), ID: "p0", Lease: c.lease, Clock: sinceBegun{begun}, Logger: slog.New(slog.DiscardHandler),
			OnEvent: func(ev elector.Event) {
				switch late := time.Since(begun) > 3*c.lease; {
				case ev.Kind == event.Deposed && ctx.Err() == nil:
					lost.Add(1)
				case errors.Is(ev.Err, event.ErrCrowded):
					crowded.Add(1)
				case late && ev.Kind == event.Extended:
					renewed.Add(1)
				case late && errors.Is(ev.Err, event.ErrTimeout):
					givenUp.Add(1)
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
	out.lost, out.renewed, out.givenUp, out.crowded = lost.Load(), renewed.Load(), givenUp.Load(), crowded.Load()
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
// forty milliseconds, are all led, and no term is lost. Where RECOUNT_CASES
// asks for a campaign that goes on for ten minutes, and else for ten seconds.
func TestThousandElectionsFarAway(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	lasts := 10 * time.Second
	if drawn.Asked() {
		lasts = 10 * time.Minute
	}
	const elections = 1000
	got := capacity{elections: elections, lease: 3 * time.Second, roundTrip: 40 * time.Millisecond, lasts: lasts}.carry(t)
	if got.leading != elections || got.lost != 0 {
		t.Errorf("after %v %d of %d elections are led, and %d terms were lost", lasts, got.leading, elections, got.lost)
	}
}

// As many elections as docs/operations.md allows for a round trip are led without a loss,
// and no renewal is given up, though all of them are due at one moment. A batch more is
// given up and repeated, and somebody is told so, once. Above PoolSize × 100 ×
// RequestTimeout ÷ round trip terms are lost.
func TestElectionsThatARoundTripAllows(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	const lease = 3 * time.Second
	for _, c := range []struct {
		roundTrip time.Duration
		pool      int
		allowed   int // with round trips that take a tenth longer
		most      int // of which no term is lost
	}{
		{40 * time.Millisecond, 1, 1000, 1200},
		{100 * time.Millisecond, 1, 300, 500},
		{150 * time.Millisecond, 4, 800, 1200},
		{300 * time.Millisecond, 1, 1, 100},
		{300 * time.Millisecond, 4, 4, 600},
		{400 * time.Millisecond, 4, 4, 400},
	} {
		store, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, PoolSize: c.pool}, redisstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := store.Carries(lease/6, c.roundTrip+c.roundTrip/10); got != c.allowed {
			t.Errorf("%v, %d connections: %d elections are allowed, want %d", c.roundTrip, c.pool, got, c.allowed)
		}
		_ = store.Close()
		run := func(elections int) carried {
			got := capacity{elections: elections, lease: lease, roundTrip: c.roundTrip, pool: c.pool, lasts: 24 * time.Second}.carry(t)
			t.Logf("%v, %d connections: of %d elections are %d led, %d terms were lost; %d renewals, %d given up, %d warnings",
				c.roundTrip, c.pool, elections, got.leading, got.lost, got.renewed, got.givenUp, got.crowded)
			return got
		}
		if got := run(c.allowed); got.leading != c.allowed || got.lost != 0 || got.givenUp != 0 || got.crowded != 0 {
			t.Errorf("%v, %d connections, %d elections, which are allowed: got %+v, want all led, and nothing lost or given up", c.roundTrip, c.pool, c.allowed, got)
		}
		if got := run(c.most); got.leading != c.most || got.lost != 0 || got.givenUp == 0 || got.crowded != 1 {
			t.Errorf("%v, %d connections, %d elections: got %+v, want all led, some renewals given up, and one warning", c.roundTrip, c.pool, c.most, got)
		}
	}
	const far = 3 * 600 // at 300 ms on four connections
	if got := (capacity{elections: far, lease: lease, roundTrip: 300 * time.Millisecond, pool: 4, lasts: 24 * time.Second}).carry(t); got.leading == far || got.lost == 0 || got.crowded != 1 {
		t.Errorf("%d elections are led without a loss: %+v", far, got)
	}
}
