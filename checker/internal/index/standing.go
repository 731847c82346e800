package index

import (
	"cmp"
	"slices"

	"github.com/recount-io/recount/history"
)

// findGranted finds the attempts that were refused, stood, and were granted without
// their callers having heard of it: others saw their leases. Where the store keeps a
// record, that tells of them.
func (e *Election) findGranted() {
	if e.Audited() || !slices.ContainsFunc(e.Ops, func(o *Op) bool { return o.Stands }) {
		return
	}
	known := map[uint64]bool{} // tokens
	for _, o := range e.Ops {
		if o.Call == history.Acquire && o.Kind == history.Ok {
			known[o.Got] = true
		}
	}
	stood := map[string][]*Op{} // by node, those that were refused before
	byReturn := slices.Clone(e.Ops)
	slices.SortStableFunc(byReturn, func(a, b *Op) int { return cmp.Compare(a.To, b.To) })
	var found []*Op
	for _, o := range byReturn {
		if o.Saw() && o.Got != 0 && !known[o.Got] {
			if list := stood[o.Holder]; len(list) > 0 {
				known[o.Got] = true
				found = append(found, list[len(list)-1].again())
			}
		}
		if o.Stands {
			stood[o.Node] = append(stood[o.Node], o)
		}
	}
	e.Ops = append(e.Ops, found...)
	e.sort()
}

// again is the same request, of which nobody knows whether it was granted later.
func (o *Op) again() *Op {
	return &Op{
		By: o.By, Node: o.Node, Call: o.Call, Nonce: o.Nonce, Try: o.Try, TTL: o.TTL,
		From: o.From, To: Forever, Kind: history.Info, Invoked: o.Invoked, At: o.At,
	}
}
