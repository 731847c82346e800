package index

import (
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/history"
)

// form is what must be remembered to see whether the next event fits the form
// of a history.
type form struct {
	last time.Duration // time of the last event
}

func malformed(e *history.Event, format string, args ...any) *finding.Finding {
	f := finding.Failed(fmt.Sprintf(format, args...), e.Seq)
	return &f
}

// ordered looks at the number and the time of the event after so many.
func (w *form) ordered(before int, e *history.Event) *finding.Finding {
	if e.Seq != int64(before)+1 {
		return malformed(e, "event number %d has seq %d: events are missing or out of order", before+1, e.Seq)
	}
	if e.At < w.last && before > 0 {
		return malformed(e, "time runs backwards: event %d at %s follows one at %s", e.Seq, finding.Moment(e.At), finding.Moment(w.last))
	}
	w.last = e.At
	return nil
}

func badInvocation(ops *opTable, e *history.Event) *finding.Finding {
	switch {
	case e.Op == 0:
		return malformed(e, "an invocation of %s by %s has no operation number", e.Call, e.Node)
	case ops.get(e.Op) != nil:
		return malformed(e, "operation %d is invoked twice", e.Op)
	case e.Call == "":
		return malformed(e, "operation %d does not say what it calls", e.Op)
	}
	return nil
}

func badCompletion(o *Op, e *history.Event) *finding.Finding {
	switch {
	case o == nil:
		return malformed(e, "operation %d completes without having been invoked before", e.Op)
	case o.Completed != 0:
		return malformed(e, "operation %d completes twice", e.Op)
	case e.Node != "" && e.Node != o.Node:
		return malformed(e, "operation %d was invoked by %s and completes at %s", e.Op, o.Node, e.Node)
	case e.Call != "" && e.Call != o.Call:
		return malformed(e, "operation %d was invoked as %s and completes as %s", e.Op, o.Call, e.Call)
	case e.Election != "" && o.At.Name != "" && e.Election != o.At.Name:
		return malformed(e, "operation %d was invoked in %q and completes in %q", e.Op, o.At.Name, e.Election)
	}
	return nil
}

// neverStood looks whether an attempt that is granted later than it was asked for was
// one that stood: the record may lack its refusal, but must not say that the attempt
// was over then.
func (w *walk) neverStood(e *history.Event) *finding.Finding {
	switch {
	case e.Since == nil:
		return nil
	case *e.Since > e.At:
		return malformed(e, "operation %d was sent at %s, which is after its answer", e.Op, finding.Moment(*e.Since))
	case e.Nonce == "" || e.Try == 0:
		return nil
	}
	for _, o := range w.at(e.Election).Ops {
		if o.Call == history.Acquire && o.Node == e.Node && o.Nonce == e.Nonce && o.Try == e.Try && o.Kind == history.Fail && !o.Stands {
			return malformed(e, "operation %d of %s was refused for good, and operation %d says that it was granted", o.ID, o.Node, e.Op)
		}
	}
	return nil
}

// badBelief looks whether a node that reports about a term was elected to it.
func badBelief(p *Node, election string, e *history.Event) *finding.Finding {
	if e.Node == "" {
		return malformed(e, "a belief (%s, token %d) belongs to no node", e.Kind, e.Token)
	}
	t := termID{election, e.Token}
	if e.Kind == history.Elected {
		p.terms = append(p.terms, t)
		return nil
	}
	if i := len(p.terms) - 1; i >= 0 && p.terms[i] == t || slices.Contains(p.terms, t) {
		return nil
	}
	return malformed(e, "%s reports %s for token %d, to which it was never elected", e.Node, e.Kind, e.Token)
}

// badFault looks whether the event joins the fault of its id.
func badFault(f *Fault, e *history.Event) *finding.Finding {
	switch {
	case e.ID == "":
		return malformed(e, "a fault (%s) has no id", e.Fault)
	case e.Phase == history.On && f != nil:
		return malformed(e, "the fault %s (%s) is put on twice", e.Fault, e.ID)
	case e.Phase == history.Off && (f == nil || f.OffSeq != 0):
		return malformed(e, "the fault %s (%s) is taken off without being on", e.Fault, e.ID)
	case e.Phase != history.On && e.Phase != history.Off:
		return malformed(e, "the fault %s (%s) is neither put on nor taken off", e.Fault, e.ID)
	}
	return nil
}

// badHealed looks whether the run was declared healed before, or while a fault is on.
func badHealed(before *Healing, faults []*Fault, e *history.Event) *finding.Finding {
	if before != nil {
		return malformed(e, "the run was declared healed a second time, after event %d", before.Seq)
	}
	for _, f := range faults {
		if f.OffSeq == 0 && !f.Uninvited() {
			return malformed(e, "the run was declared healed while the fault %s (%s) was on", f.Name, f.ID)
		}
	}
	return nil
}

// Vanished finds an operation that never completed although nothing excuses
// it; nil if there is none. The end of its process, a fault on its node or on the
// store, and the end of the run excuse it if they come as soon as an answer should
// have come, and not at any time later.
func (x *Index) Vanished() *Op {
	patience := max(x.Header.Lease, time.Second)
	for _, o := range x.Calls {
		if o.Completed != 0 {
			continue
		}
		at := o.From + x.Slack()
		excused := o.By.latest <= at+patience ||
			slices.ContainsFunc(o.By.downs, func(w Window) bool { return at <= w.From && w.From <= at+patience }) ||
			x.StatedEnd <= at+patience ||
			slices.ContainsFunc(x.Faults, func(f *Fault) bool {
				return (f.Hits(o.Node) || f.Hits(history.StoreTarget)) && f.On <= at+patience && f.Off >= at-patience
			})
		if !excused {
			return o
		}
	}
	return nil
}
