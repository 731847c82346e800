package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// stable decides whether the leader did not change without a fault: no
// term ended and no second leader came in a stretch that no fault influences.
// A fault influences everything from its on event to one return bound after
// its off event, in every election: what a candidate lost in a fault may cost
// it the lease that much later. A fault on candidates alone excuses only a change from
// or to one of them, or one that may have had the lease in between: a slow follower must not
// cost the leader its term. A voluntary
// resignation without a fault is a change as well. What happens from the end of the run
// on does not count. In a scenario that calls itself steadfast no fault excuses a change
// but one that nobody injected.
//
// Unknown if nobody was ever elected, or no term overlaps a fault-free stretch.
func stable(x *facts) Finding {
	terms, calm := 0, false
	excuses := x.excuses()
	general := x.influences(slices.DeleteFunc(slices.Clone(excuses), x.private))
	on := map[string][]index.Window{} // the faults on each candidate alone
	for _, node := range x.Header.Nodes {
		on[node] = x.influences(slices.DeleteFunc(slices.Clone(excuses), func(f *index.Fault) bool { return !x.private(f) || !f.Hits(node) }))
	}
	calmAt := func(t time.Duration, nodes ...string) bool {
		return x.calm(general, t) && !slices.ContainsFunc(nodes, func(node string) bool { return !x.calm(on[node], t) })
	}
	// Processes may have to wait all the time on a busy machine. That excuses a change, but
	// a run in which nothing changed need not be excused.
	faulty := x.influences(slices.DeleteFunc(slices.Clone(excuses), func(f *index.Fault) bool { return f.Name == history.StarvedFault }))
	for _, e := range x.Elections {
		var last *index.Belief
		terms += len(e.Terms)
		for i, b := range e.Terms {
			calm = calm || x.calmWithin(faulty, b)
			if last != nil && (last.By != b.By || last.Token != b.Token) && calmAt(b.From, last.By.Name, b.By.Name) && calmAt(b.From, between(e, last, b)...) {
				return finding.Failed(fmt.Sprintf("the leader changed%s from %s to %s at %s, %s", x.In(e),
					finding.Who(last.By.Name, last.Token), finding.Who(b.By.Name, b.Token), finding.Moment(b.From), x.uncalled(excuses, b.From)), last.Begin, b.Begin)
			}
			next := e.Terms[min(i+1, len(e.Terms)-1)]
			if !b.Lasts() && calmAt(b.To, b.By.Name, next.By.Name) && calmAt(b.To, between(e, b, next)...) {
				return finding.Failed(fmt.Sprintf("the term of %s ended%s at %s (%s), %s",
					finding.Who(b.By.Name, b.Token), x.In(e), finding.Moment(b.To), b.Why, x.uncalled(excuses, b.To)), b.Begin, b.End)
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

// between are the nodes that may have been granted the lease between two terms: one that
// crashes then never says so.
func between(e *index.Election, before, after *index.Belief) (nodes []string) {
	for _, o := range e.Ops {
		if o.Call == history.Acquire && o.Kind != history.Fail && before.From <= o.From && o.From <= after.From {
			nodes = append(nodes, o.Node)
		}
	}
	return nodes
}

// excuses are the faults that may explain a change.
func (x *facts) excuses() []*index.Fault {
	if x.Header.Steadfast {
		return x.Uninvited()
	}
	return x.Faults
}

// private reports whether the fault hit candidates, and neither all of them nor the store,
// whose leases are everybody's. Where nobody knows how long a fault has consequences it may
// have hit anybody.
func (x *facts) private(f *index.Fault) bool {
	return x.Header.Lease > 0 && !f.Uninvited() && !f.Void && f.Shorten == 0 && len(f.Targets) > 0 && len(f.Targets) < len(x.Header.Nodes) &&
		!slices.ContainsFunc(f.Targets, func(target string) bool { return !slices.Contains(x.Header.Nodes, target) })
}

// uncalled says why a change at t is blamed on the elector: there may well be a fault on
// at that moment.
func (x *facts) uncalled(excuses []*index.Fault, t time.Duration) string {
	switch {
	case x.Header.Steadfast && len(x.Faults) > len(excuses):
		return "and no fault of this scenario is a reason for it"
	case !x.calm(x.influences(excuses), t):
		return "although faults were on others only"
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

// calm reports whether no fault can explain what happens at t and the run still
// goes on.
func (x *facts) calm(influences []index.Window, t time.Duration) bool {
	if t >= x.RunEnd {
		return false
	}
	for _, w := range influences {
		if w.From <= t && t <= w.To {
			return false
		}
	}
	return true
}

// calmWithin reports whether some part of the belief is in a fault-free stretch.
func (x *facts) calmWithin(influences []index.Window, b *index.Belief) bool {
	for _, s := range b.Spans {
		t := s.From
		for _, w := range influences {
			if w.From <= t && t <= w.To {
				t = w.To + 1
			}
		}
		if t < min(s.To, x.RunEnd) {
			return true
		}
	}
	return false
}
