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
// nobody was elected to, faults that do not pair. It is unknown if the format
// is kept but the run was not what it claims: a scheduled fault took no
// effect, or an operation vanished although its node went on.
func checkWellFormed(r *run) Finding {
	if len(r.h.Events) == 0 {
		return unknown(WellFormed, "the history has no event")
	}
	form := &form{run: r, ops: map[int64]*history.Event{}, done: map[int64]bool{}, elected: map[belongs]bool{},
		faults: map[string]history.Phase{}, latest: map[string]time.Duration{}}
	for i := range r.h.Events {
		if f := form.event(i); f != nil {
			return *f
		}
	}
	for _, f := range r.faults {
		if why := r.ineffective(f); why != "" {
			return unknown(WellFormed, fmt.Sprintf("the fault %s on %s took no effect: %s",
				f.name, strings.Join(f.targets, ", "), why), f.onSeq, f.offSeq)
		}
	}
	if f := form.vanished(); f != nil {
		return *f
	}
	return pass(WellFormed, fmt.Sprintf("%s, all of which pair and run forward, and %s, all of which took effect",
		count(len(r.h.Events), "event"), count(len(r.faults), "fault")))
}

// belongs names a token of a node in an election.
type belongs struct {
	election, node string
	token          uint64
}

// form is the state of one walk over a history.
type form struct {
	run     *run
	ops     map[int64]*history.Event
	done    map[int64]bool
	elected map[belongs]bool
	faults  map[string]history.Phase
	latest  map[string]time.Duration // by node: when it was last heard of
}

func (w *form) event(i int) *Finding {
	e := &w.run.h.Events[i]
	broken := func(format string, args ...any) *Finding {
		f := fail(WellFormed, fmt.Sprintf(format, args...), e.Seq)
		return &f
	}
	if e.Seq != int64(i)+1 {
		return broken("event number %d has seq %d: events are missing or out of order", i+1, e.Seq)
	}
	if i > 0 && e.At < w.run.h.Events[i-1].At {
		return broken("time runs backwards: event %d at %s follows one at %s", e.Seq, moment(e.At), moment(w.run.h.Events[i-1].At))
	}
	if e.Node != "" && e.Kind != history.Exit {
		w.latest[e.Node] = e.At
	}
	switch e.Kind {
	case history.Invoke:
		return w.invoke(e, broken)
	case history.Ok, history.Fail, history.Info:
		return w.complete(e, broken)
	case history.Elected, history.Extended, history.Deposed:
		return w.belief(e, broken)
	case history.Fault:
		return w.fault(e, broken)
	case history.Healed:
		for _, f := range w.run.faults { // not the map: the first one is to be the same every time
			if w.faults[f.id] == history.On && f.onSeq < e.Seq && f.name != history.StallFault { // nobody put that one on
				return broken("the run was declared healed while the fault %s (%s) was on", f.name, f.id)
			}
		}
	}
	return nil
}

type broken = func(format string, args ...any) *Finding

func (w *form) invoke(e *history.Event, broken broken) *Finding {
	switch {
	case e.Op == 0:
		return broken("an invocation of %s by %s has no operation number", e.Call, e.Node)
	case w.ops[e.Op] != nil:
		return broken("operation %d is invoked twice", e.Op)
	case e.Call == "":
		return broken("operation %d does not say what it calls", e.Op)
	}
	w.ops[e.Op] = e
	return nil
}

func (w *form) complete(e *history.Event, broken broken) *Finding {
	call := w.ops[e.Op]
	switch {
	case call == nil:
		return broken("operation %d completes without having been invoked before", e.Op)
	case w.done[e.Op]:
		return broken("operation %d completes twice", e.Op)
	case e.Node != "" && e.Node != call.Node:
		return broken("operation %d was invoked by %s and completes at %s", e.Op, call.Node, e.Node)
	case e.Call != "" && e.Call != call.Call:
		return broken("operation %d was invoked as %s and completes as %s", e.Op, call.Call, e.Call)
	case e.Election != "" && call.Election != "" && e.Election != call.Election:
		return broken("operation %d was invoked in %q and completes in %q", e.Op, call.Election, e.Election)
	}
	w.done[e.Op] = true
	return nil
}

