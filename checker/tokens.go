package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

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
	old      bool // of an earlier piece
}

// checkTokensIncrease decides whether a later term always has a larger token
// and no token serves two terms. A term is later if its grant was asked for
// after the other one had been given (real-time order); grants that overlap in
// time may have any order, except where the store's own record gives one.
// Terms of which only the belief was recorded are later if they began after
// the end of the other belief.
//
// Sound. Complete for what the history shows: a term that nobody reported is
// not judged.
func checkTokensIncrease(r *run, t *tally) *Finding {
	for _, e := range r.elections {
		terms := e.tokenTerms()
		for i := range terms {
			if !terms[i].old {
				t.reports++
			}
		}
		for _, find := range []func([]tokenTerm) *Finding{sharedToken, fallingToken} {
			if f := find(terms); f != nil {
				f.Reason += r.in(e)
				return f
			}
		}
		for _, find := range []func() *Finding{e.fallingRecord, e.fallingBelief, e.repeatedBelief} {
			if f := find(); f != nil {
				f.Reason += r.in(e)
				return f
			}
		}
	}
	return nil
}

// tokenTerms are the grants, the elections and the store's own records that
// carry a token.
func (e *election) tokenTerms() []tokenTerm {
	out := slices.Clone(e.past.tokens)
	for _, o := range e.ops {
		switch {
		case o.call != history.Acquire:
		case o.kind == history.Ok && o.got != 0:
			out = append(out, tokenTerm{o.got, o.node, o.nonce, o.asked, o.to, o.completed, true, false})
		case o.kind == history.Fail: // most of them
		case o.audit != nil && o.audit.applied && o.audit.token != 0:
			out = append(out, tokenTerm{o.audit.token, o.node, o.nonce, max(o.from, o.after), min(o.to, o.before), o.audit.seq, true, false})
		}
	}
	for _, b := range e.beliefs {
		if t := &b.term; t.Token != 0 {
			out = append(out, tokenTerm{token: t.Token, node: t.Node, from: -forever, to: t.From, seq: t.Begin, old: b.old})
		}
	}
	return append(e.past.endedTerms(out), out...)
}

// endedTerms are the terms of earlier pieces whose tokens one of the terms has
// again, smaller than the largest one: there should be none.
func (p *past) endedTerms(terms []tokenTerm) []tokenTerm {
	var out []tokenTerm
	for i := range terms {
		if len(p.tokens) == 0 || terms[i].old || terms[i].token >= p.tokens[0].token {
			continue
		}
		for _, b := range p.ended {
			if t := &b.term; t.Token == terms[i].token {
				out = append(out, tokenTerm{token: t.Token, node: t.Node, from: -forever, to: t.From, seq: t.Begin, old: true})
			}
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
			f := fail(TokensIncrease, fmt.Sprintf("token %d served two terms, of %s and of %s", t.token, u.node, t.node), u.seq, t.seq)
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
		if !t.granted || t.old {
			continue
		}
		i := sort.Search(len(byEnd), func(i int) bool { return byEnd[i].to >= t.from })
		if i > 0 && highest[i-1].token > t.token {
			h := highest[i-1]
			f := fail(TokensIncrease, fmt.Sprintf("%s got token %d at %s, after %s had token %d at %s",
				t.node, t.token, moment(t.to), h.node, h.token, moment(h.to)), h.seq, t.seq)
			return &f
		}
	}
	return nil
}

// fallingRecord finds, in the store's own order, a grant whose token is not
// larger than those before it.
func (e *election) fallingRecord() *Finding {
	last := e.past.recorded
	for i := range e.audits {
		a := &e.audits[i]
		if a.call != history.Acquire || !a.applied || a.token == 0 {
			continue
		}
		if last != nil && (a.token < last.token || a.token == last.token && a.nonce != last.nonce) {
			f := fail(TokensIncrease, fmt.Sprintf("the store granted token %d after token %d", a.token, last.token), last.seq, a.seq)
			return &f
		}
		last = a
	}
	return nil
}

// fallingBelief compares terms of which no grant was recorded.
func (e *election) fallingBelief() *Finding {
	if e.past.acquired || len(e.beliefs) < 2 {
		return nil
	}
	for _, o := range e.ops {
		if o.call == history.Acquire {
			return nil // the grants tell it exactly
		}
	}
	byEnd := slices.DeleteFunc(slices.Clone(e.beliefs), func(b *belief) bool { return b.term.Token == 0 })
	byBegin := slices.Clone(byEnd)
	slices.SortStableFunc(byEnd, func(a, b *belief) int { return cmp.Compare(a.term.To, b.term.To) })
	var highest *belief
	i := 0
	for _, b := range byBegin {
		for ; i < len(byEnd) && byEnd[i].term.To <= b.term.From; i++ {
			if byEnd[i] != b && (highest == nil || byEnd[i].term.Token > highest.term.Token) {
				highest = byEnd[i]
			}
		}
		if highest != nil && highest.term.Token > b.term.Token {
			f := fail(TokensIncrease, fmt.Sprintf("%s led with token %d from %s, after %s had led with token %d",
				b.term.Node, b.term.Token, moment(b.term.From), highest.term.Node, highest.term.Token), highest.term.Begin, b.term.Begin)
			return &f
		}
	}
	return nil
}

// repeatedBelief finds a node that was elected twice to one token, or to a
// smaller one than before: it must have known.
func (e *election) repeatedBelief() *Finding {
	if len(e.beliefs) < 2 {
		return nil
	}
	latest := map[string]*belief{}
	for _, b := range e.beliefs {
		if b.term.Token == 0 {
			continue
		}
		if a := latest[b.term.Node]; a != nil && b.term.Token <= a.term.Token {
			f := fail(TokensIncrease, fmt.Sprintf("%s was elected with token %d at %s and with token %d again or later at %s",
				b.term.Node, a.term.Token, moment(a.term.From), b.term.Token, moment(b.term.From)), a.term.Begin, b.term.Begin)
			return &f
		}
		latest[b.term.Node] = b
	}
	return nil
}
