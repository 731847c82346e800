package fuzz

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// Reasons for which a promise does not apply.
const (
	voided    = "the store itself forgets the lease while its holder still believes in it: the fence is what protects"
	shortened = "the store's clock jumps ahead, and may end a lease while its holder still believes in it: the fence is what protects"
	slowed    = "a candidate's clock runs slower than the configured drift allows for: the fence is what protects"
	uncounted = "the store loses its count of tokens before every candidate has heard of the last one"
	divided   = "the store is two stores for a while, or goes back to what it was: an order of its answers that one lease could have given is not owed"
	estranged = "a stranger's value stands where the lease was"
	unowed    = "faults overlap or follow each other too soon: how long a failover has to take is not known"
	stays     = "the leader does not change in this case"
)

// Judge decides what the case asks of its run: as much as the configuration
// and the schedule allow. Only what docs/guarantees.md excludes is waived.
func (c *Case) Judge() {
	c.Waived = map[checker.Promise]string{}
	c.FailoverBound = 0
	c.Steadfast = c.gentle()
	switch {
	case c.Steadfast:
		c.Waived[checker.FailoverBound] = stays
	case c.separate():
		c.FailoverBound = c.failoverBound()
	default:
		c.Waived[checker.FailoverBound] = unowed
	}
	for _, step := range c.Schedule {
		c.excuse(&step)
	}
	c.ReturnBound = c.returnBound()
	c.Quiet = roundUp(c.ReturnBound+c.Timings.Lease, time.Second)
}

// excuse waives what a step takes away from the promises.
func (c *Case) excuse(step *faults.Step) {
	effect := step.Fault.Effect()
	switch f := step.Fault.(type) {
	case faults.ClockRate:
		if f.Rate < 1-c.Drift {
			c.Waived[checker.AtMostOneLeader] = slowed
		}
	case faults.StoreSplit:
		c.Waived[checker.AtMostOneLeader] = voided
		c.Waived[checker.TokensIncrease] = uncounted
		c.Waived[checker.LeaseLinearizable] = divided
	case faults.StoreRewind, faults.StoreFailover:
		c.Waived[checker.LeaseLinearizable] = divided
	case faults.KeyOverwritten:
		c.Waived[checker.LeaseLinearizable] = estranged
	}
	if effect.Shorten > 0 && !c.Steadfast {
		c.Waived[checker.AtMostOneLeader] = shortened
	}
}

// requestTimeout is the production elector's default: see elector.Config.
func requestTimeout(t sim.Timings) time.Duration { return t.Renew / 2 }

// slack is added to every bound: for the milliseconds that are rounded, for
// timers, and for the way to the protected resource.
const slack = 10 * time.Millisecond

// returnBound is how long it may take from healing to a leader:
//
//	what is on its way still     a message that a fault has delayed may be an
//	                             acquisition by a process that is gone
//	Lease                        which is granted, and nobody knows of it
//	2 request time-outs, 3 Retry a try that hangs since before the healing, its
//	                             room, the pause after it, and the spread of
//	                             those who wait
//	a request                    on a new connection
//	what faults added            to the lease's time to live
//	a reservation                for an heir that is gone
func (c *Case) returnBound() time.Duration {
	return roundUp(c.underWay()+c.longest()+c.another()+c.prolonged()+c.reserved(true), time.Millisecond)
}

// prolonged is how much longer the lease may last, or be withheld, because of
// the faults.
func (c *Case) prolonged() time.Duration {
	var sum time.Duration
	for _, step := range c.Schedule {
		switch f := step.Fault.(type) {
		case faults.StoreClockJump:
			sum += max(-f.By, 0)
		case faults.TTLRemoved, faults.KeyOverwritten:
			sum += c.longest() // it is given an end when somebody asks for it
		case faults.StoreCrash:
			sum += c.longest() // a server that was restarted grants nobody the lease that it may have lost
		default:
			if step.Fault.Effect().Void {
				sum += c.longest() // the same
			}
		}
	}
	return sum
}

// failoverBound is how long a failover may take beyond what no elector may
// skip, where nothing else is wrong: another try, by a clock that may be slow.
// A way that is mended just before a lease ends adds a lease: the renewal that
// gets through then is answered too late, and whoever asked meanwhile was told
// to wait for as long, while the announcement of the release has nobody yet
// who listens.
func (c *Case) failoverBound() time.Duration {
	bound := time.Duration(2*c.Drift*float64(c.longest())) + c.another() + c.reserved(c.heirGone())
	if slices.ContainsFunc(c.Schedule, func(s faults.Step) bool { _, cuts := s.Fault.(faults.Partition); return cuts }) {
		bound += c.longest()
	}
	return roundUp(bound, time.Millisecond)
}

// another is how long it takes at the most from the moment in which a request
// can succeed to one that does.
func (c *Case) another() time.Duration {
	t := c.Timings
	return 2*requestTimeout(t) + 3*t.Retry + legs*worst(c.Network) + slack
}

// underWay is how long a message may take that was sent while a fault was on.
func (c *Case) underWay() time.Duration {
	var longest time.Duration
	for _, step := range c.Schedule {
		longest = max(longest, delays(step.Fault))
	}
	return longest
}

// delays is how much longer a message takes because of the fault.
func delays(f faults.Fault) time.Duration {
	switch f := f.(type) {
	case faults.Latency:
		return f.Base + f.Jitter
	case faults.Bandwidth:
		const bytes = 350 // of the longest message
		return bytes * time.Second / time.Duration(1000*max(f.Kilobytes, 1))
	default:
		return 0
	}
}

