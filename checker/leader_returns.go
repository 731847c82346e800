package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// leaderReturns decides whether, once every fault was off, somebody led
// within the bound and somebody went on leading to the end of the run: with no
// gap longer than the bound (a hand-over may take that long), and with none that
// add up to more than one bound in two. Where candidates write, only those lead
// whose writes are accepted; see facts.led. Obligations end with the run.
//
// Unknown if the history was never declared healed, has no election, or ended
// before the bound had passed while nobody led; and if the machine or the store
// was not up to the run while nobody led, so often that it never left the
// candidates a whole bound of time. Nor can anybody report whether a candidate leads
// that was granted the lease, where none ever says that it does.
func leaderReturns(x *facts) Finding {
	switch {
	case x.Healed == nil:
		return finding.Nothing("the history was never declared healed, so no leader is owed")
	case len(x.Elections) == 0:
		return finding.Nothing("the history has no election")
	case x.silent():
		return finding.Nothing("nobody said when it believes to lead")
	}
	var worst *Finding
	var wait time.Duration
	judged := 0
	for _, e := range x.Elections {
		if len(e.Beliefs) == 0 && len(e.Ops) == 0 {
			continue // writes alone make no election
		}
		judged++
		f, waited := x.returns(e)
		if worst = finding.Worse(worst, f); worst != nil && worst.Verdict == Fail {
			return *worst
		}
		wait = max(wait, waited)
	}
	switch {
	case judged == 0:
		return finding.Nothing("the history has no election, but writes alone")
	case worst != nil:
		return *worst
	}
	return finding.Passed(fmt.Sprintf("somebody led within %s of healing (bound %s) and somebody did to the end",
		finding.Span(wait), finding.Span(x.ReturnBound())))
}

// silent reports whether somebody was granted the lease, and nobody ever said when it
// believes to lead: then the record is of requests alone.
func (x *facts) silent() bool {
	granted := false
	for _, e := range x.Elections {
		if len(e.Beliefs) > 0 {
			return false
		}
		granted = granted || slices.ContainsFunc(e.Ops, func(o *index.Op) bool {
			return (o.Call == history.Acquire || o.Call == history.Renew) && o.Took()
		})
	}
	return granted
}

// returns decides it for one election and returns how long it took.
func (x *facts) returns(e *index.Election) (*Finding, time.Duration) {
	bound, from, end := x.ReturnBound(), x.Healed.At, x.RunEnd
	if end <= from {
		f := finding.Undecided(fmt.Sprintf("nothing is known of who led%s after healing at %s: the history ends there, before the bound of %s has passed",
			x.In(e), finding.Moment(from), finding.Span(bound)), x.Healed.Seq)
		return &f, 0
	}
	gaps := gapsOf(x.led(e), from, end)
	var undecided *Finding
	for _, g := range gaps {
		if g.To-g.From <= bound {
			continue
		}
		f := x.leaderless(e, g)
		if f.Verdict == Fail {
			return &f, 0
		}
		undecided = &f
	}
	if f := x.piecemeal(e, gaps); f != nil {
		undecided = finding.Worse(undecided, f)
	}
	switch {
	case undecided != nil:
		return undecided, 0
	case len(gaps) == 1 && gaps[0].From == from && gaps[0].To == end:
		f := finding.Undecided(fmt.Sprintf("nobody led%s after healing at %s, but the history ends %s later, before the bound of %s has passed",
			x.In(e), finding.Moment(from), finding.Span(end-from), finding.Span(bound)), x.Healed.Seq)
		return &f, 0
	case len(gaps) > 0 && gaps[0].From == from:
		return nil, gaps[0].To - from
	default:
		return nil, 0
	}
}

// gapsOf is what lies between the windows, which are in order and disjoint.
func gapsOf(led []index.Window, from, end time.Duration) []index.Window {
	var gaps []index.Window
	for _, w := range led {
		if w.To <= from {
			continue
		}
		if w.From >= end {
			break
		}
		if w.From > from {
			gaps = append(gaps, index.Window{From: from, To: w.From})
		}
		from = w.To
	}
	if from < end {
		gaps = append(gaps, index.Window{From: from, To: end})
	}
	return gaps
}

// piecemeal finds two bounds of time, after somebody first led, in which nobody
// did for more than one.
func (x *facts) piecemeal(e *index.Election, gaps []index.Window) *Finding {
	bound := x.ReturnBound()
	if len(gaps) > 0 && gaps[0].From == x.Healed.At {
		gaps = gaps[1:]
	}
	first := 0
	var sum time.Duration
	for i, g := range gaps {
		sum += g.To - g.From
		for first < i && g.To-gaps[first].From > 2*bound {
			sum -= gaps[first].To - gaps[first].From
			first++
		}
		if sum <= bound || first == i {
			continue
		}
		from := gaps[first].From
		if x.Disturbed(from, g.To) {
			f := finding.Undecided(fmt.Sprintf("somebody led%s now and then only from %s on, but the machine stalled, or the store was overloaded, meanwhile; "+
				"run it again on a calmer one", x.In(e), finding.Moment(from)), x.Healed.Seq)
			return &f
		}
		f := finding.Failed(fmt.Sprintf("nobody led%s for %s of the %s from %s on, after healing; the bound is %s",
			x.In(e), finding.Span(sum), finding.Span(g.To-from), finding.Moment(from), finding.Span(bound)), x.Healed.Seq)
		return &f
	}
	return nil
}

// leaderless is the finding that nobody led for longer than the bound, since
// somebody had done so or at all.
func (x *facts) leaderless(e *index.Election, g index.Window) Finding {
	bound := x.ReturnBound()
	if x.Undisturbed(g.From, g.To) <= bound {
		return finding.Undecided(fmt.Sprintf("nobody led%s for %s from %s, but the machine stalled, or the store was overloaded, meanwhile; run it again on a calmer one",
			x.In(e), finding.Span(g.To-g.From), finding.Moment(g.From)), x.Healed.Seq)
	}
	if b := idler(e, g); b != nil {
		return finding.Failed(fmt.Sprintf("%s believed%s that it led, but nobody got a write accepted for %s from %s, after healing; the bound is %s",
			finding.Who(b.By.Name, b.Token), x.In(e), finding.Span(g.To-g.From), finding.Moment(g.From), finding.Span(bound)), x.Healed.Seq, b.Begin)
	}
	if last := believer(e, g.From); last != nil && g.From > x.Healed.At {
		return finding.Failed(fmt.Sprintf("nobody led%s for %s after %s had stopped at %s, after healing; the bound is %s",
			x.In(e), finding.Span(g.To-g.From), finding.Who(last.By.Name, last.Token), finding.Moment(g.From), finding.Span(bound)), x.Healed.Seq, last.End)
	}
	return finding.Failed(fmt.Sprintf("nobody led%s for %s after healing at %s; the bound is %s",
		x.In(e), finding.Span(g.To-g.From), finding.Moment(g.From), finding.Span(bound)), x.Healed.Seq)
}

// idler is a belief that covers half of the gap: somebody led to no effect.
func idler(e *index.Election, g index.Window) *index.Belief {
	for _, b := range e.Terms {
		for _, s := range b.Spans {
			if min(s.To, g.To)-max(s.From, g.From) > (g.To-g.From)/2 {
				return b
			}
		}
	}
	return nil
}

// believer is a belief with a span that ends at t.
func believer(e *index.Election, t time.Duration) *index.Belief {
	for _, b := range e.Terms {
		for _, s := range b.Spans {
			if s.To == t {
				return b
			}
		}
	}
	return nil
}
