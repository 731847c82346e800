package tune

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/quantile"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/failover"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Events are what happens, how often in a year, and for how long.
type Events struct {
	PerYear float64       `json:"per_year"`
	Lasts   time.Duration `json:"lasts_ns"`
}

// Question is what the settings are for.
type Question struct {
	Network Network
	Nodes   int
	Pauses  Events // of a leader's process: its machine is suspended, migrated or out of memory
	Outages Events // of the store
	Wants   []Want
	Seed    uint64
	Drift   float64 // the difference of clock rates that has to be tolerated; 0: scenarios.DefaultDrift

	Leases []time.Duration // to try; nil: see leases
}

// Interval is an estimate with the interval in which the truth lies, in 95 of 100 cases.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Point is what settings come to.
type Point struct {
	Timings sim.Timings
	Preset  string // of the elector that has these settings; "": none

	Crash    map[float64]Interval // time without a leader after a crash, in milliseconds, by quantile: 0.5, 0.9 and 0.99
	Needless Interval             // leaders lost in a year although none crashed
	Network  Interval             // of these, those for which the network is the reason
	Pauses   Interval             // those for which a pause is
	Outages  Interval             // those for which an outage of the store is
	Commands float64              // requests about the lease in a minute, of all candidates

	Front bool // none is better in one of p99 after a crash, Needless and Commands, and as good in the others; of equal ones, one
}

// Answer is the points, with the one that was asked for.
type Answer struct {
	Points []*Point // in the order of their leases
	Best   *Point   // nil: nothing meets what was wanted
	Near   *Point   // then, what misses it by the least

	Neighbours []Neighbour // of Best or Near
}

// Neighbour is a point that differs from the chosen one in one setting.
type Neighbour struct {
	Change string // "a shorter lease"
	Point  *Point
}

const (
	crashRuns     = 30   // of a point, with ten failovers each
	calmRenewals  = 4000 // of a point, simulated in a network that is worse than it is
	interruptions = 30   // pauses, or outages, of a point
)

// settings are those of runs with these durations.
func (q *Question) settings(t sim.Timings) scenarios.Settings {
	return scenarios.Settings{
		Subject: "recount", Nodes: q.Nodes, Seed: q.Seed, Drift: q.Drift,
		Lease: t.Lease, Renew: t.Renew, Retry: t.Retry, RequestTimeout: t.RequestTimeout,
	}
}

// try measures one point.
func (q *Question) try(ctx context.Context, timings sim.Timings) (*Point, error) {
	p := &Point{Timings: timings}
	set := q.settings(timings)
	set.Network = q.Network.simulated()
	causes, err := failover.Find("crash")
	if err != nil {
		return nil, err
	}
	cells, err := (&failover.Measurement{
		Causes: causes, Electors: []failover.Elector{{Name: "recount", World: &virtual.World{}, Repro: func(failover.Cause, uint64) string { return "chaos tune" }}},
		Settings: set, Count: crashRuns * causes[0].Times(), Logs: func(string) (string, error) { return "", nil },
	}).Run(ctx)
	if err != nil {
		return nil, err
	}
	p.Crash = map[float64]Interval{}
	var totals []float64
	for _, run := range cells[0].Sample(func(f failover.Failover) time.Duration { return f.Total }) {
		for _, d := range run {
			totals = append(totals, d.Seconds()*1000)
		}
	}
	if slices.Sort(totals); len(totals) >= quantile.Needs(.99) {
		for _, of := range []float64{.5, .9, .99} {
			e := quantile.Of(totals, of)
			p.Crash[of] = Interval{e.Value, e.Low, e.High}
		}
	}
	plan, err := scenarios.Scenario{Name: "calm"}.Plan(set)
	if err != nil {
		return nil, err
	}
	if p.Network, err = networkLosses(ctx, plan); err != nil {
		return nil, err
	}
	if p.Commands, err = commands(ctx, plan); err != nil {
		return nil, err
	}
	if p.Pauses, err = q.losses(ctx, set, q.Pauses, faults.Pause{}, faults.Leader); err != nil {
		return nil, err
	}
	if p.Outages, err = q.losses(ctx, set, q.Outages, faults.StorePause{}, faults.Store); err != nil {
		return nil, err
	}
	p.Needless = sum(p.Network, p.Pauses, p.Outages)
	return p, nil
}

