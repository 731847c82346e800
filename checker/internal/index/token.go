package index

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// byToken sorts operations by the token that they name. Those of one token are
// a chain through Op.next; an operation is in one index only.
type byToken struct {
	base   uint64
	dense  []chain
	sparse map[uint64]chain
}

type chain struct{ first, last *Op }

// Changes calls f with the operations that may have changed the lease of the
// term: those that took effect.
func (e *Election) Changes(b *Belief, f func(o *Op)) { e.byTerm.of(b, f) }

// Accepted calls f with the accepted writes that may be the term's: those with
// its token, and without one, and where it has none all that its node sent while
// it lasted.
func (e *Election) Accepted(b *Belief, f func(o *Op)) {
	if b.Token != 0 {
		e.wrote.of(b, f)
		return
	}
	first, _ := slices.BinarySearchFunc(e.Writes, b.From, func(o *Op, t time.Duration) int { return cmp.Compare(o.From, t) })
	for _, o := range e.Writes[first:] {
		if o.From > b.To {
			return
		}
		if o.By == b.By && o.Kind == history.Ok {
			f(o)
		}
	}
}

// changesByToken sorts the operations that took effect by the term that they
// belong to.
func (e *Election) changesByToken() *byToken {
	return newByToken(e.Ops, func(o *Op) (uint64, bool) {
		switch {
		case o.Call == history.Observe || !o.Took():
			return 0, false
		case o.Kind != history.Ok:
			return max(o.Token, o.Entry.Token), true
		default:
			return max(o.Token, o.Got), true
		}
	})
}

func newByToken(ops []*Op, token func(o *Op) (uint64, bool)) *byToken {
	t := &byToken{}
	for _, o := range ops {
		if k, ok := token(o); ok {
			o.next = nil
			c := t.chain(k)
			if c.first == nil {
				c.first = o
			} else {
				c.last.next = o
			}
			c.last = o
			t.put(k, c)
		}
	}
	return t
}

func (t *byToken) chain(token uint64) chain {
	if i := token - t.base; token >= t.base && i < uint64(len(t.dense)) {
		return t.dense[i]
	}
	return t.sparse[token]
}

func (t *byToken) put(token uint64, c chain) {
	if len(t.dense) == 0 && token != 0 {
		t.base = token
	}
	i, n := token-t.base, uint64(len(t.dense))
	switch {
	case token < t.base || token == 0 || i > n || i == n && t.sparse[token].first != nil:
		if t.sparse == nil {
			t.sparse = map[uint64]chain{}
		}
		t.sparse[token] = c
	case i == n:
		t.dense = append(t.dense, c)
	default:
		t.dense[i] = c
	}
}

// of calls f with the operations that may belong to the term: those of its
// node that name its token, and those that name none. A term without a token
// may be that of any operation of its node that names none either.
func (t *byToken) of(b *Belief, f func(o *Op)) {
	for o := t.chain(b.Token).first; o != nil; o = o.next {
		if o.By.Name == b.By.Name {
			f(o)
		}
	}
	if b.Token == 0 {
		return
	}
	for o := t.chain(0).first; o != nil; o = o.next {
		if o.By.Name == b.By.Name {
			f(o)
		}
	}
}
