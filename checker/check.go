package checker

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/checker/internal/search"
	"github.com/recount-io/recount/history"
)

// DefaultPorcupineCap is how long the black-box search of LeaseLinearizable
// may take in total unless Options says otherwise.
const DefaultPorcupineCap = 20 * time.Second

// Options are the few things about a check that are not in the history.
type Options struct {
	// PorcupineCap bounds the black-box search; zero means
	// DefaultPorcupineCap. It is the only influence on a Result that is not
	// the history itself: a search that was cut off reads as unknown.
	PorcupineCap time.Duration

	_ struct{}
}

// Check decides every promise from the history alone. It is a pure function:
// the same history gives the same Result (Options.PorcupineCap apart), and
// the history is not changed.
//
// The promises that Header.Promises names (all of them if it names none) are
// in Result.Asked and decide Result.Verdict. A promise that Header.Waived
// excuses is never asked: it is judged all the same and stands in
// Result.Measured together with why it was waived. If the history is not
// well-formed no other promise is judged, and all of them are unknown.
func Check(h *history.History, o Options) *Result {
	x := index.Build(h)
	defer x.Release()
	v := &Result{End: x.End, Ops: OpCounts(x.Counted), Faults: countFaults(x)}
	form := wellFormed(&facts{Index: x})
	if why := unjudgeable(x, form); why != "" {
		undecided := finding.Undecided(why)
		v.Lease = LeaseChecks{undecided, undecided, undecided}
		v.sort(&h.Header, func(r *Row) Finding {
			if r.Name == WellFormed {
				return form
			}
			return undecided
		})
		return v
	}
	f := gather(x, o)
	f.report(v)
	v.sort(&h.Header, func(r *Row) Finding {
		if r.timed && x.Header.Lease <= 0 {
			return finding.Undecided(timelessWhy)
		}
		found := r.check(f)
		if found.Verdict == Fail && r.progress() && f.guessed() {
			return finding.Undecided("who leads was inferred from requests most of which are not understood: renewals may be among these")
		}
		return found
	})
	return v
}

// progress reports whether the promise is broken by that nobody is seen to lead.
func (r *Row) progress() bool {
	switch r.Name {
	case LeaderReturns, FailoverBound, Stable:
		return true
	default:
		return false
	}
}

// nearLease is the share of a lease from which on an error of the clocks makes it
// impossible to judge leases.
const nearLease = 4

// unjudgeable says why a history cannot be judged beyond its form, or "".
func unjudgeable(x *index.Index, form Finding) string {
	switch e := x.Header.ClockError; {
	case x.Events == 0:
		return "the history has no event"
	case form.Verdict == Fail:
		return "the history is not well-formed (" + form.Reason + "), so nothing else can be judged from it"
	case e > 0 && x.Header.Lease > 0 && e >= x.Header.Lease/nearLease:
		return fmt.Sprintf("the times of two nodes may differ by %s (clock_error_ns), and a lease lasts %s: nothing can be judged from times",
			finding.Span(e), finding.Span(x.Header.Lease))
	default:
		return ""
	}
}

// sort distributes the findings over Asked and Measured.
func (v *Result) sort(header *history.Header, find func(*Row) Finding) {
	var asked []Promise
	for _, name := range header.Promises {
		asked = append(asked, Named(name))
	}
	for i := range table {
		r := &table[i]
		f := find(r)
		f.Promise = r.Name
		why, waived := Waived(header, r.Name)
		switch {
		case waived:
			f.Reason = "waived: " + why + " (measured all the same: " + f.Reason + ")"
			v.Measured = append(v.Measured, f)
		case len(asked) == 0 || slices.Contains(asked, r.Name):
			v.Asked = append(v.Asked, f)
		default:
			v.Measured = append(v.Measured, f)
		}
	}
	for _, name := range asked {
		if !slices.Contains(Promises, name) {
			f := finding.Undecided("there is no promise of this name; the promises are " + Names())
			f.Promise = name
			v.Asked = append(v.Asked, f)
		}
	}
	v.Verdict = Overall(v.Asked)
}

// Waived reports whether the header waives the promise, and why. The name of an
// earlier version counts as the promise's own.
func Waived(header *history.Header, p Promise) (why string, waived bool) {
	if why, waived = header.Waived[string(p)]; waived {
		return why, true
	}
	for name, why := range header.Waived {
		if Named(name) == p {
			return why, true
		}
	}
	return "", false
}

// Overall is the verdict that the findings come to together; see Fold.
func Overall(all []Finding) Verdict {
	return Fold(func(yield func(Verdict) bool) {
		for i := range all {
			if !yield(all[i].Verdict) {
				return
			}
		}
	})
}

// Names lists the names of all promises, separated by commas.
func Names() string {
	names := make([]string, len(Promises))
	for i, p := range Promises {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}

// VisualizeLease writes porcupine's own page on the operations on the lease,
// one partition for each election, with the faults as annotations. Where no
// order of the operations exists, the page shows the longest partial ones.
//
// An election with more than 2000 operations is cut to the stretch around the
// point at which the search gets stuck, or to its beginning. The search takes
// 10 s at the most; what it found by then is shown. The history must be
// well-formed. It is an error if there is no operation on a lease, or if w
// fails.
func VisualizeLease(h *history.History, w io.Writer) error {
	return search.Picture(index.Build(h), w)
}