// commands is how many requests about the lease all candidates send in a calm minute.
func commands(ctx context.Context, plan sim.Plan) (float64, error) {
	plan.Quiet = 100 * plan.Timings.Renew
	plan.Writes, plan.Observes = plan.Quiet+time.Hour, plan.Quiet+time.Hour
	h, err := (&virtual.World{}).Run(ctx, plan, "")
	if err != nil {
		return 0, err
	}
	return float64(failover.Requests(h)) / h.Events[len(h.Events)-1].At.Minutes(), nil
}

// losses is how many leaders a year are lost because something happens that lasts so long: how
// often one is lost when it happens at a drawn moment, times how often it happens.
func (q *Question) losses(ctx context.Context, set scenarios.Settings, e Events, fault faults.Fault, target faults.Target) (Interval, error) {
	if e.PerYear == 0 || e.Lasts == 0 {
		return Interval{}, nil
	}
	s := scenarios.Scenario{Name: "interrupted", Schedule: func(shape scenarios.Shape) (all faults.Schedule) {
		every := e.Lasts + 4*shape.Lease
		for i := range interruptions {
			at := time.Duration(i)*every + shape.Lease + time.Duration(shape.Random.Int64N(int64(shape.Renew)))
			all = append(all, faults.Step{At: at, For: e.Lasts, Fault: fault, Target: target})
		}
		return all
	}}
	plan, err := s.Plan(set)
	if err != nil {
		return Interval{}, err
	}
	plan.Writes, plan.Observes = plan.Schedule.End()+time.Hour, plan.Schedule.End()+time.Hour
	h, err := (&virtual.World{}).Run(ctx, plan, "")
	if err != nil {
		return Interval{}, err
	}
	return shareOf(min(max(failover.Elected(h)-1, 0), interruptions), interruptions).times(e.PerYear), nil
}

// shareOf is the share of so many of all that were drawn, by Wilson's interval (Journal of the
// American Statistical Association 22, 1927).
func shareOf(n, drawn int) Interval {
	const z = 1.96
	share, all := float64(n)/float64(drawn), float64(drawn)
	middle := (share + z*z/(2*all)) / (1 + z*z/all)
	root := z / (1 + z*z/all) * math.Sqrt(share*(1-share)/all+z*z/(4*all*all))
	return Interval{share, min(share, max(0, middle-root)), max(share, min(1, middle+root))}
}

func (i Interval) times(x float64) Interval { return Interval{x * i.Value, x * i.Low, x * i.High} }

// sum is the sum of estimates that are independent of each other.
func sum(parts ...Interval) (s Interval) {
	var below, above float64
	for _, p := range parts {
		s.Value += p.Value
		below, above = below+(p.Value-p.Low)*(p.Value-p.Low), above+(p.High-p.Value)*(p.High-p.Value)
	}
	s.Low, s.High = max(0, s.Value-math.Sqrt(below)), s.Value+math.Sqrt(above)
	return s
}

// answer marks the front and finds what was asked for.
func (q *Question) answer(points []*Point) *Answer {
	a := &Answer{Points: points}
	for i, p := range points {
		p.Front = p.known() && !slices.ContainsFunc(points, func(other *Point) bool { return other.known() && other.beats(p) }) &&
			!slices.ContainsFunc(points[:i], func(other *Point) bool { return other.known() && other.figures() == p.figures() })
	}
	chosen := q.choose(points)
	switch {
	case chosen == nil:
	case missedBy(chosen, q.Wants) == 0:
		a.Best = chosen
	default:
		a.Near = chosen
	}
	return a
}

