package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
)

// checkWellFormed decides whether the history is one that the other checks may
// judge. It fails if the history contradicts its own format: sequence and
// times that do not run forward, completions without invocation, beliefs
// nobody was elected to, faults that do not pair (all of which is noticed when
// the events are taken in). It is unknown if the format is kept but the run was
// not what it claims: a scheduled fault took no effect, or an operation
// vanished although its node went on.
func checkWellFormed(r *run, t *tally) *Finding {
	t.events += r.events
	t.faults += len(r.faults)
	if r.broken != nil {
		return r.broken
	}
	for _, f := range r.faults {
		if why := r.ineffective(f); why != "" {
			bad := unknown(WellFormed, fmt.Sprintf("the fault %s on %s took no effect: %s",
				f.name, strings.Join(f.targets, ", "), why), f.onSeq, f.offSeq)
			return &bad
		}
	}
	return r.vanished()
}

// form is what must be remembered to see whether the next event fits the form
// of a history.
type form struct {
	nameless bool // an event named no election

	last time.Duration // time of the last event

	// Of the pieces before.
	numbers numbers  // of operations that completed
	strays  numbers  // of operations that did not
	faults  []string // the ids of the last ones
}

func malformed(e *history.Event, format string, args ...any) *Finding {
	f := fail(WellFormed, fmt.Sprintf(format, args...), e.Seq)
	return &f
}

// ordered looks at the number and the time of the event.
func (r *run) ordered(e *history.Event) *Finding {
	if e.Seq != r.seq+1 {
		return malformed(e, "event number %d has seq %d: events are missing or out of order", r.seq+1, e.Seq)
	}
	if e.At < r.form.last && r.seq > 0 {
		return malformed(e, "time runs backwards: event %d at %s follows one at %s", e.Seq, moment(e.At), moment(r.form.last))
	}
	r.form.last = e.At
	return nil
}

func (w *form) invoke(r *run, e *history.Event) *Finding {
	switch {
	case e.Op == 0:
		return malformed(e, "an invocation of %s by %s has no operation number", e.Call, e.Node)
	case r.ops.get(e.Op) != nil, w.numbers.has(e.Op), w.strays.has(e.Op):
		return malformed(e, "operation %d is invoked twice", e.Op)
	case e.Call == "":
		return malformed(e, "operation %d does not say what it calls", e.Op)
	}
	return nil
}

func (w *form) complete(r *run, e *history.Event, o *op) *Finding {
	switch {
	case o == nil && w.strays.has(e.Op): // nobody can have waited for it
	case o == nil && w.numbers.has(e.Op):
		return malformed(e, "operation %d completes twice", e.Op)
	case o == nil:
		return malformed(e, "operation %d completes without having been invoked before", e.Op)
	case o.completed != 0:
		return malformed(e, "operation %d completes twice", e.Op)
	case e.Node != "" && e.Node != o.node:
		return malformed(e, "operation %d was invoked by %s and completes at %s", e.Op, o.node, e.Node)
	case e.Call != "" && e.Call != o.call:
		return malformed(e, "operation %d was invoked as %s and completes as %s", e.Op, o.call, e.Call)
	case e.Election != "" && o.at.name != "" && e.Election != o.at.name && !r.mixed:
		return malformed(e, "operation %d was invoked in %q and completes in %q", e.Op, o.at.name, e.Election)
	}
	return nil
}

// belief looks whether a node that reports about a term was elected to it.
func (w *form) belief(p *process, e *history.Event) *Finding {
	if e.Node == "" {
		return malformed(e, "a belief (%s, token %d) belongs to no node", e.Kind, e.Token)
	}
	t := termID{e.Election, e.Token}
	if e.Kind == history.Elected {
		p.terms = append(p.terms, t)
		return nil
	}
	if i := len(p.terms) - 1; i >= 0 && p.terms[i] == t || slices.Contains(p.terms, t) || p.older && e.Token < p.terms[0].token {
		return nil
	}
	return malformed(e, "%s reports %s for token %d, to which it was never elected", e.Node, e.Kind, e.Token)
}

