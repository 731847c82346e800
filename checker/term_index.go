package checker

import "github.com/recount-io/recount/history"

// termIndex sorts operations by the token that they name. Those of one token
// are a chain through op.next; an operation is in one index only.
type termIndex struct {
	base   uint64
	dense  []chain
	sparse map[uint64]chain
}

type chain struct{ first, last *op }

// terms sorts the operations that took effect by the term that they belong to.
func (e *election) terms() *termIndex {
	if e.byTerm == nil {
		e.byTerm = newTermIndex(e.ops, func(o *op) (uint64, bool) {
			switch {
			case o.call == history.Observe || !o.took():
				return 0, false
			case o.kind != history.Ok:
				return max(o.token, o.audit.token), true
			default:
				return max(o.token, o.got), true
			}
		})
	}
	return e.byTerm
}

// changes calls f with the operations that may have changed the lease of the
// term, the last write of earlier pieces among them.
func (e *election) changes(t *Term, f func(o *op)) {
	if l := e.past.lease; l != nil && l.holder == t.Node && l.token == t.Token {
		f(l.known)
	}
	e.terms().of(t, f)
}

// writesByTerm sorts the accepted writes.
func (e *election) writesByTerm() *termIndex {
	if e.writesOf == nil {
		e.writesOf = newTermIndex(e.writes, func(o *op) (uint64, bool) { return o.token, o.kind == history.Ok })
	}
	return e.writesOf
}

func newTermIndex(ops []*op, token func(o *op) (uint64, bool)) *termIndex {
	t := &termIndex{}
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

func (t *termIndex) chain(token uint64) chain {
	if i := token - t.base; token >= t.base && i < uint64(len(t.dense)) {
		return t.dense[i]
	}
	return t.sparse[token]
}

func (t *termIndex) put(token uint64, c chain) {
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
func (t *termIndex) of(term *Term, f func(o *op)) {
	for o := t.chain(term.Token).first; o != nil; o = o.next {
		if o.node == term.Node {
			f(o)
		}
	}
	if term.Token == 0 {
		return
	}
	for o := t.chain(0).first; o != nil; o = o.next {
		if o.node == term.Node {
			f(o)
		}
	}
}
