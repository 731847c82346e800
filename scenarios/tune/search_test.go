package tune

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/sim"
)

// landscape is a search among points whose figures follow from their settings by a formula: the
// crash takes the lease and a part that is least where the retry is a seventh of the renewal
// interval and the time-out a quarter, needless changes end at a lease of 4 s, and requests
// follow from the renewals.
func landscape(q *Question, progress func(done, of int)) *search {
	s := newSearch(q, progress)
	s.measure = func(_ context.Context, t sim.Timings) (*Point, error) {
		off := func(a, b time.Duration, best float64) float64 {
			return math.Abs(math.Log(float64(a) / float64(b) / best))
		}
		crash := t.Lease.Seconds() * 1000 * (1 + .3*off(t.Retry, t.Renew, 1./7) + .1*off(t.RequestTimeout, t.Renew, 1./4))
		p := &Point{Timings: t, Crash: map[float64]Interval{.99: {Value: crash}}, Commands: 60 / t.Renew.Seconds()}
		if t.Lease < 4*time.Second {
			p.Needless = Interval{Value: 5, Low: 4, High: 6}
		}
		return p, nil
	}
	return s
}

func needlessWant(t *testing.T) []Want {
	t.Helper()
	w, err := ParseWant("needless < 1/year")
	if err != nil {
		t.Fatal(err)
	}
	return []Want{w}
}

// The search finds the best settings where the grid has none of them, has tried every neighbour
// of these, and tells how far it is without going beyond what it announced.
func TestSearchFindsWhatTheGridHasNot(t *testing.T) {
	last := 0
	q := &Question{Network: Network{RTT: 2 * time.Millisecond, P99: 4 * time.Millisecond}, Wants: needlessWant(t)}
	s := landscape(q, func(done, of int) {
		if done != last+1 || done > of {
			t.Errorf("%d of %d follows %d", done, of, last)
		}
		last = done
	})
	a, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if last != len(a.Points) || len(a.Points) > 200 {
		t.Errorf("%d points, %d were told", len(a.Points), last)
	}
	// Within 5 % of the shortest p99 the fewest requests win.
	best, at := a.Best.Timings, s.shapes[a.Best]
	if best.Lease != 4*time.Second || at.renewals != 2 || at.retries != 7 || at.timeout != 1./4 {
		t.Errorf("recommended: %+v, %+v", best, at)
	}
	var changes []string
	for _, n := range a.Neighbours {
		changes = append(changes, n.Change)
		if n.Point == a.Best || n.Point.Timings == best {
			t.Errorf("%s leads nowhere", n.Change)
		}
	}
	want := []string{"a shorter lease", "a longer lease", "more frequent renewals", "a longer retry", "a shorter retry", "a shorter request time-out", "a longer request time-out"}
	if !slices.Equal(changes, want) {
		t.Errorf("neighbours: %q, want %q", changes, want)
	}
	for _, lease := range []time.Duration{500 * time.Millisecond, time.Minute} { // both ends of the front
		retries, timeouts := map[time.Duration]bool{}, map[time.Duration]bool{}
		for _, p := range a.Points {
			if p.Timings.Lease == lease {
				retries[5*p.Timings.Retry/p.Timings.Renew] = true
				timeouts[2*p.Timings.RequestTimeout/p.Timings.Renew] = true
			}
		}
		if len(retries) < 2 || len(timeouts) < 2 {
			t.Errorf("a lease of %v has no other retries, or no other time-outs: %v, %v", lease, retries, timeouts)
		}
	}
	if !slices.IsSortedFunc(a.Points, func(x, y *Point) int { return int(x.Timings.Lease - y.Timings.Lease) }) {
		t.Error("the points are not in the order of their leases")
	}
}

// Where another time-out makes a point of the front the best one, the search goes on from there:
// its neighbours are tried.
func TestSearchGoesOnFromTheFront(t *testing.T) {
	q := &Question{Network: Network{RTT: 2 * time.Millisecond, P99: 4 * time.Millisecond}, Wants: needlessWant(t)}
	s := landscape(q, nil)
	figures := s.measure
	s.measure = func(ctx context.Context, timings sim.Timings) (*Point, error) {
		p, err := figures(ctx, timings)
		if timings.Lease == time.Second && timings.RequestTimeout > timings.Renew*9/10 {
			p.Needless = Interval{}
		}
		return p, err
	}
	a, err := s.run(t.Context())
	if err != nil || a.Best.Timings.Lease != time.Second || len(a.Neighbours) != len(q.changes(s.shapes[a.Best])) {
		t.Errorf("%v; recommended: %+v, with %d neighbours", err, a.Best, len(a.Neighbours))
	}
}

