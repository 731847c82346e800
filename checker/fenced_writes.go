package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/recount-io/recount/history"
)

// checkFencedWrites decides whether the protected resource kept its own
// promise: it never accepts a token smaller than one it accepted before, it
// refuses only what it must, and a read sees the last accepted write. "Before"
// is real-time order: the return of one precedes the call of the other;
// operations that overlap may have had any order.
//
// Sound. It compares pairs and is complete for the order of tokens; reads are
// compared with writes, not with each other.
func checkFencedWrites(r *run, t *tally) *Finding {
	for _, e := range r.elections {
		for _, o := range e.writes {
			if o.token != 0 && o.kind != history.Info && !o.old {
				t.fenced++
			}
		}
		t.reads += len(e.reads)
		if len(e.writes)+len(e.reads) == 0 {
			continue
		}
		accepted := e.accepted()
		for _, find := range []func([]*op) *Finding{e.staleWrite, e.wrongRefusal, e.staleRead} {
			if f := find(accepted); f != nil {
				f.Reason += r.in(e)
				return f
			}
		}
	}
	return nil
}

// accepted are the accepted writes, by return.
func (e *election) accepted() []*op {
	out := slices.DeleteFunc(slices.Clone(e.writes), func(o *op) bool { return o.kind != history.Ok })
	compare := func(a, b *op) int { return cmp.Compare(a.to, b.to) }
	if !slices.IsSortedFunc(out, compare) {
		slices.SortStableFunc(out, compare)
	}
	return out
}

// prefixMax returns, for every i, the operation of ops[:i+1] with the largest
// key.
func prefixMax[K cmp.Ordered](ops []*op, key func(*op) K) []*op {
	out := make([]*op, len(ops))
	for i, o := range ops {
		out[i] = o
		if i > 0 && key(out[i-1]) >= key(o) {
			out[i] = out[i-1]
		}
	}
	return out
}

// before is how many of the operations, ordered by return, returned before t.
func before(ops []*op, t time.Duration) int {
	return sort.Search(len(ops), func(i int) bool { return ops[i].to >= t })
}

func tokenOf(o *op) uint64 { return o.token }

// staleWrite finds an accepted write with a smaller token than one accepted
// before it arrived.
func (e *election) staleWrite(accepted []*op) *Finding {
	highest := prefixMax(accepted, tokenOf)
	for _, o := range accepted {
		i := before(accepted, o.from)
		if o.token == 0 || i == 0 || highest[i-1].token <= o.token {
			continue
		}
		h := highest[i-1]
		f := fail(FencedWrites, fmt.Sprintf("the resource accepted a write of %s at %s after one of %s at %s",
			who(o.node, o.token), moment(o.to), who(h.node, h.token), moment(h.to)), h.seq(), o.seq())
		return &f
	}
	return nil
}

// wrongRefusal finds a refused write that no larger token justifies.
func (e *election) wrongRefusal([]*op) *Finding {
	var arrived []*op // writes that may have been accepted, by call
	for _, o := range e.writes {
		if o.kind != history.Fail {
			arrived = append(arrived, o)
		}
	}
	highest := prefixMax(arrived, tokenOf)
	for _, o := range e.writes {
		if o.kind != history.Fail || o.token == 0 || o.err != "" && o.fence == 0 {
			continue // unfenced, or failed for another reason
		}
		var most uint64
		if i := sort.Search(len(arrived), func(i int) bool { return arrived[i].from > o.to }); i > 0 {
			most = highest[i-1].token
		}
		why := ""
		switch {
		case o.fence != 0 && o.fence <= o.token:
			why = fmt.Sprintf("by the fence %d, which is not larger", o.fence)
		case most <= o.token:
			why = "although no larger token had arrived"
		case o.fence > most:
			why = fmt.Sprintf("by the fence %d, although the largest token that had arrived was %d", o.fence, most)
		}
		if why != "" {
			f := fail(FencedWrites, fmt.Sprintf("the resource refused a write of %s at %s %s",
				who(o.node, o.token), moment(o.to), why), o.seq())
			return &f
		}
	}
	return nil
}

