package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// tokenTerm is a token, as one event shows that it was given to somebody.
type tokenTerm struct {
	token    uint64
	node     string
	nonce    string
	from, to time.Duration // the grant happened between
	seq      int64
	granted  bool // from a grant's own call and return
}

// tokensIncrease decides whether a later term always has a larger token
// and no token serves two terms. A term is later if its grant was asked for
// after the other one had been given (real-time order); grants that overlap in
// time may have any order, except where the store's own record gives one.
// Terms of which only the belief was recorded are later if they began after
// the end of the other belief. Where terms have tokens each has one, and one that
// was granted: a token that somebody names must be found in the record of grants,
// as far as there is one.
//
// Sound. Complete for what the history shows: a term that nobody reported is
// not judged.
func tokensIncrease(x *facts) Finding {
	reports := 0
	for _, k := range x.backings {
		e := k.e
		terms := tokenTerms(e)
		reports += len(terms)
		for _, find := range []func() *Finding{
			func() *Finding { return sharedToken(terms) },
			func() *Finding { return fallingToken(terms) },
			func() *Finding { return fallingRecord(e) },
			func() *Finding { return fallingBelief(k) },
			func() *Finding { return repeatedBelief(e) },
			func() *Finding { return inventedToken(k) },
			func() *Finding { return missingToken(e) },
		} {
			if f := find(); f != nil {
				f.Reason += x.In(e)
				return *f
			}
		}
	}
	if reports == 0 {
		return finding.Nothing("the history has no token: this elector gives none, or nobody was elected")
	}
	return finding.Passed(fmt.Sprintf("in %s of a token to a term each term has its own, and later ones have larger ones", finding.Count(reports, "report")))
}

// tokenTerms are the grants, the elections and the store's own records that
// carry a token.
func tokenTerms(e *index.Election) []tokenTerm {
	var out []tokenTerm
	for _, o := range e.Ops {
		switch {
		case o.Call != history.Acquire:
		case o.Kind == history.Ok && o.Got != 0:
			out = append(out, tokenTerm{o.Got, o.Node, o.Nonce, o.Asked, o.To, o.Completed, true})
		case o.Kind == history.Fail: // most of them
		case o.Entry != nil && o.Entry.Applied && o.Entry.Token != 0:
			out = append(out, tokenTerm{o.Entry.Token, o.Node, o.Nonce, max(o.From, o.After), min(o.To, o.Before), o.Entry.Seq, true})
		}
	}
	for _, b := range e.Beliefs {
		if b.Token != 0 {
			out = append(out, tokenTerm{token: b.Token, node: b.By.Name, from: -index.Forever, to: b.From, seq: b.Begin})
		}
	}
	return out
}

// sharedToken finds a token that two nodes or two attempts got.
func sharedToken(terms []tokenTerm) *Finding {
	first := map[uint64][]tokenTerm{}
	for _, t := range terms {
		for _, u := range first[t.token] {
			if t.node == u.node && (t.nonce == u.nonce || t.nonce == "" || u.nonce == "") || t.node == "" || u.node == "" {
				continue
			}
			f := finding.Failed(fmt.Sprintf("token %d served two terms, of %s and of %s", t.token, u.node, t.node), u.seq, t.seq)
			return &f
		}
		if len(first[t.token]) < 4 {
			first[t.token] = append(first[t.token], t)
		}
	}
	return nil
}

// fallingToken finds a grant whose token is not larger than one that was given
// before it was first asked for. Equal tokens are sharedToken's matter: a
// repeated attempt gets its token again.
func fallingToken(terms []tokenTerm) *Finding {
	byEnd := slices.Clone(terms)
	slices.SortStableFunc(byEnd, func(a, b tokenTerm) int { return cmp.Compare(a.to, b.to) })
	highest := slices.Clone(byEnd)
	for i := 1; i < len(highest); i++ {
		if highest[i-1].token >= highest[i].token {
			highest[i] = highest[i-1]
		}
	}
	for _, t := range terms {
		if !t.granted {
			continue
		}
		i := sort.Search(len(byEnd), func(i int) bool { return byEnd[i].to >= t.from })
		if i > 0 && highest[i-1].token > t.token {
			h := highest[i-1]
			f := finding.Failed(fmt.Sprintf("%s got token %d at %s, after %s had token %d at %s",
				t.node, t.token, finding.Moment(t.to), h.node, h.token, finding.Moment(h.to)), h.seq, t.seq)
			return &f
		}
	}
	return nil
}

