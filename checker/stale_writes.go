package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// countWrites counts the writes to the protected resource. A write counts as
// stale if it was accepted although its writer was in no term, by its own account
// (see writeWithinTerm), or although somebody else led by then: another node
// certainly held the lease during the whole of an unfenced write, or a larger
// token than that of a fenced one had been given to another node before, or accepted.
func (x *facts) countWrites() WriteCounts {
	var n WriteCounts
	for _, e := range x.Elections {
		mine := slices.DeleteFunc(slices.Clone(x.held), func(h Holding) bool { return h.Election != e.Name })
		given, terms := newGiven(tokenTerms(e)), newOwn(e)
		all := accepted(e)
		highest := prefixMax(all, tokenOf)
		for _, o := range e.Writes {
			switch {
			case o.Restated:
			case o.Kind == history.Fail:
				n.Refused++
			case o.Kind == history.Ok:
				n.Accepted++
				surpassed := o.Token == 0 && heldByOther(e, o, mine) || o.Token != 0 && (given.surpassed(o) || outrun(all, highest, o) != nil)
				if surpassed || len(e.Beliefs) > 0 && terms.judge(x, o) != nil {
					n.StaleAccepted++
				}
			}
		}
	}
	return n
}

// heldByOther reports whether another node led during the whole operation: by
// the store, or, where the store was not watched, by its own belief alone.
func heldByOther(e *index.Election, o *index.Op, held []Holding) bool {
	if len(held) > 0 {
		i := sort.Search(len(held), func(i int) bool { return held[i].From > o.From })
		return i > 0 && held[i-1].To >= o.To && held[i-1].Node != o.Node && held[i-1].Node != ""
	}
	other := false
	for _, b := range e.Beliefs {
		for _, s := range b.Spans {
			if s.From <= o.From && o.To <= s.To {
				if b.By == o.By {
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

// surpassed reports whether another node had a larger token before the write
// arrived.
func (g *given) surpassed(o *index.Op) bool {
	i := sort.Search(len(g.terms), func(i int) bool { return g.terms[i].to >= o.From })
	if g.best[i].node != o.Node {
		return g.best[i].token > o.Token
	}
	return g.rival[i].token > o.Token
}
