package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// wellFormed decides whether the history is one that the other checks may
// judge. It fails if the history contradicts its own format: sequence and
// times that do not run forward, completions without invocation, beliefs
// nobody was elected to, faults that do not pair (all of which the index
// notices). It is unknown if the format is kept but the run was not what it
// claims: a scheduled fault took no effect, or an operation vanished although
// its node went on.
func wellFormed(x *facts) Finding {
	switch {
	case x.Broken != nil:
		return *x.Broken
	case x.Events == 0:
		return finding.Nothing("the history has no event")
	}
	for _, f := range x.Faults {
		if why := ineffective(x.Index, f); why != "" {
			return finding.Undecided(fmt.Sprintf("the fault %s on %s took no effect: %s",
				f.Name, strings.Join(f.Targets, ", "), why), f.OnSeq, f.OffSeq)
		}
	}
	if o := x.Vanished(); o != nil {
		return finding.Undecided(fmt.Sprintf("operation %d (%s by %s, from %s) never completed although %s went on: "+
			"the recording is incomplete", o.ID, o.Call, o.Node, finding.Moment(o.From+x.Slack()), o.Node), o.Invoked)
	}
	return finding.Passed(fmt.Sprintf("%s, all of which pair and run forward, and %s, all of which took effect",
		finding.Count(x.Events, "event"), finding.Count(len(x.Faults), "fault")))
}

// countFaults counts, by name, how many faults were injected and how many took
// effect. A fault without a word about its effect counts unless the history
// contradicts it.
func countFaults(x *index.Index) []FaultCount {
	var counts []FaultCount
	for _, f := range x.Faults {
		i, ok := slices.BinarySearchFunc(counts, f.Name, func(c FaultCount, name string) int { return strings.Compare(c.Name, name) })
		if !ok {
			counts = slices.Insert(counts, i, FaultCount{Name: f.Name})
		}
		counts[i].Injected++
		if ineffective(x, f) == "" {
			counts[i].Effective++
		}
	}
	return counts
}

// ineffective says what shows that the fault took no effect, or "".
func ineffective(x *index.Index, f *index.Fault) string {
	if f.Effective != nil && !*f.Effective {
		if f.Evidence != "" {
			return f.Evidence
		}
		return "nothing showed that it did"
	}
	if !f.Does.Cuts {
		return ""
	}
	slack, skew := x.Slack(), x.Header.ClockError
	var through *index.Op
	first, _ := slices.BinarySearchFunc(x.Calls, f.OnSeq, func(o *index.Op, seq int64) int { return cmp.Compare(o.Invoked, seq) })
	for _, o := range x.Calls[first:] {
		if o.From+slack > f.Off {
			break
		}
		// Later than the fault: what was sent in the very moment in which it began may
		// have been sent before, and so was what stood since then and is granted now.
		after := o.From > f.Since+skew-slack
		if after && o.Kind == history.Ok && o.Call.OnLease() && f.Hits(o.Node) && o.To-slack <= f.Off-skew &&
			(through == nil || o.Completed < through.Completed) {
			through = o
		}
	}
	if through == nil {
		return ""
	}
	return fmt.Sprintf("%s of %s began at %s and succeeded at %s, while it was on",
		through.Call, through.Node, finding.Moment(through.From+slack), finding.Moment(through.To-slack))
}