// fallingRecord finds, in the store's own order, a grant whose token is not
// larger than those before it.
func fallingRecord(e *index.Election) *Finding {
	var last *index.Entry
	for i := range e.Entries {
		a := &e.Entries[i]
		if a.Call != history.Acquire || !a.Applied || a.Token == 0 {
			continue
		}
		if last != nil && (a.Token < last.Token || a.Token == last.Token && a.Nonce != last.Nonce) {
			f := finding.Failed(fmt.Sprintf("the store granted token %d after token %d", a.Token, last.Token), last.Seq, a.Seq)
			return &f
		}
		last = a
	}
	return nil
}

// fallingBelief compares the terms of which no grant with a token was recorded
// with those that were over when they began. What the grants of two terms show is
// fallingToken's matter, and exact.
func fallingBelief(k *backing) *Finding {
	type end struct {
		b  *index.Belief
		at time.Duration
	}
	var byEnd []end
	claimed := func(b *index.Belief) bool { o := k.grant(b); return o == nil || o.Got == 0 }
	for _, b := range k.e.Beliefs {
		if b.Token != 0 && b.To > b.From {
			byEnd = append(byEnd, end{b, b.Over()})
		}
	}
	slices.SortStableFunc(byEnd, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	var highest, highestClaimed *index.Belief
	i := 0
	for _, b := range k.e.Beliefs {
		if b.Token == 0 {
			continue
		}
		for ; i < len(byEnd) && byEnd[i].at <= b.From; i++ {
			a := byEnd[i].b
			if a == b {
				continue
			}
			if highest == nil || a.Token > highest.Token {
				highest = a
			}
			if claimed(a) && (highestClaimed == nil || a.Token > highestClaimed.Token) {
				highestClaimed = a
			}
		}
		before := highestClaimed
		if claimed(b) {
			before = highest
		}
		if before != nil && before.Token > b.Token {
			f := finding.Failed(fmt.Sprintf("%s led with token %d from %s, after %s had led with token %d",
				b.By.Name, b.Token, finding.Moment(b.From), before.By.Name, before.Token), before.Begin, b.Begin)
			return &f
		}
	}
	return nil
}

// repeatedBelief finds a node that was elected twice to one token, or to a
// smaller one than before, or that went back to an older term: it must have
// known.
func repeatedBelief(e *index.Election) *Finding {
	latest := map[*index.Node]*index.Belief{}
	for _, b := range e.Beliefs {
		if b.Token == 0 {
			continue
		}
		a := latest[b.By]
		if a != nil && b.Token <= a.Token {
			f := finding.Failed(fmt.Sprintf("%s was elected with token %d at %s and with token %d again or later at %s",
				b.By.Name, a.Token, finding.Moment(a.From), b.Token, finding.Moment(b.From)), a.Begin, b.Begin)
			return &f
		}
		if a != nil {
			if c := a.Claims[len(a.Claims)-1]; c.Seq > b.Begin {
				f := finding.Failed(fmt.Sprintf("%s went on with token %d at %s, although it had been elected with token %d at %s",
					b.By.Name, a.Token, finding.Moment(c.At), b.Token, finding.Moment(b.From)), b.Begin, c.Seq)
				return &f
			}
		}
		latest[b.By] = b
	}
	return nil
}

// inventedToken finds a term with a token that nobody was granted.
func inventedToken(k *backing) *Finding {
	if len(k.granted) == 0 {
		return nil
	}
	for _, b := range k.e.Beliefs {
		if b.Token != 0 && !k.granted[b.Token] && k.unfounded(b) {
			f := finding.Failed(fmt.Sprintf("%s led with token %d from %s, which nobody was granted",
				b.By.Name, b.Token, finding.Moment(b.From)), b.Begin)
			return &f
		}
	}
	return nil
}

// missingToken finds a term without a token among terms that have one.
func missingToken(e *index.Election) *Finding {
	var with, without *index.Belief
	for _, b := range e.Beliefs {
		switch {
		case b.Inferred:
		case b.Token != 0 && with == nil:
			with = b
		case b.Token == 0 && without == nil:
			without = b
		}
	}
	if with == nil || without == nil {
		return nil
	}
	f := finding.Failed(fmt.Sprintf("%s led without a token from %s, and %s with token %d from %s",
		without.By.Name, finding.Moment(without.From), with.By.Name, with.Token, finding.Moment(with.From)), with.Begin, without.Begin)
	return &f
}
