package checker

import (
	"fmt"
	"time"

	"github.com/recount-io/recount/history"
)

// checkStable decides whether the leader did not change without a fault: no
// term ended and no second leader came in a stretch that no fault influences.
// A fault influences everything from its on event to one return bound after
// its off event, in every election: what a candidate lost in a fault may cost
// it the lease that much later. A voluntary resignation without a fault is a
// change as well. What happens while the harness stops the candidates at the
// end does not count. In a scenario that calls itself steadfast no fault
// excuses a change but a stall of the machine, which nobody injected.
//
// Unknown if nobody was ever elected, or no term overlaps a fault-free stretch.
func checkStable(r *run, t *tally) *Finding {
	for _, e := range r.elections {
		var last *belief
		for _, b := range e.beliefs {
			t.calm = t.calm || r.calmWithin(b)
			if last != nil && r.calm(b.term.From) && (last.term.Node != b.term.Node || last.term.Token != b.term.Token) {
				f := fail(Stable, fmt.Sprintf("the leader changed%s from %s to %s at %s, %s", r.in(e),
					who(last.term.Node, last.term.Token), who(b.term.Node, b.term.Token), moment(b.term.From), r.uncalled()), last.term.Begin, b.term.Begin)
				return &f
			}
			if !b.term.leads() && r.calm(b.term.To) {
				f := fail(Stable, fmt.Sprintf("the term of %s ended%s at %s (%s), %s",
					who(b.term.Node, b.term.Token), r.in(e), moment(b.term.To), b.term.Why, r.uncalled()), b.term.Begin, b.term.End)
				return &f
			}
			last = b
		}
	}
	return nil
}

// influence is the time in which a fault may explain a change.
func (r *run) influence(f *fault) window { return window{f.from, f.to + r.returnBound()} }

// excuses are the faults that may explain a change.
func (r *run) excuses() []*fault {
	if r.header.Steadfast {
		return r.stalls()
	}
	return r.faults
}

// uncalled says why a change is blamed on the elector: in a steadfast scenario
// there may well be a fault on at that moment.
func (r *run) uncalled() string {
	if r.header.Steadfast && len(r.faults) > len(r.stalls()) {
		return "and no fault of this scenario is a reason for it"
	}
	return "without a fault"
}

// stalls are the times in which the machine itself held up the run.
func (r *run) stalls() []*fault {
	var all []*fault
	for _, f := range r.faults {
		if f.name == history.StallFault {
			all = append(all, f)
		}
	}
	return all
}

// calm tells whether no fault can explain what happens at t and the run still
// goes on. What came before this piece was judged there.
func (r *run) calm(t time.Duration) bool {
	if t >= r.curtain || t <= r.since {
		return false
	}
	for _, f := range r.excuses() {
		if w := r.influence(f); w.from <= t && t <= w.to {
			return false
		}
	}
	return true
}

// calmWithin tells whether some part of the belief is in a fault-free stretch.
func (r *run) calmWithin(b *belief) bool {
	influences := r.influences()
	for _, s := range b.spans {
		t := max(s.from, r.since)
		for _, w := range influences {
			if w.from <= t && t <= w.to {
				t = w.to + 1
			}
		}
		if t < min(s.to, r.curtain) {
			return true
		}
	}
	return false
}

// influences are the influences of all faults, in order and merged.
func (r *run) influences() []window {
	var all []window
	for _, f := range r.excuses() {
		all = append(all, r.influence(f))
	}
	return merge(all)
}