// legs is how many messages follow each other in a request at the most: a
// greeting, its answer, the request, "no such script", the script, the answer.
const legs = 6

// worst is how long a message takes at the most where no fault delays it.
func worst(n sim.Network) time.Duration {
	d := n.Latency + n.Jitter
	if n.SpikeRate > 0 {
		d += n.Spike
	}
	if n.LossRate > 0 {
		d += sim.Resend
	}
	return d
}

func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

// separate tells whether each fault is one that an elector gets over in a known
// time, and long over when the next one begins.
func (c *Case) separate() bool {
	if len(c.Schedule) == 0 || c.Nodes == 1 {
		return false // nobody else can take over
	}
	var clear time.Duration // when the next fault may begin
	for _, step := range c.Schedule.Sorted() {
		// Who resigns leaves the lease to somebody: with all, to nobody.
		deserted := step.Fault == (faults.Resign{}) && step.Target == faults.All
		if !simple(step.Fault) || deserted || step.At < clear {
			return false
		}
		clear = step.End() + c.settled()
	}
	return true
}

// settled is how long after a fault everything is as if it had never been: the
// lease that it left behind is over, somebody leads, and has renewed.
func (c *Case) settled() time.Duration {
	return 2*c.longest() + c.failoverBound()
}

// simple tells whether a fault of this kind leaves no lease behind that nobody
// knows of, and no clocks that are wrong by much.
func simple(f faults.Fault) bool {
	switch f := f.(type) {
	case faults.Crash, faults.Pause, faults.Suspend, faults.Resign, faults.ClockJump, faults.ScriptsFlushed:
		return true
	case faults.Partition:
		return f.How != faults.CutReplies
	default:
		return false
	}
}

// gentle tells whether the leader can keep its lease through the schedule: each
// fault misses it, or is shorter than what its renewals can bear, and apart
// from the next one that is not. A fault that is meant for the leader waits
// while another one hits it: one that is to be borne must not be moved so.
func (c *Case) gentle() bool {
	var clear, busy time.Duration // until when the leader gets over the last fault, and is hit
	for _, step := range c.Schedule.Sorted() {
		begin := step.At
		if step.Target.NeedsLeader() {
			begin = max(begin, busy)
		}
		length := step.End() - step.At
		if !c.harmless(&step) {
			if !c.bearable(&step) || begin != step.At || begin < clear {
				return false
			}
			clear = begin + length + c.Timings.Lease
		}
		if disturbs(&step) {
			busy = max(busy, begin+length)
		}
	}
	return true
}

// disturbs tells whether others that look for the leader may have to wait for
// the end of the step.
func disturbs(step *faults.Step) bool {
	return step.Target != faults.Follower && step.Target != faults.All && step.Target != faults.Store
}

// harmless tells whether the fault costs the leader nothing.
func (c *Case) harmless(step *faults.Step) bool {
	switch f := step.Fault.(type) {
	case faults.ClockRate:
		return f.Rate >= 1-c.Drift && f.Rate <= 1+c.Drift
	case faults.StoreClockJump:
		return f.By <= 0
	case faults.ClockJump, faults.ScriptsFlushed, faults.TTLRemoved, faults.CounterDeleted:
		return true
	case faults.StoreSplit:
		return false
	case faults.Latency, faults.Bandwidth:
		if legs*(worst(c.Network)+delays(f)+c.slowdown()) <= requestTimeout(c.Timings) {
			return true
		}
	}
	return step.Target == faults.Follower
}

// bearable tells whether the leader keeps its lease through the fault if it is
// the only one: its last renewal was sent just before, and the next one that
// can succeed comes in time.
func (c *Case) bearable(step *faults.Step) bool {
	switch f := step.Fault.(type) {
	case faults.Pause, faults.Suspend, faults.Partition, faults.StorePause:
		return step.For <= c.spare()
	case faults.StoreCrash:
		return f.KeepData && step.For <= c.spare()
	case faults.StoreClockJump:
		return f.By <= c.spare()
	default:
		return false
	}
}

// spare is how long the leader can be without the store and keep its lease.
func (c *Case) spare() time.Duration {
	t := c.Timings
	usable := usable(t.Lease, 2*c.Drift) // by a clock that may run fast
	return max(usable-t.Renew-requestTimeout(t)-2*t.Retry-2*legs*(worst(c.Network)+c.slowdown())-slack, 0)
}

// slowdown is how much longer a message of the leader may take because of
// faults that make its way slow: one kind may be on while the other is.
func (c *Case) slowdown() time.Duration {
	var latency, bandwidth time.Duration
	for _, step := range c.Schedule {
		if step.Target == faults.Follower {
			continue
		}
		switch step.Fault.(type) {
		case faults.Latency:
			latency = max(latency, delays(step.Fault))
		case faults.Bandwidth:
			bandwidth = max(bandwidth, delays(step.Fault))
		}
	}
	return latency + bandwidth
}

// tamed is the step as a case can bear it whose leader is to stay.
func (c *Case) tamed(step faults.Step, clear time.Duration) faults.Step {
	if c.harmless(&step) {
		return step
	}
	switch f := step.Fault.(type) {
	case faults.Pause, faults.Suspend, faults.Partition, faults.StorePause, faults.StoreCrash:
		step.For = min(step.For, c.spare())
	case faults.StoreClockJump:
		step.Fault = faults.StoreClockJump{By: min(f.By, c.spare()).Truncate(time.Millisecond)}
	default:
		step.Target = faults.Follower
		return step
	}
	step.At = max(step.At, clear)
	return step
}
