package tune

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// The short cut to rare ends of terms comes to what the long way comes to, where the long way
// can be gone.
func TestShortCutIsAsLongWay(t *testing.T) {
	if race.Enabled {
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
	unknown, twin := &Point{Timings: sim.Timings{Lease: 2}}, point(5, 3000, 0.5, 100) // as good as middle
	tied := point(6, 3000, 0.5, 120)                                                  // as good as middle but for its requests
	points := []*Point{short, unknown, middle, worse, twin, tied, long}
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
			if want := p != unknown && p != worse && p != twin && p != tied; p.Front != want {
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
	known := Network{RTT: 40 * time.Millisecond, P99: 400 * time.Millisecond, Loss: .02}
	s := known.simulated()
	if s.Latency+s.Jitter/2 != 20*time.Millisecond || s.LossRate != 50 {
		t.Errorf("simulated as %+v", s)
	}
	random := rand.New(rand.NewPCG(1, 2))
	message := func() time.Duration {
		d := s.Latency + time.Duration(random.Int64N(int64(s.Jitter)))
		if random.IntN(s.SpikeRate) == 0 {
			d += time.Duration(random.Int64N(int64(s.Spike)))
		}
		return d
	}
	const drawn = 100000
	late := 0
	for range drawn {
		if message()+message() > known.P99 {
			late++
		}
	}
	if share := 100 * float64(late) / drawn; share < .8 || share > 1.2 {
		t.Errorf("%.2f of 100 round trips take longer than the p99", share)
	}
}

// A longer lease costs a longer failover and fewer requests, and a worse network loses more
// leaders.
func TestPointsFollowTheSettings(t *testing.T) {
	if race.Enabled {
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
	for _, p := range []*Point{short, long} {
		lease := p.Timings.Lease.Seconds() * 1000
		if c := p.Crash; !(c[.5].Value > lease/2 && c[.5].Value < c[.9].Value && c[.9].Value < c[.99].Value && c[.99].Value < 1.1*lease && c[.99].Low < c[.99].Value && c[.99].High > c[.99].Value) {
			t.Errorf("a lease of %v comes to %+v after a crash", p.Timings.Lease, c)
		}
		// The leader renews three times a lease; two followers ask about once.
		if want := 5 * 60 / p.Timings.Lease.Seconds(); math.Abs(p.Commands-want) > .1*want {
			t.Errorf("a lease of %v: %.0f requests a minute, want about %.0f", p.Timings.Lease, p.Commands, want)
		}
	}
	if short.Crash[.99].Value >= long.Crash[.99].Value || short.Commands <= long.Commands || short.Needless.Value > 1 {
		t.Errorf("a lease of 1s comes to %+v, one of 4s to %+v", short, long)
	}
	if worse.Needless.Value < 100 || worse.Crash[.99].Value <= short.Crash[.99].Value {
		t.Errorf("in a bad network a lease of 1s comes to %+v", worse)
	}
}

// Of points that are alike in p99, the one with the fewest requests is chosen; then the one that
// loses fewer leaders by more than the estimates' error, then the elector's own time-out, then
// the shortest p99.
func TestChoice(t *testing.T) {
	base := func(change func(p *Point)) *Point {
		p := &Point{
			Timings: sim.Timings{Lease: time.Second, Renew: 300 * time.Millisecond, Retry: 60 * time.Millisecond, RequestTimeout: 150 * time.Millisecond},
			Crash:   map[float64]Interval{.99: {Value: 1000}}, Needless: Interval{.5, .4, .6}, Commands: 100,
		}
		change(p)
		return p
	}
	p99 := func(p *Point, x float64) { p.Crash[.99] = Interval{Value: x} }
	for name, test := range map[string]struct{ better, worse func(p *Point) }{
		"a p99 that is shorter by much, for more requests":       {func(p *Point) { p99(p, 900); p.Commands = 200 }, func(*Point) {}},
		"fewer requests, for a p99 that is longer by little":     {func(p *Point) { p99(p, 1040); p.Commands = 90 }, func(*Point) {}},
		"fewer needless changes, for little in the rest":         {func(p *Point) { p.Needless = Interval{.1, 0, .2}; p99(p, 1040); p.Commands = 104 }, func(*Point) {}},
		"a shorter p99 where needless changes are the same":      {func(p *Point) { p99(p, 990) }, func(p *Point) { p.Needless = Interval{.45, .3, .6} }},
		"the elector's own time-out, for a p99 longer by little": {func(p *Point) { p99(p, 1040) }, func(p *Point) { p.Timings.RequestTimeout /= 2 }},
		"the elector's own retry, for a p99 longer by little":    {func(p *Point) { p99(p, 1040) }, func(p *Point) { p.Timings.Retry *= 2 }},
		"what is wanted, whatever it costs":                      {func(p *Point) { p99(p, 9000); p.Commands = 900 }, func(p *Point) { p.Needless = Interval{1.1, 1.1, 1.1} }},
		"a shorter p99, where nothing else differs":              {func(p *Point) { p99(p, 999) }, func(*Point) {}},
	} {
		q := Question{Wants: needlessWant(t)}
		better, worse := base(test.better), base(test.worse)
		for _, points := range [][]*Point{{better, worse}, {worse, better}} {
			if q.choose(points) != better {
				t.Errorf("%s: not chosen", name)
			}
		}
	}
}

// The request time-out is the elector's: where round trips are often late, a shorter one sends
// more requests.
func TestTimeoutReachesTheElector(t *testing.T) {
	var sent []float64
	for _, timeout := range []time.Duration{0, 166 * time.Millisecond, 60 * time.Millisecond} {
		q := Question{Network: Network{40 * time.Millisecond, 600 * time.Millisecond, .05}, Nodes: 3, Seed: 1}
		set := q.settings(sim.Timings{Lease: time.Second, Renew: 333 * time.Millisecond, Retry: 66 * time.Millisecond, RequestTimeout: timeout})
		set.Network = q.Network.simulated()
		plan, err := scenarios.Scenario{Name: "calm"}.Plan(set)
		if err != nil {
			t.Fatal(err)
		}
		n, err := commands(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, n)
	}
	if math.Abs(sent[0]-sent[1]) > .02*sent[1] || sent[2] < 1.02*sent[1] {
		t.Errorf("requests a minute with the default, half of the renewal interval and 60 ms: %.0f", sent)
	}
}

// A drift is no setting to search: a larger one changes neither the failover after a crash nor
// the requests, and never loses fewer leaders. So the smallest would win, whatever the clocks do.
func TestDriftHasNoOptimum(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine computes, so there is nothing to race: it runs without the race detector")
	}
	var points []*Point
	for _, drift := range []float64{.001, .1} {
		q := Question{Network: Network{40 * time.Millisecond, 400 * time.Millisecond, .01}, Nodes: 3, Seed: 1, Drift: drift}
		p, err := q.try(t.Context(), sim.Timings{Lease: time.Second, Renew: 333 * time.Millisecond, Retry: 66 * time.Millisecond, RequestTimeout: 166 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, p)
	}
	small, large := points[0], points[1]
	if math.Abs(small.Crash[.99].Value-large.Crash[.99].Value) > .03*small.Crash[.99].Value || math.Abs(small.Commands-large.Commands) > .01*small.Commands || small.Needless.Value*2 > large.Needless.Value {
		t.Errorf("a drift of 0.1 %% comes to %+v, one of 10 %% to %+v", small, large)
	}
}

// Leaders lost to pauses and outages are those of one such event, times how often it happens: all
// if it lasts for longer than a lease, none if it is over in a moment.
func TestInterruptionsCostLeaders(t *testing.T) {
	q := Question{Network: Network{RTT: 2 * time.Millisecond, P99: 4 * time.Millisecond}, Nodes: 3, Seed: 1}
	set := q.settings(sim.Timings{Lease: time.Second, Renew: 333 * time.Millisecond, Retry: 66 * time.Millisecond})
	set.Network = q.Network.simulated()
	for _, test := range []struct {
		lasts time.Duration
		want  float64
	}{{3 * time.Second, 7}, {20 * time.Millisecond, 0}, {0, 0}} {
		pauses, err := q.losses(t.Context(), set, Events{7, test.lasts}, faults.Pause{}, faults.Leader)
		if err != nil || pauses.Value != test.want || pauses.Low > test.want || pauses.High < test.want || test.lasts > 0 && pauses.High-pauses.Low < .5 {
			t.Errorf("7 pauses of %v cost %v leaders, %v; want %v", test.lasts, pauses, err, test.want)
		}
		outages, err := q.losses(t.Context(), set, Events{7, test.lasts}, faults.StorePause{}, faults.Store)
		if err != nil || outages.Value != test.want {
			t.Errorf("7 outages of %v cost %v leaders, %v; want %v", test.lasts, outages, err, test.want)
		}
	}
}

// Where the network costs leaders often they are counted, with an interval that holds what four
// times as long a count comes to.
func TestFrequentLossesAreCounted(t *testing.T) {
	q := Question{Network: Network{40 * time.Millisecond, 900 * time.Millisecond, .05}, Nodes: 1, Seed: 3}
	set := q.settings(sim.Timings{Lease: 600 * time.Millisecond, Renew: 200 * time.Millisecond, Retry: 40 * time.Millisecond})
	set.Network = q.Network.simulated()
	plan, err := scenarios.Scenario{Name: "calm"}.Plan(set)
	if err != nil {
		t.Fatal(err)
	}
	got, err := networkLosses(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	plan.Seed = 4
	ended, err := count(t.Context(), plan, 4*counted)
	if err != nil {
		t.Fatal(err)
	}
	want := float64(ended) * float64(year) / float64(4*counted*plan.Timings.Renew)
	if width := (got.High - got.Low) / got.Value; ended < 4*enough || want < got.Low || want > got.High || width < .02 || width > 1.3 {
		t.Errorf("%+v a year, and %.0f in four times as long a count, of %d", got, want, ended)
	}
}
