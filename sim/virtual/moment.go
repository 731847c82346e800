package virtual

import (
	"strings"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Moment is what a fault met when it was put on. The moments that its faults have met
// show how well a set of runs has explored the election.
type Moment struct {
	Fault    string
	Role     string        // of the node that it hit: "leader", "follower", "down"; "store" for the store
	Lease    float64       // share of the lease's time that was over, at the store; -1 if nobody held it
	Renewal  float64       // share of the time from one renewal to the next that was over; -1 without a leader
	InFlight history.Call  // of the node, or of anybody if the store is hit: the call under way, "" if there is none
	At       time.Duration // since the start of the run

	_ struct{}
}

// moment describes the present for a fault that hits n, or the store if n is
// nil.
func (r *run) moment(fault string, n *node) Moment {
	m := Moment{Fault: fault, Role: "store", Lease: -1, Renewal: -1, At: r.now}
	if left := r.store.model.Do(r.store.now(), "PTTL", r.store.leaseKey()).Int; left >= 0 && !r.store.down {
		t := r.holder().timings()
		m.Lease = 1 - float64(left)*float64(time.Millisecond)/float64(t.Lease)
		over := m.Lease * float64(t.Lease) / float64(t.Renew)
		m.Renewal = min(over, 1)
	}
	for _, other := range r.nodes {
		if n == nil || n == other {
			m.InFlight = max(m.InFlight, other.inFlight())
		}
	}
	switch {
	case n == nil:
	case n.process == nil:
		m.Role = "down"
	case r.leaders.Leader() == n.name:
		m.Role = "leader"
	default:
		m.Role = "follower"
	}
	return m
}

// holder is whose lease the store has: the first node's if its value is foreign.
func (r *run) holder() *node {
	value := r.store.model.Do(r.store.now(), "GET", r.store.leaseKey()).Text
	if parts := strings.SplitN(value, " ", 4); len(parts) == 4 {
		if n := r.byName[sim.NodeOf(parts[3])]; n != nil {
			return n
		}
	}
	return r.nodes[0]
}

// inFlight is the call that has been under way for the longest time.
func (n *node) inFlight() history.Call {
	if n.process == nil {
		return ""
	}
	var first *call
	for _, k := range n.client().open {
		if k.command.call != "" && k.command.call != listCandidates && (first == nil || k.op.Op < first.op.Op) {
			first = k
		}
	}
	if first == nil {
		return ""
	}
	return first.command.call
}
