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
	foreign   = "a foreign value stands where the lease was"
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
	switch {
	case effect.Rate != 0 && effect.Rate < 1-c.Drift:
		c.Waived[checker.AtMostOneLeader] = slowed
	case effect.Divides:
		c.Waived[checker.AtMostOneLeader] = voided
		c.Waived[checker.TokensIncrease] = uncounted
		c.Waived[checker.LeaseLinearizable] = divided
	case effect.Older:
		c.Waived[checker.LeaseLinearizable] = divided
	case effect.Alien:
		c.Waived[checker.LeaseLinearizable] = foreign
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
//	a reservation                for a successor that is gone
func (c *Case) returnBound() time.Duration {
	return roundUp(c.underWay()+c.longest()+c.another()+c.prolonged()+c.reserved(true), time.Millisecond)
}

// prolonged is how much longer the lease may last, or be withheld, because of
// the faults.
func (c *Case) prolonged() time.Duration {
	var sum time.Duration
	for _, step := range c.Schedule {
		effect := step.Fault.Effect()
		if effect.Void || effect.Withholds {
			sum += c.longest() // it is given an end when somebody asks for it, or granted to nobody while it may have been lost
		} else {
			sum += max(-effect.Shorten, 0)
		}
	}
	return sum
}

// failoverBound is how long a failover may take beyond what no elector may
// skip, where nothing else is wrong: another try, by a clock that may be slow.
// A way that is mended just before a lease ends adds a lease: the renewal that
// gets through then is answered too late. A candidate that asked meanwhile
// was told to wait for as long, while the announcement of the release has nobody yet
// who listens.
func (c *Case) failoverBound() time.Duration {
	bound := time.Duration(2*c.Drift*float64(c.longest())) + c.another() + c.reserved(c.successorGone())
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
		effect := step.Fault.Effect()
		longest = max(longest, effect.Late(messageBytes))
	}
	return longest
}

// messageBytes is how long the longest message is.
const messageBytes = 350

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

// separate reports whether each fault is one that an elector gets over in a known
// time, and long over when the next one begins.
func (c *Case) separate() bool {
	if len(c.Schedule) == 0 || c.Nodes == 1 {
		return false // nobody else can take over
	}
	var clear time.Duration // when the next fault may begin
	for _, step := range c.Schedule.Sorted() {
		// Who resigns leaves the lease to somebody: with all, to nobody.
		deserted := step.Fault == (faults.Resign{}) && step.Target == faults.All
		if !step.Fault.Effect().Simple || deserted || step.At < clear {
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

// gentle reports whether the leader can keep its lease through the schedule: each
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

// disturbs reports whether others that look for the leader may have to wait for
// the end of the step.
func disturbs(step *faults.Step) bool {
	return step.Target != faults.Follower && step.Target != faults.All && step.Target != faults.Store
}

// harmless reports whether the fault costs the leader nothing.
func (c *Case) harmless(step *faults.Step) bool {
	switch effect := step.Fault.Effect(); {
	case effect.Rate != 0:
		return effect.Rate >= 1-c.Drift && effect.Rate <= 1+c.Drift
	case effect.Harmless:
		return true
	case effect.Divides:
		return false
	case effect.Shorten > 0:
		return false
	default:
		late := effect.Late(messageBytes)
		return step.Target == faults.Follower || late > 0 && legs*(worst(c.Network)+late+c.slowdown()) <= requestTimeout(c.Timings)
	}
}

// bearable reports whether the leader keeps its lease through the fault if it is
// the only one: its last renewal was sent just before, and the next one that
// can succeed comes in time.
func (c *Case) bearable(step *faults.Step) bool {
	effect := step.Fault.Effect()
	return effect.Bearable && step.For <= c.spare() || effect.Shorten > 0 && effect.Shorten <= c.spare()
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
		effect := step.Fault.Effect()
		latency = max(latency, effect.Delay)
		bandwidth = max(bandwidth, effect.Late(messageBytes)-effect.Delay)
	}
	return latency + bandwidth
}

// tamed is the step as a case can bear it whose leader is to stay.
func (c *Case) tamed(step faults.Step, clear time.Duration) faults.Step {
	if c.harmless(&step) {
		return step
	}
	effect := step.Fault.Effect()
	jump, timed := step.Fault.(faults.Timed)
	switch {
	case effect.Bearable:
		step.For = min(step.For, c.spare())
	case effect.Shorten > 0 && timed:
		step.Fault = jump.Scale(func(by time.Duration) time.Duration { return min(by, c.spare()).Truncate(time.Millisecond) })
	default:
		step.Target = faults.Follower
		return step
	}
	step.At = max(step.At, clear)
	return step
}