func (w *form) fault(e *history.Event, f *fault) *Finding {
	switch {
	case e.ID == "":
		return malformed(e, "a fault (%s) has no id", e.Fault)
	case e.Phase == history.On && (f != nil || slices.Contains(w.faults, e.ID)):
		return malformed(e, "the fault %s (%s) is put on twice", e.Fault, e.ID)
	case e.Phase == history.Off && (f == nil || f.offSeq != 0):
		return malformed(e, "the fault %s (%s) is taken off without being on", e.Fault, e.ID)
	case e.Phase != history.On && e.Phase != history.Off:
		return malformed(e, "the fault %s (%s) is neither put on nor taken off", e.Fault, e.ID)
	}
	return nil
}

func (w *form) heal(r *run, e *history.Event) *Finding {
	for _, f := range r.faults {
		if f.offSeq == 0 && f.name != history.StallFault { // nobody put that one on
			return malformed(e, "the run was declared healed while the fault %s (%s) was on", f.name, f.id)
		}
	}
	return nil
}

// vanished finds an operation that never completed although nothing excuses
// it. The end of its process, a fault on its node, and the end of the run do.
func (r *run) vanished() *Finding {
	if r.unfinished == 0 {
		return nil
	}
	patience := max(r.header.Lease, time.Second)
	for _, o := range r.calls {
		if o.completed != 0 {
			continue
		}
		p, at := o.by, o.from+r.slack()
		excused := p.exited && p.exit >= at || p.latest <= at+patience ||
			slices.ContainsFunc(r.faults, func(f *fault) bool {
				return (f.hits(o.node) || f.hits(history.StoreTarget)) && f.off >= at-patience
			})
		if !excused {
			f := unknown(WellFormed, fmt.Sprintf("operation %d (%s by %s, from %s) never completed although %s went on: "+
				"the recording is incomplete", o.id, o.call, o.node, moment(at), o.node), o.invoked)
			return &f
		}
	}
	return nil
}

// countFaults counts, by name, how many faults were injected and how many took
// effect. A fault without a word about its effect counts unless the history
// contradicts it.
func countFaults(r *run, counts []FaultCount) []FaultCount {
	for _, f := range r.faults {
		i, ok := slices.BinarySearchFunc(counts, f.name, func(c FaultCount, name string) int { return strings.Compare(c.Name, name) })
		if !ok {
			counts = slices.Insert(counts, i, FaultCount{Name: f.name})
		}
		counts[i].Injected++
		if r.ineffective(f) == "" {
			counts[i].Effective++
		}
	}
	return counts
}

// ineffective says what shows that the fault took no effect, or "".
func (r *run) ineffective(f *fault) string {
	if f.effect != nil && !*f.effect {
		if f.evidence != "" {
			return f.evidence
		}
		return "nothing showed that it did"
	}
	if !cuts(f.name) {
		return ""
	}
	slack, skew := r.slack(), r.header.ClockError
	var through *op
	// Later than the fault: what was sent in the very moment in which it began
	// may have been sent before.
	first, _ := slices.BinarySearchFunc(r.calls, f.since+skew-slack, func(o *op, t time.Duration) int {
		if o.from <= t {
			return -1
		}
		return 1
	})
	for _, o := range r.calls[first:] {
		if o.from+slack > f.off {
			break
		}
		if o.kind == history.Ok && o.call.OnLease() && f.hits(o.node) && o.to-slack <= f.off-skew &&
			(through == nil || o.completed < through.completed) {
			through = o
		}
	}
	if through == nil {
		return ""
	}
	return fmt.Sprintf("%s of %s began at %s and succeeded at %s, while it was on",
		through.call, through.node, moment(through.from+slack), moment(through.to-slack))
}

// cuts tells by its name whether a fault makes every operation of its targets
// on the lease impossible while it is in force.
func cuts(name string) bool {
	if name == "pause" || name == suspension { // but pause-before-write waits for a write first
		return true
	}
	for _, word := range []string{"partition", "-lost", "connection-refused", "connection-reset", "isolat", "blackhole", "black-hole"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
