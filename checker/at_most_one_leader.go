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
// the belief may have ended before the line came. Terms of one node that follow each
// other without a gap are one belief here. A sweep over the begins and ends,
// O(n log n); sound and complete up to the clock error.
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

// stretch is a time in which a node believed without a gap, in one term or in several
// of them.
type stretch struct {
	index.Window
	by     *index.Node
	pieces []piece
	last   *index.Belief // that reaches furthest
	sure   time.Duration // to where terms reach of which no line was read late
}

// piece is a span of one belief.
type piece struct {
	index.Window
	b *index.Belief
}

// stretches are the times in which the nodes believed. What is ended by a line that
// was read late may have ended earlier, but not what the node went on with by being
// elected again: many a program without tokens says in each round that it leads.
func stretches(x *index.Index, e *index.Election) []*stretch {
	byNode := map[*index.Node][]piece{}
	var nodes []*index.Node // in the order in which they were elected
	for _, b := range e.Beliefs {
		if byNode[b.By] == nil {
			nodes = append(nodes, b.By)
		}
		for _, s := range b.Spans {
			byNode[b.By] = append(byNode[b.By], piece{s, b})
		}
	}
	var all []*stretch
	for _, n := range nodes {
		pieces := byNode[n]
		slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(a.From, b.From) })
		var s *stretch
		for _, p := range pieces {
			if s == nil || !s.goesOn(p, x.Patience()) {
				s = &stretch{Window: index.Window{From: p.From, To: p.From}, by: n}
				all = append(all, s)
			}
			s.add(p)
		}
	}
	for _, s := range all {
		if s.last.Late && s.To < index.Forever {
			s.To = max(s.sure, s.To-x.Patience())
		}
	}
	return all
}

// goesOn reports whether the node certainly went on believing with the piece. The
// deadline that the node reported may have been reported late as well.
func (s *stretch) goesOn(p piece, patience time.Duration) bool {
	switch {
	case p.From > s.To:
		return false
	case !s.last.Late:
		return true
	}
	until := s.last.Claims[len(s.last.Claims)-1].Until
	return s.last.Next() == p.b && until-patience >= p.From
}

func (s *stretch) add(p piece) {
	s.pieces = append(s.pieces, p)
	if s.last == nil || p.To >= s.To { // a deadline may lie before the belief
		s.To, s.last = max(s.To, p.To), p.b
	}
	if !p.b.Late {
		s.sure = max(s.sure, p.To)
	}
}

// at is the belief of the stretch at t: the last one that had begun, and lasted.
func (s *stretch) at(t time.Duration) *index.Belief {
	b := s.pieces[0].b
	for _, p := range s.pieces {
		if p.From <= t && t < p.To {
			b = p.b
		}
	}
	return b
}

// edge is the begin or the end of a stretch.
type edge struct {
	at   time.Duration
	side side
	s    *stretch
}

// side is of a stretch. Ends come first: touching is not overlapping.
type side int

const (
	stretchEnd side = iota
	stretchBegin
)

// dualBelief sweeps over the beliefs of an election. It returns how long more
// than one node believed (stretches no longer than the clock error left out, and
// what has no end cut at the end of the history) and the first two that did.
func dualBelief(x *index.Index, e *index.Election) (time.Duration, *overlapping) {
	if len(e.Beliefs) < 2 {
		return 0, nil
	}
	var edges []edge
	for _, s := range stretches(x, e) {
		if s.To > s.From {
			edges = append(edges, edge{s.From, stretchBegin, s}, edge{s.To, stretchEnd, s})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.side, b.side))
	})
	var first *overlapping
	var dual []index.Window
	var active []*stretch
	for _, next := range edges {
		if next.side == stretchEnd {
			active = slices.DeleteFunc(active, func(s *stretch) bool { return s == next.s })
			continue
		}
		for _, s := range active {
			w := index.Window{From: next.at, To: min(s.To, next.s.To)}
			if s.by == next.s.by || w.To-w.From <= x.Header.ClockError {
				continue
			}
			if first == nil {
				first = &overlapping{s.at(w.From), next.s.at(w.From), w}
			}
			if w.To == index.Forever {
				w.To = max(w.From, x.End)
			}
			dual = append(dual, w)
		}
		active = append(active, next.s)
	}
	var sum time.Duration
	for _, w := range index.Merge(dual) {
		sum += w.To - w.From
	}
	return sum, first
}
