package trial

import (
	"math"
	"slices"
	"time"

	"github.com/recount-io/recount/calibration"
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// Run is what a trial keeps of one run.
type Run struct {
	calibration.Run
	Events  int
	Reasons map[checker.Promise]string // of the promises that are broken
	First   checker.Promise            // the one that was broken first; "" if none was
	Trouble string                     // why the run is not whole, or why there is no history; "" if it is
	Repro   string                     // the command that repeats it

	Error   time.Duration // of the clocks that the events were stamped with
	TwoLed  time.Duration // the longest time in which two believed
	Stale   int           // writes that were accepted although somebody else held the lease
	Blind   time.Duration // the longest belief while the store was away
	Blinded bool          // the store was away, so that Blind means something
	Changes int           // of leader, after the first
	Rate    float64       // operations on the lease, a minute
	Nodes   int
}

// observe takes from a run what a trial needs, and keeps neither the history
// nor the result.
func observe(h *history.History, r *checker.Result) Run {
	run := Run{
		Run: calibration.Observe(h, r), Events: len(h.Events), First: first(r), Repro: h.Header.Repro,
		Error: h.Header.ClockError, TwoLed: longestDual(r.Terms, h.Header.ClockError), Stale: r.Writes.StaleAccepted,
		Changes: max(len(r.Terms)-1, 0), Nodes: len(h.Header.Nodes),
	}
	run.Blind, run.Blinded = blind(h, r.Terms)
	if r.End > 0 {
		run.Rate = float64(operations(h)) / r.End.Minutes()
	}
	run.excuse(h)
	for _, f := range r.Asked {
		if f.Verdict == checker.Fail {
			if run.Reasons == nil {
				run.Reasons = map[checker.Promise]string{}
			}
			run.Reasons[f.Promise] = f.Reason
		}
	}
	return run
}

// tokens are the promises that cannot be judged without tokens: they are about
// them.
var tokens = []checker.Promise{checker.TokensIncrease, checker.FencedWrites}

// excuse lets an elector off that has no tokens: the promises that need them,
// which nobody can decide, do not make its run undecided. What it lacks shows in
// the stale writes.
func (r *Run) excuse(h *history.History) {
	elected := false
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.Elected && e.Kind != history.Extended {
			continue
		}
		if elected = true; e.Token != 0 {
			return
		}
	}
	if !elected {
		return
	}
	r.Undecided = slices.DeleteFunc(r.Undecided, func(f checker.Finding) bool { return slices.Contains(tokens, f.Promise) })
	if r.Verdict == checker.Unknown && len(r.Undecided) == 0 {
		r.Verdict = checker.Pass
	}
}

// operations are those that the candidates asked of the store.
func operations(h *history.History) int {
	n := 0
	for i := range h.Events {
		if e := &h.Events[i]; e.Kind == history.Invoke && e.Call.OnLease() {
			n++
		}
	}
	return n
}

// first is the promise whose contradiction was complete first: its last guilty
// event is the earliest. Promises without a guilty event come last.
func first(r *checker.Result) checker.Promise {
	earliest, name := int64(math.MaxInt64), checker.Promise("")
	for _, f := range r.Asked {
		if f.Verdict != checker.Fail {
			continue
		}
		at := int64(math.MaxInt64)
		if len(f.Evidence) > 0 {
			at = slices.Max(f.Evidence)
		}
		if name == "" || at < earliest {
			earliest, name = at, f.Promise
		}
	}
	return name
}

// longestDual is the longest time in which candidates believed beside each
// other in one election, beyond what the error of clocks explains.
func longestDual(terms []checker.Term, clockError time.Duration) time.Duration {
	longest := time.Duration(0)
	for i, a := range terms {
		for _, b := range terms[i+1:] {
			if a.Election != b.Election || a.Node == b.Node {
				continue
			}
			if both := min(a.To, b.To) - max(a.From, b.From); both > clockError {
				longest = max(longest, both)
			}
		}
	}
	return longest
}

// blind is the longest time for which a candidate went on believing after a
// fault had taken the store from all of them, as long as the fault lasted.
func blind(h *history.History, terms []checker.Term) (longest time.Duration, was bool) {
	for _, away := range outages(h) {
		was = true
		for _, t := range terms {
			if t.From <= away.from {
				longest = max(longest, min(t.To, away.to)-away.from)
			}
		}
	}
	return longest, was
}

type span struct{ from, to time.Duration }

// away are the faults that take the store from every candidate.
var away = []string{faults.StorePause{}.Name(), faults.StoreCrash{}.Name(), faults.StoreCrash{KeepData: true}.Name()}

// outages are the times in which the store was away.
func outages(h *history.History) []span {
	var all []span
	open := map[string]int{}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.Fault || !slices.Contains(away, e.Fault) || !slices.Equal(e.Targets, []string{history.StoreTarget}) {
			continue
		}
		if e.Phase == history.On {
			open[e.ID] = len(all)
			all = append(all, span{e.At, math.MaxInt64})
		} else if i, begun := open[e.ID]; begun {
			all[i].to = e.At
		}
	}
	return slices.DeleteFunc(all, func(s span) bool { return s.to == math.MaxInt64 })
}
