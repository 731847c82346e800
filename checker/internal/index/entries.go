package index

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// findAsked finds for every acquire the earliest one of the same attempt whose
// outcome is unknown.
func (e *Election) findAsked() {
	type attempt struct{ node, nonce string }
	var first map[attempt]time.Duration
	for _, o := range e.Ops { // by call
		if o.Call != history.Acquire {
			continue
		}
		o.Asked = o.From
		if first == nil && o.Kind != history.Info {
			continue
		}
		a := attempt{o.Node, o.Nonce}
		if t, ok := first[a]; ok {
			o.Asked = t
		} else if o.Kind == history.Info {
			if first == nil {
				first = map[attempt]time.Duration{}
			}
			first[a] = o.From
		}
	}
}

// joinEntries finds for every operation what the store recorded about it: by
// (call, nonce, try) where the elector numbers its requests, else by the first
// operation of the same call and token (or nonce) that has no entry yet.
//
// An entry mostly is about one of the few operations that were called before
// it and wait for theirs. Where none of them is the one, it is looked up among
// all.
func (e *Election) joinEntries(x *Index) {
	var waiting []*Op
	called := 0
	var all *unclaimed
	ops := e.Ops
	for i := range e.Entries {
		a := &e.Entries[i]
		if all == nil {
			for called < len(ops) && ops[called].From <= a.At && len(waiting) <= maxWaiting {
				if o := ops[called]; o.Call != history.Observe {
					waiting = append(waiting, o)
				}
				called++
			}
			for j, o := range waiting {
				if o.named(a) && o.fits(a) {
					o.Entry, a.Op = a, o
					waiting = slices.Delete(waiting, j, j+1)
					break
				}
			}
			if a.Op != nil {
				continue
			}
			all = newUnclaimed(ops)
		}
		if a.Op = all.claim(a); a.Op == nil && a.Applied {
			if a.Op = x.late(e, ops, a); a.Op == nil && x.ended(a.Node) {
				a.Op = x.lost(e, a)
			}
			if a.Op != nil {
				e.Ops = append(e.Ops, a.Op)
			}
		}
	}
	if len(e.Ops) > len(ops) {
		e.sort()
	}
}

// sort puts the operations on the lease in the order of their calls.
func (e *Election) sort() {
	slices.SortStableFunc(e.Ops, func(a, b *Op) int { return cmp.Compare(a.From, b.From) })
}

// late is a request to acquire that the store refused and granted after all, of which
// its caller has not heard, and perhaps of the refusal neither; nil if the entry is
// about none. Only a refusal that names a holder leaves a request that may be granted later,
// and a store that records refusals has recorded that one before.
func (x *Index) late(e *Election, ops []*Op, a *Entry) *Op {
	refusals := slices.ContainsFunc(e.Entries, func(a Entry) bool { return !a.Applied })
	for _, o := range ops {
		if a.Call != history.Acquire || o.Kind == history.Ok || !o.named(a) {
			continue
		}
		unrecorded := o.Entry == nil && refusals && !x.LossySince(o.From)
		if final := o.Holder == "" && o.Got == 0; o.Kind != history.Fail || !final && !unrecorded {
			late := x.lost(e, a)
			late.By, late.Node, late.From, late.TTL = o.By, o.Node, o.From, o.TTL
			return late
		}
	}
	return nil
}

// maxWaiting is how many operations may wait for their entries before it is
// quicker to index them all.
const maxWaiting = 64

// ended reports whether the node's process ended at some time; any process's, if
// the node is not known.
func (x *Index) ended(node string) bool {
	return slices.ContainsFunc(x.Nodes, func(n *Node) bool { return n.exited && (node == "" || node == n.Name) })
}

// named reports whether the entry names the very operation.
func (o *Op) named(a *Entry) bool {
	return o.Try == a.Try && o.Nonce == a.Nonce && o.Call == a.Call && o.Nonce != ""
}

// unclaimed are operations for which no entry was found so far.
type unclaimed struct {
	exact, rough map[claimKey][]*Op
}

