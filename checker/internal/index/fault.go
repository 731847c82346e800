package index

import (
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// Fault is one fault, from its on to its off event.
type Fault struct {
	ID        string
	Name      string
	On, Off   time.Duration
	From, To  time.Duration // on and off, widened like the times of an operation
	Since     time.Duration // from here to off it certainly was in force
	Targets   []string
	Shorten   time.Duration
	Void      bool
	Does      history.Effect // to its targets
	OnSeq     int64
	OffSeq    int64 // 0 if it was never taken off
	Effective *bool // nil: nobody looked
	Evidence  string
}

// Hits reports whether the node is one of the fault's targets.
func (f *Fault) Hits(node string) bool { return slices.Contains(f.Targets, node) }

// Uninvited reports whether nobody injected the fault: the machine, or the store,
// was not up to the run.
func (f *Fault) Uninvited() bool { return history.Uninjected(f.Name) }

// fault joins the on and off events. A fault that is never taken off lasts to
// the end of time.
func (w *walk) fault(e *history.Event) {
	f := w.faults[e.ID]
	w.complain(badFault(f, e))
	slack := w.Slack()
	if e.Phase == history.On || f == nil {
		f = &Fault{ID: e.ID, Name: e.Fault, On: e.At, Since: e.At, Off: Forever, OnSeq: e.Seq, From: e.At - slack, To: Forever + slack}
		if e.Effect != nil {
			f.Does = *e.Effect
		} else {
			f.Does = history.EffectOf(e.Fault)
		}
		w.Faults = append(w.Faults, f)
		w.faults[e.ID] = f
	}
	for _, target := range e.Targets {
		if !f.Hits(target) {
			f.Targets = append(f.Targets, target)
		}
	}
	if e.Shorten != 0 {
		f.Shorten = e.Shorten
	}
	f.Void = f.Void || e.Void
	if e.Phase == history.Off {
		f.Off, f.To, f.OffSeq, f.Effective, f.Evidence = e.At, e.At+slack, e.Seq, e.Effective, e.Evidence
		if e.Since != nil {
			f.Since = *e.Since
		}
	}
}

// Uninvited are the times in which the machine or the store was not up to the
// run.
func (x *Index) Uninvited() []*Fault {
	var all []*Fault
	for _, f := range x.Faults {
		if f.Uninvited() {
			all = append(all, f)
		}
	}
	return all
}

// Disturbed reports whether the machine or the store was not up to the run at some
// time in the window.
func (x *Index) Disturbed(from, to time.Duration) bool {
	for _, f := range x.Faults {
		if f.Uninvited() && f.From <= to && from <= f.To {
			return true
		}
	}
	return false
}

// DisturbedFor is how much longer than in a calm run something may take in the window,
// because the machine or the store was not up to the run. Each disturbance costs its own
// time, as much again until all that waited has had its turn, and a lease: an answer that
// came too late may have granted one to nobody.
func (x *Index) DisturbedFor(from, to time.Duration) (cost time.Duration) {
	var all []Window
	for _, f := range x.Faults {
		if f.Uninvited() && f.From <= to && from <= f.To {
			all = append(all, Window{f.From, f.To})
		}
	}
	for _, w := range Merge(all) {
		cost += 2*(min(w.To, to)-w.From) + x.Header.Lease // one that was never taken off lasts for ever
	}
	return cost
}

// Undisturbed is the longest time in the window in which it was.
func (x *Index) Undisturbed(from, to time.Duration) time.Duration {
	return x.without(from, to, (*Fault).Uninvited)
}

// LongestFree is the longest time in the window in which nothing held up the node's
// process, or its write on the way.
func (x *Index) LongestFree(node string, from, to time.Duration) time.Duration {
	return x.without(from, to, func(f *Fault) bool { return f.holds(node) })
}

// without is the longest time in the window without any of these faults.
func (x *Index) without(from, to time.Duration, such func(*Fault) bool) (longest time.Duration) {
	var all []Window
	for _, f := range x.Faults {
		if such(f) {
			all = append(all, Window{f.From, f.To})
		}
	}
	for _, w := range Merge(all) {
		longest = max(longest, min(w.From, to)-from)
		from = max(from, w.To)
	}
	return max(longest, to-from)
}

// holds reports whether the fault holds up the node. All share one machine: what
// stalls somebody may have stalled everybody.
func (f *Fault) holds(node string) bool {
	return f.Name == history.StallFault || f.Does.Holds && f.Hits(node)
}

// Held reports whether the node's process, or its write on the way, was held up at
// some time in the window.
func (x *Index) Held(node string, from, to time.Duration) bool {
	for _, f := range x.Faults {
		if f.holds(node) && f.From <= to && from <= f.To {
			return true
		}
	}
	return false
}

// HeldThroughout reports whether the node's process, or its write on the way, was
// held up all the time in the window, but for as long as it may take to act
// before, between and after. After a stall that may be as long as the stall lasted:
// all that waited for the processor then has to have its turn.
func (x *Index) HeldThroughout(node string, from, to time.Duration) bool {
	var all []Window
	for _, f := range x.Faults {
		if !f.holds(node) {
			continue
		}
		after := x.Patience()
		if f.Name == history.StallFault {
			after = max(after, f.To-f.From)
		}
		all = append(all, Window{f.From - x.Patience(), f.To + after})
	}
	return slices.ContainsFunc(Merge(all), func(w Window) bool { return w.From <= from && to <= w.To })
}

// Skewed reports whether the node's clock ran wrong at some time in the window.
func (x *Index) Skewed(node string, from, to time.Duration) bool {
	for _, f := range x.Faults {
		if f.Does.Skews && f.Hits(node) && f.From <= to && from <= f.To {
			return true
		}
	}
	return false
}

// Patience is how long a process may take to act: a delay of so much is
// recorded as a stall.
func (x *Index) Patience() time.Duration { return x.Header.Lease / 8 }
