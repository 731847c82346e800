package fuzz

import (
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/faults"
)

// Behavior is what is different about an election and its candidates beside timings
// and network. The zero value is the plainest, and the only one outside of the virtual
// world.
type Behavior struct {
	Tokens    uint64        // that the election has had before
	LongLease time.Duration // of every other candidate, and what all count on; 0: that of the others
	HandsOver bool          // a leader that resigns hands over to another candidate
}

var (
	pasts      = rapid.SampledFrom([]uint64{0, 0, 0, 7, 8, 98, 9998}) // soon there is another digit
	longers    = rapid.SampledFrom([]time.Duration{0, 0, 0, 2, 3})    // in halves of a lease more
	successors = rapid.SampledFrom([]bool{false, false, true})
)

// drawBehavior comes last: what was drawn before it is what it was when there were
// none.
func drawBehavior(t *rapid.T, c *Case) {
	c.Tokens = pasts.Draw(t, "tokens")
	if more := longers.Draw(t, "long lease"); more > 0 {
		c.LongLease = (c.Timings.Lease + more*c.Timings.Lease/2).Round(time.Millisecond)
	}
	c.HandsOver = successors.Draw(t, "hands over")
}

// longest is the longest lease of all.
func (c *Case) longest() time.Duration { return max(c.Timings.Lease, c.LongLease) }

// reserved is for how long a lease that is handed over stays free. A successor that lives asks
// for it within a request, and one that is gone has it reserved for a lease.
func (c *Case) reserved(gone bool) time.Duration {
	switch {
	case !c.HandsOver:
		return 0
	case gone:
		return c.longest() + c.Timings.Retry
	default:
		return 2*requestTimeout(c.Timings) + c.Timings.Retry
	}
}

// successorGone reports whether a lease may be handed over to a process that is gone: one that
// is down, or was within the two leases for which it is remembered.
func (c *Case) successorGone() bool {
	for i, r := range c.Schedule {
		if (r.Fault != faults.Resign{}) {
			continue
		}
		for k, s := range c.Schedule {
			several := r.Target == faults.All || r.Target == faults.Minority // the successor may leave with the leader
			if s.Fault.Effect().Gone && (k != i || several) && s.At <= r.End()+c.longest() && s.End() >= r.At-2*c.longest() {
				return true
			}
		}
	}
	return false
}

func (m *Behavior) validate(lease time.Duration) error {
	const mostTokens = 1_000_000_000_000 // more could be in use only in centuries
	switch {
	case m.Tokens > mostTokens:
		return wrong("\"tokens\" is %d: give at most %d", m.Tokens, uint64(mostTokens))
	case m.LongLease != 0 && (m.LongLease <= lease || m.LongLease > maxLease || m.LongLease%time.Millisecond != 0):
		return wrong("\"long_lease\" is %v: give a multiple of 1ms above \"lease\" and up to %v, or leave it out", m.LongLease, maxLease)
	default:
		return nil
	}
}
