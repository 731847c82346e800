package fuzz

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// Pins are what a user has decided about every case. Zero values are drawn.
type Pins struct {
	Subject string
	Nodes   int
	Timings sim.Timings
	Drift   float64
	Plain   bool // the zero Behavior
}

// thousandths are the numbers from 0 to 999, drawn evenly and shrunk to 0:
// rapid's own ranges prefer small numbers.
var thousandths = rapid.SampledFrom(upTo(1000))

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Choices. The first of each is what shrinking prefers, so it is the plainest;
// what stands there twice is drawn twice as often.
var (
	leases   = rapid.SampledFrom([]time.Duration{15 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second, 10 * time.Second, 5 * time.Second, 2 * time.Second, time.Second, 60 * time.Second})
	renewals = rapid.SampledFrom([]float64{1. / 3, 1. / 3, 1. / 4, 1. / 2, 1. / 5, 0.4, 1. / 10})
	retries  = rapid.SampledFrom([]time.Duration{5, 5, 10, 2, 3, 20})
	drifts   = rapid.SampledFrom([]float64{0.01, 0.01, 0.001, 0.05, 0.1, 0.0003})
	sizes    = rapid.SampledFrom([]int{3, 3, 5, 5, 5, 4, 2, 7, 1})
	jitters  = rapid.SampledFrom([]time.Duration{1, 0, 3})
	spikes   = rapid.SampledFrom([]int{0, 0, 1000, 100, 20})
	losses   = rapid.SampledFrom([]int{0, 0, 0, 1000, 100, 20})
	paces    = rapid.SampledFrom([]time.Duration{10, 10, 5, 20})
	watches  = rapid.SampledFrom([]time.Duration{1, 1, 2, 4})
)