func (w *form) belief(e *history.Event, broken broken) *Finding {
	b := belongs{e.Election, e.Node, e.Token}
	if e.Node == "" {
		return broken("a belief (%s, token %d) belongs to no node", e.Kind, e.Token)
	}
	if e.Kind == history.Elected {
		w.elected[b] = true
		return nil
	}
	if !w.elected[b] {
		return broken("%s reports %s for token %d, to which it was never elected", e.Node, e.Kind, e.Token)
	}
	return nil
}

func (w *form) fault(e *history.Event, broken broken) *Finding {
	was := w.faults[e.ID]
	switch {
	case e.ID == "":
		return broken("a fault (%s) has no id", e.Fault)
	case e.Phase == history.On && was != "":
		return broken("the fault %s (%s) is put on twice", e.Fault, e.ID)
	case e.Phase == history.Off && was != history.On:
		return broken("the fault %s (%s) is taken off without being on", e.Fault, e.ID)
	case e.Phase != history.On && e.Phase != history.Off:
		return broken("the fault %s (%s) is neither put on nor taken off", e.Fault, e.ID)
	}
	w.faults[e.ID] = e.Phase
	return nil
}

// vanished finds an operation that never completed although nothing excuses
// it. The end of its process, a fault on its node, and the end of the run do.
func (w *form) vanished() *Finding {
	ended := map[string]time.Duration{}
	for i := range w.run.h.Events {
		if e := &w.run.h.Events[i]; e.Kind == history.Exit {
			ended[e.Node] = e.At
		}
	}
	patience := max(w.run.h.Header.Lease, time.Second)
	for i := range w.run.h.Events {
		e := &w.run.h.Events[i]
		if e.Kind != history.Invoke || w.done[e.Op] {
			continue
		}
		at, exited := ended[e.Node]
		excused := exited && at >= e.At || w.latest[e.Node] <= e.At+patience ||
			slices.ContainsFunc(w.run.faults, func(f *fault) bool {
				return (f.hits(e.Node) || f.hits(history.StoreTarget)) && f.off >= e.At-patience
			})
		if !excused {
			f := unknown(WellFormed, fmt.Sprintf("operation %d (%s by %s, from %s) never completed although %s went on: "+
				"the recording is incomplete", e.Op, e.Call, e.Node, moment(e.At), e.Node), e.Seq)
			return &f
		}
	}
	return nil
}

// countFaults counts, by name, how many faults were injected and how many took
// effect. A fault without a word about its effect counts unless the history
// contradicts it.
func countFaults(r *run) []FaultCount {
	at := map[string]int{}
	var counts []FaultCount
	for _, f := range r.faults {
		i, ok := at[f.name]
		if !ok {
			i = len(counts)
			at[f.name] = i
			counts = append(counts, FaultCount{Name: f.name})
		}
		counts[i].Injected++
		if r.ineffective(f) == "" {
			counts[i].Effective++
		}
	}
	slices.SortFunc(counts, func(a, b FaultCount) int { return strings.Compare(a.Name, b.Name) })
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
	slack := r.h.Header.ClockError
	calls := map[int64]*history.Event{}
	for i := range r.h.Events {
		e := &r.h.Events[i]
		if e.At > f.off {
			break
		}
		switch {
		case e.Kind == history.Invoke && e.Call.OnLease() && f.hits(e.Node) && e.At >= f.since+slack:
			calls[e.Op] = e
		case e.Kind == history.Ok && calls[e.Op] != nil && e.At <= f.off-slack:
			return fmt.Sprintf("%s of %s began at %s and succeeded at %s, while it was on",
				calls[e.Op].Call, calls[e.Op].Node, moment(calls[e.Op].At), moment(e.At))
		}
	}
	return ""
}

// cuts tells by its name whether a fault makes every operation of its targets
// on the lease impossible while it is in force.
func cuts(name string) bool {
	if name == "pause" { // but pause-before-write waits for a write first
		return true
	}
	for _, word := range []string{"partition", "-lost", "connection-refused", "connection-reset", "isolat", "blackhole", "black-hole"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
