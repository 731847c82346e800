package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// checkLeaderReturns decides whether, once every fault was off, somebody led
// within the bound and somebody went on leading to the end of the run, with no
// gap longer than the bound (a hand-over may take that long). Obligations end
// with the run: when the harness begins to stop the candidates, or with the
// last event.
//
// Unknown if the history was never declared healed, has no election, or ended
// before the bound had passed while nobody led; and if the machine held up the
// run while nobody led, so often that it never left the candidates a whole bound
// of time.
func checkLeaderReturns(r *run, t *tally) *Finding {
	if r.healed == nil {
		return nil
	}
	var undecided *Finding
	for _, e := range r.elections {
		if len(e.beliefs) == 0 && len(e.ops) == 0 {
			continue // writes alone make no election
		}
		f, wait := r.leaderReturns(e)
		switch f.Verdict {
		case Fail:
			return &f
		case Unknown:
			undecided = &f
		}
		if r.healed.at >= r.since {
			t.wait = max(t.wait, wait)
		}
	}
	return undecided
}

// leaderReturns decides it for one election and returns how long it took.
func (r *run) leaderReturns(e *election) (Finding, time.Duration) {
	bound, from := r.returnBound(), max(r.healed.at, r.since)
	end := max(r.curtain, from)
	gapFrom, wait := from, time.Duration(-1)
	led := false // so that gapFrom is the end of a belief
	var excused *Finding
	for _, w := range merge(e.spans()) {
		if w.to <= from {
			continue
		}
		if w.from >= end {
			break
		}
		if gap := w.from - gapFrom; gap > bound {
			f := r.leaderless(e, led, gapFrom, w.from)
			if f.Verdict == Fail {
				return f, 0
			}
			excused = &f
		}
		if wait < 0 {
			wait = max(0, w.from-from)
		}
		gapFrom, led = w.to, true
	}
	switch {
	case end-gapFrom > bound:
		return r.leaderless(e, led, gapFrom, end), 0
	case excused != nil:
		return *excused, 0
	case wait < 0:
		return unknown(LeaderReturns, fmt.Sprintf("nobody led%s after healing at %s, but the history ends %s later, before the bound of %s has passed",
			r.in(e), moment(from), span(end-from), span(bound)), r.healed.seq), 0
	default:
		return Finding{Verdict: Pass}, wait
	}
}

// leaderless is the finding that nobody led for longer than the bound, since
// somebody had done so or at all.
func (r *run) leaderless(e *election, led bool, from, to time.Duration) Finding {
	if r.undisturbed(from, to) <= r.returnBound() {
		return unknown(LeaderReturns, fmt.Sprintf("nobody led%s for %s from %s, but the machine stalled meanwhile; run it again on a calmer one",
			r.in(e), span(to-from), moment(from)), r.healed.seq)
	}
	var last *belief
	if led {
		last = e.believer(from)
	}
	if last == nil {
		return fail(LeaderReturns, fmt.Sprintf("nobody led%s for %s after healing at %s; the bound is %s",
			r.in(e), span(to-from), moment(from), span(r.returnBound())), r.healed.seq)
	}
	return fail(LeaderReturns, fmt.Sprintf("nobody led%s for %s after %s had stopped at %s, after healing; the bound is %s",
		r.in(e), span(to-from), who(last.term.Node, last.term.Token), moment(from), span(r.returnBound())), r.healed.seq, last.term.End)
}

// undisturbed is the longest time in the window in which the machine did not
// hold up the run.
func (r *run) undisturbed(from, to time.Duration) (longest time.Duration) {
	stalls := slices.SortedFunc(slices.Values(r.stalls()), func(a, b *fault) int { return cmp.Compare(a.from, b.from) })
	for _, f := range stalls {
		longest = max(longest, min(f.from, to)-from)
		from = max(from, f.to)
	}
	return max(longest, to-from)
}

// believer is a belief with a span that ends at t.
func (e *election) believer(t time.Duration) *belief {
	for _, b := range e.beliefs {
		for _, s := range b.spans {
			if s.to == t {
				return b
			}
		}
	}
	return nil
}

// leads tells whether the term was ended by nobody's wish but the run's.
func (t *Term) leads() bool { return t.Why == "" }

// graceful tells whether the term was given up on purpose.
func (t *Term) graceful() bool {
	return t.Why == string(history.Resigned) || t.Why == string(history.Stopped)
}
