package checker

import (
	"fmt"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
)

// stable decides whether the leader did not change without a fault: no
// term ended and no second leader came in a stretch that no fault influences.
// A fault influences everything from its on event to one return bound after
// its off event, in every election: what a candidate lost in a fault may cost
// it the lease that much later. A voluntary resignation without a fault is a
// change as well. What happens from the end of the run on does not count. In a
// scenario that calls itself steadfast no fault excuses a change but one that
// nobody injected.
//
// Unknown if nobody was ever elected, or no term overlaps a fault-free stretch.
func stable(x *facts) Finding {
	terms, calm := 0, false
	excuses := x.excuses()
	influences := x.influences(excuses)
	for _, e := range x.Elections {
		var last *index.Belief
		terms += len(e.Terms)
		for _, b := range e.Terms {
			calm = calm || x.calmWithin(influences, b)
			if last != nil && x.calm(influences, b.From) && (last.By != b.By || last.Token != b.Token) {
				return finding.Failed(fmt.Sprintf("the leader changed%s from %s to %s at %s, %s", x.In(e),
					finding.Who(last.By.Name, last.Token), finding.Who(b.By.Name, b.Token), finding.Moment(b.From), x.uncalled(excuses)), last.Begin, b.Begin)
			}
			if !b.Lasts() && x.calm(influences, b.To) {
				return finding.Failed(fmt.Sprintf("the term of %s ended%s at %s (%s), %s",
					finding.Who(b.By.Name, b.Token), x.In(e), finding.Moment(b.To), b.Why, x.uncalled(excuses)), b.Begin, b.End)
			}
			last = b
		}
	}
	switch {
	case terms == 0:
		return finding.Nothing("nobody was ever elected")
	case !calm:
		return finding.Nothing("faults influenced the whole time in which somebody led")
	}
	return finding.Passed(finding.Count(terms, "term") + ", and none ended or began without a fault but the first")
}

// excuses are the faults that may explain a change.
func (x *facts) excuses() []*index.Fault {
	if x.Header.Steadfast {
		return x.Uninvited()
	}
	return x.Faults
}

// uncalled says why a change is blamed on the elector: in a steadfast scenario
// there may well be a fault on at that moment.
func (x *facts) uncalled(excuses []*index.Fault) string {
	if x.Header.Steadfast && len(x.Faults) > len(excuses) {
		return "and no fault of this scenario is a reason for it"
	}
	return "without a fault"
}

// influences are the times in which one of the faults may explain a change, in
// order and merged.
func (x *facts) influences(excuses []*index.Fault) []index.Window {
	var all []index.Window
	for _, f := range excuses {
		all = append(all, index.Window{From: f.From, To: f.To + x.ReturnBound()})
	}
	return index.Merge(all)
}

// calm tells whether no fault can explain what happens at t and the run still
// goes on.
func (x *facts) calm(influences []index.Window, t time.Duration) bool {
	if t >= x.Curtain {
		return false
	}
	for _, w := range influences {
		if w.From <= t && t <= w.To {
			return false
		}
	}
	return true
}

// calmWithin tells whether some part of the belief is in a fault-free stretch.
func (x *facts) calmWithin(influences []index.Window, b *index.Belief) bool {
	for _, s := range b.Spans {
		t := s.From
		for _, w := range influences {
			if w.From <= t && t <= w.To {
				t = w.To + 1
			}
		}
		if t < min(s.To, x.Curtain) {
			return true
		}
	}
	return false
}