// Nothing is tried that the elector would refuse, or that no answer could be in time for. With a
// larger drift there is less room.
func TestSearchTriesWhatTheElectorTakes(t *testing.T) {
	q := &Question{Network: Network{RTT: 40 * time.Millisecond, P99: 80 * time.Millisecond}, Drift: .2, Wants: needlessWant(t)}
	a, err := landscape(q, nil).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Points {
		s := p.Timings
		if s.RequestTimeout <= q.Network.RTT || s.Lease < tooShort*q.Network.RTT {
			t.Errorf("%+v in a network with round trips of %v", s, q.Network.RTT)
		}
		_, err := elector.New(noStore{}, elector.Config{Election: "e", Lease: s.Lease, Renew: s.Renew, Retry: s.Retry, RequestTimeout: s.RequestTimeout, Drift: q.Drift})
		if err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if !q.usable(sim.Timings{Lease: time.Second, Renew: 400 * time.Millisecond, RequestTimeout: 199 * time.Millisecond, Retry: 200 * time.Millisecond}) ||
		q.usable(sim.Timings{Lease: time.Second, Renew: 400 * time.Millisecond, RequestTimeout: 200 * time.Millisecond, Retry: 200 * time.Millisecond}) {
		t.Error("the room for a renewal, a time-out and a retry is another than 799 ms")
	}
}

// noStore is a store that nobody asks.
type noStore struct{ elector.Store }

// The elector's presets are among what is tried, under their names, unless only other leases are
// asked for.
func TestSearchTriesThePresets(t *testing.T) {
	for _, test := range []struct {
		leases []time.Duration
		want   map[string]elector.Config
	}{
		{nil, map[string]elector.Config{"Fast": elector.Fast(), "Balanced": elector.Balanced(), "Quiet": elector.Quiet()}},
		{[]time.Duration{3 * time.Second}, map[string]elector.Config{"Fast": elector.Fast()}},
	} {
		q := &Question{Network: Network{RTT: 2 * time.Millisecond, P99: 4 * time.Millisecond}, Wants: needlessWant(t), Leases: test.leases}
		a, err := landscape(q, nil).run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, p := range a.Points {
			if test.leases != nil && !slices.Contains(test.leases, p.Timings.Lease) {
				t.Errorf("a lease of %v was tried, which is not of %v", p.Timings.Lease, test.leases)
			}
			if p.Preset == "" {
				continue
			}
			found++
			c := test.want[p.Preset]
			if want := (sim.Timings{Lease: c.Lease, Renew: c.Renew, Retry: c.Retry, RequestTimeout: c.RequestTimeout}); p.Timings != want {
				t.Errorf("%s is %+v, want %+v", p.Preset, p.Timings, want)
			}
		}
		if found != len(test.want) {
			t.Errorf("leases %v: %d presets, want %d", test.leases, found, len(test.want))
		}
	}
}

// A search that is stopped answers with what it has; an error of a point ends it.
func TestSearchIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := landscape(&Question{Network: Network{RTT: time.Millisecond, P99: time.Millisecond}}, func(done, _ int) {
		if done == 5 {
			cancel()
		}
	})
	a, err := s.run(ctx)
	if !errors.Is(err, context.Canceled) || a == nil || len(a.Points) < 5 || len(a.Points) > 10 || a.Best == nil {
		t.Errorf("stopped after 5 points: %+v, %v", a, err)
	}
	broken := errors.New("broken")
	s = landscape(&Question{Network: Network{RTT: time.Millisecond, P99: time.Millisecond}}, nil)
	s.measure = func(context.Context, sim.Timings) (*Point, error) { return nil, broken }
	if a, err := s.run(t.Context()); a != nil || !errors.Is(err, broken) {
		t.Errorf("a point that cannot be measured: %+v, %v", a, err)
	}
}
