package tune

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// The short cut to rare ends of terms comes to what the long way comes to, where the long way
// can be gone.
func TestShortCutIsAsLongWay(t *testing.T) {
	if raced.Enabled {
		t.Skip("one goroutine computes, so there is nothing to race: it runs without the race detector")
	}
	for _, test := range []struct {
		network Network
		timings sim.Timings
	}{
		{Network{10 * time.Millisecond, 400 * time.Millisecond, 0.01}, sim.Timings{Lease: 600 * time.Millisecond, Renew: 200 * time.Millisecond, Retry: 40 * time.Millisecond}},
		{Network{40 * time.Millisecond, 600 * time.Millisecond, 0}, sim.Timings{Lease: 1000 * time.Millisecond, Renew: 333 * time.Millisecond, Retry: 66 * time.Millisecond}},
	} {
		plan, err := scenarios.Scenario{Name: "calm"}.Plan(scenarios.Settings{Subject: "recount", Lease: test.timings.Lease, Renew: test.timings.Renew, Retry: test.timings.Retry, Seed: 6, Network: test.network.simulated()})
		if err != nil {
			t.Fatal(err)
		}
		const renewals = 200000
		ended, err := count(t.Context(), plan, renewals)
		if err != nil {
			t.Fatal(err)
		}
		long := float64(ended) * float64(year) / float64(renewals*plan.Timings.Renew)
		short, deviation, err := needless(t.Context(), plan, 20000)
		if err != nil {
			t.Fatal(err)
		}
		// The long way is uncertain by its root, the short cut by its deviation.
		if apart := math.Abs(long - short); ended < 5 || apart > 3*(deviation+long/math.Sqrt(float64(ended)))+long/5 {
			t.Errorf("%v, %+v: the long way comes to %.0f a year (%d seen), the short cut to %.0f, give or take %.0f", test.network, test.timings, long, ended, short, deviation)
		}
	}
}

// What is wanted is read with its unit, and everything else gets a line that says what to give.
func TestParseWant(t *testing.T) {
	for text, limit := range map[string]float64{"crash.p99 < 5s": 5000, "crash.p50<800ms": 800, "needless < 1/year": 1, "needless < 2/month": 24, " commands < 200/min ": 200} {
		w, err := ParseWant(text)
		if err != nil || w.Limit != limit {
			t.Errorf("%q: limit %v, %v; want %v", text, w.Limit, err, limit)
		}
	}
	for _, text := range []string{"", "crash < 5s", "crash.p98 < 5s", "crash.p99 > 5s", "crash.p99 < 5/year", "needless < 5s", "commands < 1/year", "commands < 0/min", "needless < x/year"} {
		if _, err := ParseWant(text); err == nil || !strings.Contains(err.Error(), "give") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The front holds what nothing beats; the answer is the cheapest point that meets what is
// wanted, and without one the point that misses it by the least.
func TestAnswer(t *testing.T) {
	point := func(lease time.Duration, p99, needless, commands float64) *Point {
		return &Point{Timings: sim.Timings{Lease: lease}, Crash: map[float64]Interval{.99: {Value: p99}}, Needless: Interval{Value: needless}, Commands: commands}
	}
	short, middle, long, worse := point(1, 1000, 50, 300), point(3, 3000, 0.5, 100), point(9, 9000, 0, 30), point(4, 4000, 0.6, 110)
	unknown := &Point{Timings: sim.Timings{Lease: 2}}
	points := []*Point{short, unknown, middle, worse, long}
	for _, test := range []struct {
		wants      []string
		best, near *Point
	}{
		{nil, short, nil},
		{[]string{"needless < 1/year"}, middle, nil},
		{[]string{"crash.p99 < 10s"}, long, nil},
		{[]string{"crash.p99 < 10s", "needless < 100/year", "commands < 400/min"}, long, nil},
		{[]string{"crash.p99 < 2s", "needless < 1/year"}, nil, middle},
	} {
		q := Question{}
		for _, text := range test.wants {
			w, err := ParseWant(text)
			if err != nil {
				t.Fatal(err)
			}
			q.Wants = append(q.Wants, w)
		}
		a := q.answer(slices.Clone(points))
		if a.Best != test.best || a.Near != test.near {
			t.Errorf("%v: best %+v, near %+v; want %+v, %+v", test.wants, a.Best, a.Near, test.best, test.near)
		}
		for _, p := range points {
			if want := p != unknown && p != worse; p.Front != want {
				t.Errorf("lease %d is in the front: %t, want %t", p.Timings.Lease, p.Front, want)
			}
		}
	}
}

// A measured network is its median, its p99 and the share of failures, and too few answers are
// refused. In virtual time one in a hundred round trips takes longer than its p99.
func TestNetwork(t *testing.T) {
	var trips []time.Duration
	for i := range 1000 {
		trips = append(trips, time.Duration(i+1)*time.Millisecond)
	}
	n, err := Fit(trips, 10)
	if want := (Network{500 * time.Millisecond, 990 * time.Millisecond, 10. / 1010}); err != nil || n != want {
		t.Errorf("%v, %v; want %v", n, err, want)
	}
	if _, err := Fit(trips[:leastMeasured-1], 0); err == nil {
		t.Error("too few answers are enough")
	}
	for _, bad := range []Network{{}, {RTT: time.Second, P99: time.Millisecond}, {RTT: time.Second, P99: time.Second, Loss: .5}, {RTT: 1, P99: 1, Loss: -1}} {
		if bad.Validate() == nil {
			t.Errorf("%v is no network", bad)
		}
	}
	s := Network{RTT: 40 * time.Millisecond, P99: 400 * time.Millisecond}.simulated()
	if s.Latency+s.Jitter/2 != 20*time.Millisecond || s.SpikeRate != spikesIn || s.Spike < 400*time.Millisecond || s.LossRate != 0 {
		t.Errorf("simulated as %+v", s)
	}
}

// A longer lease costs a longer failover and fewer requests, and a worse network loses more
// leaders.
func TestPointsFollowTheSettings(t *testing.T) {
	if raced.Enabled {
		t.Skip("one goroutine computes, so there is nothing to race: it runs without the race detector")
	}
	try := func(n Network, lease time.Duration) *Point {
		q := Question{Network: n, Nodes: 3, Seed: 1}
		p, err := q.try(t.Context(), sim.Timings{Lease: lease, Renew: lease / 3, Retry: lease / 15})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	good, bad := Network{RTT: 2 * time.Millisecond, P99: 4 * time.Millisecond}, Network{RTT: 40 * time.Millisecond, P99: 600 * time.Millisecond, Loss: .02}
	short, long, worse := try(good, time.Second), try(good, 4*time.Second), try(bad, time.Second)
	if short.Crash[.99].Value >= long.Crash[.99].Value || short.Commands <= long.Commands || short.Needless.Value > 1 {
		t.Errorf("a lease of 1s comes to %+v, one of 4s to %+v", short, long)
	}
	if worse.Needless.Value < 100 || worse.Crash[.99].Value <= short.Crash[.99].Value {
		t.Errorf("in a bad network a lease of 1s comes to %+v", worse)
	}
}