// alike is by which share of it a figure may be larger than the least one and still count as
// the same: settings that cost more requests must bring more than chance brings.
const alike = 0.05

// choose returns the point that meets what is wanted, or misses it by the least, and of several
// the one that costs the least: see cost. Where points are alike in that, it is the one that
// loses the fewest leaders by more than chance, then the one with the elector's own retry and
// request time-out, then the one whose failover is the shortest. It returns nil if no point is known.
func (q *Question) choose(points []*Point) *Point {
	left := slices.DeleteFunc(slices.Clone(points), func(p *Point) bool { return !p.known() })
	if len(left) == 0 {
		return nil
	}
	keep := func(figure func(*Point) float64, most func(least float64) float64) {
		least := math.Inf(1)
		for _, p := range left {
			least = min(least, figure(p))
		}
		left = slices.DeleteFunc(left, func(p *Point) bool { return figure(p) > most(least) })
	}
	exactly := func(least float64) float64 { return least }
	roughly := func(least float64) float64 { return least * (1 + alike) }
	keep(func(p *Point) float64 { return missedBy(p, q.Wants) }, exactly)
	for _, figure := range cost(q.Wants) {
		keep(figure, roughly)
	}
	fewest := slices.MinFunc(left, func(a, b *Point) int { return cmp.Compare(a.Needless.Value, b.Needless.Value) })
	keep(func(p *Point) float64 { return p.Needless.Low }, func(float64) float64 { return fewest.Needless.High })
	keep(func(p *Point) float64 { return p.foreign() }, exactly)
	return slices.MinFunc(left, func(a, b *Point) int { return cmp.Compare(a.Crash[.99].Value, b.Crash[.99].Value) })
}

// foreign is how many of retry and request time-out are not what the elector takes by default.
func (p *Point) foreign() (n float64) {
	t := p.Timings
	for _, off := range []time.Duration{t.Retry - t.Renew/ownRetries, t.RequestTimeout - time.Duration(float64(t.Renew)*ownTimeout)} {
		if off.Abs() > time.Millisecond {
			n++
		}
	}
	return n
}

// known reports whether the point could be measured: settings that never elect anybody, or
// never for long enough to crash, cannot.
func (p *Point) known() bool { return len(p.Crash) > 0 }

// beats reports whether the point is as good as the other in everything, and better in one.
func (p *Point) beats(other *Point) bool {
	a, b := p.figures(), other.figures()
	better := false
	for i := range a {
		if a[i] > b[i] {
			return false
		}
		better = better || a[i] < b[i]
	}
	return better
}

// figures are what the front is about.
func (p *Point) figures() [3]float64 {
	return [3]float64{p.Crash[.99].Value, p.Needless.Value, p.Commands}
}

// Confirm measures failovers after a crash with the settings of a point, in any world, whose
// round trips a fault makes as long as those of the network: all but its spikes and its losses,
// which no fault puts on. It returns how long nobody led.
func (q *Question) Confirm(ctx context.Context, p *Point, world scenarios.World, count int, most time.Duration, logs func(string) (string, error)) ([]time.Duration, error) {
	causes, err := failover.Find("crash")
	if err != nil {
		return nil, err
	}
	own := q.Network.simulated()
	far := causes[0].Far(faults.Latency{Base: own.Latency + own.Jitter/2, Jitter: own.Jitter / 2})
	cells, err := (&failover.Measurement{
		Causes: []failover.Cause{far}, Electors: []failover.Elector{{Name: "recount", World: world, Repro: func(failover.Cause, uint64) string { return "chaos tune --confirm" }}},
		Settings: q.settings(p.Timings),
		Parallel: 4, Count: count, Most: most, Logs: logs,
	}).Run(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Concat(cells[0].Sample(func(f failover.Failover) time.Duration { return f.Total })...), nil
}
