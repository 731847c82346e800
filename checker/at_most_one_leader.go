package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
)

// atMostOneLeader decides whether no two candidates believed at one time
// in the same election. It is decided from beliefs alone: a process that was
// paused past its deadline has broken nothing, because its belief ended by
// itself.
//
// Beliefs that were inferred from what a program asks of its store accuse, but
// acquit nobody: the program may believe for longer than the wire shows.
//
// An overlap that clock_error_ns can explain is none: beliefs of two nodes are
// stamped by two clocks. Nor is one that a line can explain that was read late:
// the belief may have ended before the line came. A sweep over the begins and ends, O(n log n); sound
// and complete up to the clock error.
func atMostOneLeader(x *facts) Finding {
	terms, inferred := 0, 0
	for _, e := range x.Elections {
		for _, b := range e.Beliefs {
			terms++
			if b.Inferred {
				inferred++
			}
		}
		if _, o := dualBelief(x.Index, e); o != nil {
			return finding.Failed(fmt.Sprintf("%s and %s both believed they led%s for %s, from %s",
				finding.Who(o.a.By.Name, o.a.Token), finding.Who(o.b.By.Name, o.b.Token), x.In(e), o.length(x.End), finding.Moment(o.w.From)),
				o.a.Begin, o.b.Begin)
		}
	}
	switch {
	case terms == 0:
		return finding.Nothing("nobody ever believed to lead")
	case inferred > 0:
		return finding.Undecided(fmt.Sprintf("the program does not say when it believes to lead; by what it asked of its lock (%s) no two led at one time, "+
			"but it may have believed for longer than its lease: have it print elected and deposed", finding.Count(inferred, "term")))
	default:
		return finding.Passed(finding.Count(terms, "term") + ", and no two candidates believed at one time")
	}
}

// overlapping are two beliefs and the time in which both were held.
type overlapping struct {
	a, b *index.Belief
	w    index.Window
}

// length is how long both were held, in words.
func (o *overlapping) length(end time.Duration) string {
	switch {
	case o.w.To < index.Forever:
		return finding.Span(o.w.To - o.w.From)
	case o.w.From >= end:
		return "as long as nobody deposes one of them"
	default:
		return finding.Span(end-o.w.From) + " and on"
	}
}

// edge is the begin or the end of a span of belief.
type edge struct {
	at   time.Duration
	side side
	b    *index.Belief
	span index.Window
}

// side is of a span. Ends come first: touching is not overlapping.
type side int

const (
	spanEnd side = iota
	spanBegin
)

// dualBelief sweeps over the spans of an election. It returns how long more
// than one node believed (stretches no longer than the clock error left out, and
// what has no end cut at the end of the history) and the first two that did.
func dualBelief(x *index.Index, e *index.Election) (time.Duration, *overlapping) {
	if len(e.Beliefs) < 2 {
		return 0, nil
	}
	var edges []edge
	for _, b := range e.Beliefs {
		for _, s := range b.Spans {
			if b.Late && s.To < index.Forever {
				s.To -= x.Patience()
			}
			if s.To > s.From {
				edges = append(edges, edge{s.From, spanBegin, b, s}, edge{s.To, spanEnd, b, s})
			}
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.side, b.side))
	})
	var first *overlapping
	var dual []index.Window
	var active []edge
	for _, next := range edges {
		if next.side == spanEnd {
			active = slices.DeleteFunc(active, func(a edge) bool { return a.b == next.b && a.span == next.span })
			continue
		}
		for _, a := range active {
			w := index.Window{From: next.at, To: min(a.span.To, next.span.To)}
			if a.b.By == next.b.By || w.To-w.From <= x.Header.ClockError {
				continue
			}
			if first == nil {
				first = &overlapping{a.b, next.b, w}
			}
			if w.To == index.Forever {
				w.To = max(w.From, x.End)
			}
			dual = append(dual, w)
		}
		active = append(active, next)
	}
	var sum time.Duration
	for _, w := range index.Merge(dual) {
		sum += w.To - w.From
	}
	return sum, first
}