type claimKey struct {
	call  history.Call
	nonce string
	try   uint64
	token uint64
}

func newUnclaimed(ops []*Op) *unclaimed {
	u := &unclaimed{map[claimKey][]*Op{}, map[claimKey][]*Op{}}
	for _, o := range ops {
		if o.Nonce != "" {
			k := claimKey{call: o.Call, nonce: o.Nonce, try: o.Try}
			u.exact[k] = append(u.exact[k], o)
		}
		if o.Nonce == "" || o.Try == 0 {
			k := claimKey{call: o.Call, token: cmp.Or(o.Token, o.Got)}
			u.rough[k] = append(u.rough[k], o)
		}
	}
	return u
}

func (u *unclaimed) claim(a *Entry) *Op {
	if o := claim(u.exact, claimKey{call: a.Call, nonce: a.Nonce, try: a.Try}, a); o != nil {
		return o
	}
	for _, token := range []uint64{a.Token, 0} {
		if o := claim(u.rough, claimKey{call: a.Call, token: token}, a); o != nil {
			return o
		}
	}
	return nil
}

// claim gives the entry to the first operation under the key that it fits.
func claim[K comparable](ops map[K][]*Op, k K, a *Entry) *Op {
	for len(ops[k]) > 0 && ops[k][0].Entry != nil {
		ops[k] = ops[k][1:] // keeps repeated claims linear
	}
	for _, o := range ops[k] {
		if o.Entry == nil && o.fits(a) {
			o.Entry = a
			return o
		}
	}
	return nil
}

// fits reports whether the store's entry can be about the operation.
func (o *Op) fits(a *Entry) bool {
	if o.Kind == history.Info {
		return o.Call == history.Acquire || o.Token == 0 || a.Token == 0 || o.Token == a.Token
	}
	if a.Applied != (o.Kind == history.Ok) {
		return false
	}
	if o.Call == history.Acquire {
		return o.Kind != history.Ok || o.Got == a.Token
	}
	return o.Token == 0 || a.Token == 0 || o.Token == a.Token
}

// lost is an operation whose invocation was lost together with its process:
// only the store's own record tells of it.
func (x *Index) lost(e *Election, a *Entry) *Op {
	return &Op{
		By: &Node{Name: a.Node}, Node: a.Node, Call: a.Call, Nonce: a.Nonce, Try: a.Try, Token: a.Token, TTL: x.Header.Lease,
		From: -Forever, To: Forever, Kind: history.Info, Invoked: a.Seq, Entry: a, At: e,
	}
}

// boundEntries finds for every entry the time in which it was made: not before
// a call whose entry comes earlier, not after a return whose entry comes later,
// nor after the end of the history, which has it.
func (e *Election) boundEntries(end time.Duration) {
	after, before := -Forever, end
	for i := range e.Entries {
		if o := e.Entries[i].Op; o != nil {
			after = max(after, o.From)
			o.After = after
		}
	}
	for i := range slices.Backward(e.Entries) {
		if o := e.Entries[i].Op; o != nil {
			before = min(before, o.To)
			o.Before = before
		}
	}
}

// LastUses is, by nonce, when the last operation that names it certainly was
// over; one of unknown outcome names it only when it is sent.
func (e *Election) LastUses() map[string]time.Duration {
	uses := map[string]time.Duration{}
	for _, o := range e.Ops {
		until := o.To
		switch {
		case o.Kind == history.Info && o.Entry != nil && o.Entry.Applied:
			until = o.Before
		case o.Kind == history.Info:
			until = o.From
		}
		if last, ok := uses[o.Nonce]; !ok || until > last {
			uses[o.Nonce] = until
		}
	}
	return uses
}

// RecordEnd is the earliest time at which the store can have made its last
// entry, and whether it made any: what its own record lacks came later, or the
// record is not what the store did.
func (e *Election) RecordEnd() (t time.Duration, recorded bool) {
	for i := range slices.Backward(e.Entries) {
		if a := &e.Entries[i]; a.Op != nil {
			return a.Op.After, true
		}
	}
	return -Forever, e.Audited()
}
