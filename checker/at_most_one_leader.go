package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// checkAtMostOneLeader decides whether no two candidates believed at one time
// in the same election, and sums the time in which they did. It is decided
// from beliefs alone: a process that was paused past its deadline has broken
// nothing, because its belief ended by itself.
//
// Beliefs that were inferred from what a program asks of its store accuse, but
// acquit nobody: the program may believe for longer than the wire shows.
//
// An overlap that clock_error_ns can explain is none: beliefs of two nodes are
// stamped by two clocks. A sweep over the begins and ends, O(n log n); sound
// and complete up to the clock error.
func checkAtMostOneLeader(r *run, t *tally) *Finding {
	var first *Finding
	for _, e := range r.elections {
		for _, b := range e.beliefs {
			if !b.old {
				t.terms++
			}
			if !b.old && b.inferred {
				t.inferred++
			}
		}
		d, o := dualBelief(e, r.since, r.header.ClockError)
		t.dual += d
		if o != nil && first == nil {
			f := fail(AtMostOneLeader, fmt.Sprintf("%s and %s both believed they led%s for %s, from %s",
				who(o.a.term.Node, o.a.term.Token), who(o.b.term.Node, o.b.term.Token), r.in(e),
				span(o.w.to-o.w.from), moment(o.w.from)), o.a.term.Begin, o.b.term.Begin)
			first = &f
		}
	}
	return first
}

// overlapping are two beliefs and the time in which both were held.
type overlapping struct {
	a, b *belief
	w    window
}

// edge is the begin or the end of a span of belief.
type edge struct {
	at    time.Duration
	begin bool
	b     *belief
	span  window
}

// dualBelief sweeps over the spans of an election. It returns how long more
// than one node believed (stretches no longer than the tolerance left out, nor
// those that began before since) and the first two that did.
func dualBelief(e *election, since, tolerance time.Duration) (time.Duration, *overlapping) {
	if len(e.beliefs) < 2 {
		return 0, nil
	}
	var edges []edge
	for _, b := range e.beliefs {
		for _, s := range b.spans {
			if s.to > s.from {
				edges = append(edges, edge{s.from, true, b, s}, edge{s.to, false, b, s})
			}
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), boolCompare(a.begin, b.begin)) // ends first: touching is not overlapping
	})
	var first *overlapping
	var dual []window
	var active []edge
	for _, x := range edges {
		if !x.begin {
			active = slices.DeleteFunc(active, func(a edge) bool { return a.b == x.b && a.span == x.span })
			continue
		}
		for _, a := range active {
			w := window{x.at, min(a.span.to, x.span.to)}
			if a.b.term.Node == x.b.term.Node || w.to-w.from <= tolerance || w.from < since {
				continue
			}
			dual = append(dual, w)
			if first == nil {
				first = &overlapping{a.b, x.b, w}
			}
		}
		active = append(active, x)
	}
	var sum time.Duration
	for _, w := range merge(dual) {
		sum += w.to - w.from
	}
	return sum, first
}

// boolCompare orders false before true.
func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