// Positions of dials: see Weights.
var (
	latencies = []time.Duration{0, 0, 500 * time.Microsecond, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 120 * time.Millisecond}
	profiles  = [][]int{{4, 2, 1, 1, 1}, {1, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {2, 1, 2, 2, 4}, {0, 0, 0, 1, 1}, {1, 4, 0, 0, 1}}
	ways      = [][]int{{1, 0, 0}, {2, 1, 1}, {1, 3, 0}, {1, 0, 3}}
	lengths   = []int{500, 500, 1000, 1500, 200, 50, 2500}
	bursts    = []int{0, 0, 200, 500, 800}
	counts    = []int{4, 8, 8, 12, 16, longest, 1, 2}
)

// Cases draws cases. What is pinned is the same in all of them, and w says
// what is to be drawn more often: see Weights.
func Cases(p Pins, w *Weights) *rapid.Generator[Case] {
	w = w.orEven()
	return rapid.Custom(func(t *rapid.T) Case {
		c := Case{Subject: p.Subject}
		c.Seed = uint64(thousandths.Draw(t, "seed, thousands"))*1000 + uint64(thousandths.Draw(t, "seed, ones"))
		c.Nodes = p.Nodes
		if c.Nodes == 0 {
			c.Nodes = sizes.Draw(t, "nodes")
		}
		drawTimings(t, p, &c)
		drawNetwork(t, w, &c)
		c.Writes = c.Timings.Lease / paces.Draw(t, "writes a lease")
		c.Observes = c.Timings.Lease / 2 * watches.Draw(t, "observes")
		drawSchedule(t, w, &c)
		if !p.Plain {
			drawBehavior(t, &c)
		}
		c.Judge()
		return c
	})
}

// largestDrift is the largest of drifts.
const largestDrift = 0.1

// drawTimings draws timings that elector.Config would accept.
func drawTimings(t *rapid.T, p Pins, c *Case) {
	c.Timings, c.Drift = p.Timings, p.Drift
	if c.Drift == 0 {
		c.Drift = drifts.Draw(t, "drift")
	}
	if c.Timings.Lease == 0 {
		c.Timings.Lease = leases.Draw(t, "lease")
	}
	usable := usable(c.Timings.Lease, c.Drift)
	if c.Timings.Renew == 0 {
		share := renewals.Draw(t, "renew")
		c.Timings.Renew = (time.Duration(share * float64(c.Timings.Lease))).Round(time.Millisecond)
	}
	if c.Timings.Retry == 0 {
		c.Timings.Retry = max(c.Timings.Renew/retries.Draw(t, "retry"), time.Millisecond).Round(time.Millisecond)
		// One failed renewal must not end a term.
		c.Timings.Retry = min(c.Timings.Retry, usable-c.Timings.Renew-requestTimeout(c.Timings))
	}
}

// usable is how long a leader believes after it has sent a request.
func usable(lease time.Duration, drift float64) time.Duration {
	return lease - time.Duration(float64(lease)*drift) - 2*time.Millisecond
}

// drawNetwork draws a network in which no request times out without a fault.
func drawNetwork(t *rapid.T, w *Weights, c *Case) {
	n := sim.DefaultNetwork()
	n.SpikeRate, n.Spike = 0, 0
	limit := requestTimeout(c.Timings) / legs
	if l := latencies[w.turn(t, c, dialLatency)]; l > 0 {
		n.Latency, n.Jitter = l, l*jitters.Draw(t, "jitter")
	}
	if worst(n) > limit {
		n = sim.Network{Latency: limit / 3, Jitter: limit / 3}
	}
	if rate := spikes.Draw(t, "spikes"); rate > 0 {
		n.SpikeRate, n.Spike = rate, (limit-worst(n))/2
	}
	if rate := losses.Draw(t, "losses"); rate > 0 && worst(n)+sim.Resend <= limit {
		n.LossRate = rate
	}
	c.Network = n
}

// longest is how many faults a schedule has at the most.
const longest = 24

// Kinds of targets, but the store.
const (
	leader = iota
	follower
	minority
	all
	node
)

// Tempers of schedules.
const (
	wild   = iota // anything that the elector promises to survive
	beyond        // anything at all
	gentle        // nothing that may cost the leader its lease
	apart         // one after the other, so that each failover has a known length
)

// swarm is what one case's schedule is like: it is drawn before the schedule.
type swarm struct {
	kinds   []int // weight of each kind of fault
	targets []int // weight of each kind of target
	gap     int   // from one fault to the next one, in thousandths of a lease, on average
	burst   int   // that many thousandths of the faults follow at once
	length  int   // of a fault, in thousandths of a lease, on average
	times   []int // weight of each way to choose the time
	count   int
	temper  int
	again   int // that many thousandths of the faults hit whom the last one hit
}

var (
	presences = rapid.SampledFrom([]int{0, 0, 0, 1, 1, 3, 9})
	spans     = rapid.SampledFrom([]int{20000, 30000, 40000, 10000})
	repeats   = rapid.SampledFrom([]int{0, 0, 300, 700})
)

func drawSwarm(t *rapid.T, w *Weights, c *Case) swarm {
	var s swarm
	temper := pick(t, "temper", []int{5, 1, 2, 2})
	s.temper = temper
	s.kinds = make([]int, len(kinds))
	none := true
	for i, k := range kinds {
		if k.in(temper) {
			s.kinds[i] = presences.Draw(t, "presence") * w.faults[i]
			none = none && s.kinds[i] == 0
		}
	}
	for i, k := range kinds {
		if none && k.in(temper) {
			s.kinds[i] = w.faults[i]
		}
	}
	s.targets = profiles[w.turn(t, c, dialTargets)]
	if c.Nodes == 1 {
		s.targets = []int{2, 0, 0, 1, 1}
	}
	if s.kinds[pauseBeforeWrite] > 0 || s.kinds[resign] > 0 && s.kinds[pause]+s.kinds[suspend] > 0 {
		// Nothing else may happen to a write that is held, and who stands
		// still cannot resign: others look for somebody who is undisturbed.
		s.targets = append(slices.Clone(s.targets[:all]), 0, 0)
	}
	s.count = counts[w.turn(t, c, dialCount)]
	s.gap = spans.Draw(t, "span") / s.count
	s.burst = bursts[w.turn(t, c, dialBurst)]
	s.length = lengths[w.turn(t, c, dialLength)]
	s.times = ways[w.turn(t, c, dialTimes)]
	s.again = repeats.Draw(t, "again")
	return s
}

// pick draws an index by weight.
func pick(t *rapid.T, label string, weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := thousandths.Draw(t, label) * sum / 1000
	for i, w := range weights {
		if at < w {
			return i
		}
		at -= w
	}
	return 0
}

// entry is one step of a schedule in the making, or its end.
type entry struct {
	more bool
	step faults.Step
}

func drawSchedule(t *rapid.T, w *Weights, c *Case) {
	s := drawSwarm(t, w, c)
	d := &drawer{Case: c, swarm: s}
	entries := rapid.Custom(d.entry)
	for len(c.Schedule) < s.count {
		e := entries.Draw(t, "step")
		if !e.more {
			return
		}
		c.Schedule = append(c.Schedule, e.step)
		d.last = e.step
		if e.step.Fault.Effect().Store {
			d.storeFree = e.step.End() + e.step.Fault.Effect().Onset
		}
		switch {
		case s.temper == apart:
			d.clear = e.step.End() + c.settled()
		case !c.harmless(&e.step):
			d.clear = e.step.End() + c.Timings.Lease
		case disturbs(&e.step):
			d.clear = max(d.clear, e.step.End())
		}
	}
}

// drawer draws the steps of one schedule.
type drawer struct {
	*Case
	swarm
	last      faults.Step
	storeFree time.Duration // when the last fault of the store is off
	clear     time.Duration // when the leader has got over the last fault
}

// share is n thousandths of a lease, in whole milliseconds.
func (d *drawer) share(n int) time.Duration {
	return (d.Timings.Lease * time.Duration(n) / 1000).Round(time.Millisecond)
}

func (d *drawer) entry(t *rapid.T) entry {
	// On average a schedule is as long as its swarm says: only shrinking ends
	// it earlier.
	if thousandths.Draw(t, "more") == 0 {
		return entry{}
	}
	k := kinds[pick(t, "fault", d.kinds)]
	step := faults.Step{Fault: k.draw(t, d.Case)}
	step.At = d.time(t)
	if !step.Fault.Effect().Instant {
		step.For = max(d.share(d.length*2*thousandths.Draw(t, "for")/1000), time.Millisecond)
	}
	step.Target = faults.Store
	effect := step.Fault.Effect()
	if !effect.Store || effect.Divides {
		step.Target = d.target(t)
		d.fit(&step)
	}
	if effect.Store && step.At <= d.storeFree {
		// There is one store: what hits it waits for what hit it before.
		step.At = d.storeFree + time.Millisecond
	}
	switch d.temper {
	case gentle:
		step = d.tamed(step, d.clear)
	case apart:
		step.At = max(step.At, d.clear)
	}
	return entry{true, step}
}

// fit keeps a step to what can be carried out beside the others.
func (d *drawer) fit(step *faults.Step) {
	switch step.Fault.(type) {
	case faults.PauseBeforeWrite:
		step.Target = faults.Leader // nobody else writes
	case faults.Resign:
		// It lasts until the candidate has gone, which may wait for an answer.
		step.For = max(step.For, 2*requestTimeout(d.Timings))
	}
}

// target draws whom the step hits.
func (d *drawer) target(t *rapid.T) faults.Target {
	if d.again > 0 && len(d.Schedule) > 0 && d.last.Target != faults.Store && thousandths.Draw(t, "same target") >= 1000-d.again {
		return d.last.Target
	}
	switch pick(t, "target", d.targets) {
	case leader:
		return faults.Leader
	case follower:
		return faults.Follower
	case minority:
		return faults.Minority
	case all:
		return faults.All
	default:
		return faults.Node(nodeNames[thousandths.Draw(t, "node")%d.Nodes])
	}
}

var nodeNames = sim.Plan{Nodes: 1000}.NodeNames()

// Ways to choose the time of a step.
const (
	anyTime    = iota // so long after the one before
	atRenewal         // about a multiple of Renew after the first term's beginning
	afterLease        // about a lease after the step before began
	timeWays
)

func (d *drawer) time(t *rapid.T) time.Duration {
	gap := d.gap * 2
	if d.burst > 0 && thousandths.Draw(t, "burst") >= 1000-d.burst {
		gap = 100
	}
	at := d.last.At + d.share(gap*thousandths.Draw(t, "gap")/1000)
	switch pick(t, "way", d.times) {
	case atRenewal:
		at = at/d.Timings.Renew*d.Timings.Renew + d.near(t)
	case afterLease:
		at = d.last.At + d.Timings.Lease + d.near(t)
	}
	return max(at, 0)
}

// near is a time about zero: as far from it as a request takes, with or
// without trouble.
func (d *drawer) near(t *rapid.T) time.Duration {
	width := []time.Duration{4 * worst(d.Network), requestTimeout(d.Timings), 5 * time.Millisecond}[pick(t, "width", []int{2, 1, 1})]
	off := width * time.Duration(thousandths.Draw(t, "off")-500) / 500
	return off.Round(10 * time.Microsecond)
}