// staleRead finds a read that did not see the last accepted write.
func (e *election) staleRead(accepted []*op) *Finding {
	byValue := map[string][]*op{}
	for _, o := range e.writes {
		if o.kind != history.Fail {
			byValue[o.value] = append(byValue[o.value], o)
		}
	}
	latest := prefixMax(accepted, func(o *op) time.Duration { return o.from })
	for _, o := range e.reads {
		if o.kind != history.Ok {
			continue
		}
		var last *op // of the writes over before the read, the one that began last
		if i := before(accepted, o.from); i > 0 {
			last = latest[i-1]
		}
		var source *op // of the writes that the read may have seen, the one that ended last
		for _, w := range byValue[o.value] {
			if w.from <= o.to && (o.got == 0 || w.token == 0 || w.token == o.got) && (source == nil || w.to > source.to) {
				source = w
			}
		}
		switch {
		case source == nil && o.value == "" && last == nil: // nothing had been written
		case source == nil && (o.value != "" || o.got != 0):
			f := fail(FencedWrites, fmt.Sprintf("%s read %q (token %d) at %s, which nobody had written", o.node, o.value, o.got, moment(o.to)), o.seq())
			return &f
		case source == nil, last != nil && source.to < last.from:
			f := fail(FencedWrites, fmt.Sprintf("%s read %q at %s after %s had written %q at %s",
				o.node, o.value, moment(o.to), who(last.node, last.token), last.value, moment(last.to)), last.seq(), o.seq())
			return &f
		}
	}
	return nil
}

// countWrites counts the writes to the protected resource. A write counts as
// stale if it was accepted although somebody else led by then: another node
// certainly held the lease during the whole of an unfenced write, or a larger
// token than that of a fenced one had been given to another node before.
func countWrites(r *run, held []Holding) WriteCounts {
	var n WriteCounts
	for _, e := range r.elections {
		mine := slices.DeleteFunc(slices.Clone(held), func(h Holding) bool { return h.Election != e.name })
		given := newGiven(e.tokenTerms())
		for _, o := range e.writes {
			switch {
			case o.old:
			case o.kind == history.Fail:
				n.Refused++
			case o.kind == history.Ok:
				n.Accepted++
				if o.token == 0 && e.heldByOther(o, mine) || o.token != 0 && given.surpassed(o) {
					n.StaleAccepted++
				}
			}
		}
	}
	return n
}

// heldByOther tells whether another node led during the whole operation: by
// the store, or, where the store was not watched, by its own belief alone.
func (e *election) heldByOther(o *op, held []Holding) bool {
	if len(held) > 0 {
		i := sort.Search(len(held), func(i int) bool { return held[i].From > o.from })
		return i > 0 && held[i-1].To >= o.to && held[i-1].Node != o.node && held[i-1].Node != ""
	}
	other := false
	for _, b := range e.beliefs {
		for _, s := range b.spans {
			if s.from <= o.from && o.to <= s.to {
				if b.term.Node == o.node {
					return false
				}
				other = true
			}
		}
	}
	return other
}

// given is which tokens certainly were given, by time: after the first i terms
// best[i] has the largest token, and rival[i] the largest of another node.
type given struct {
	terms       []tokenTerm
	best, rival []tokenTerm
}

func newGiven(terms []tokenTerm) *given {
	slices.SortStableFunc(terms, func(a, b tokenTerm) int { return cmp.Compare(a.to, b.to) })
	g := &given{terms: terms, best: make([]tokenTerm, len(terms)+1), rival: make([]tokenTerm, len(terms)+1)}
	for i, t := range terms {
		best, rival := g.best[i], g.rival[i]
		switch {
		case t.token > best.token && t.node == best.node:
			best = t
		case t.token > best.token:
			best, rival = t, best
		case t.token > rival.token && t.node != best.node:
			rival = t
		}
		g.best[i+1], g.rival[i+1] = best, rival
	}
	return g
}

// surpassed tells whether another node had a larger token before the write
// arrived.
func (g *given) surpassed(o *op) bool {
	i := sort.Search(len(g.terms), func(i int) bool { return g.terms[i].to >= o.from })
	if g.best[i].node != o.node {
		return g.best[i].token > o.token
	}
	return g.rival[i].token > o.token
}
