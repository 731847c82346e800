package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// findAsked finds for every acquire the earliest one of the same attempt whose
// outcome is unknown.
func (e *election) findAsked() {
	type attempt struct{ node, nonce string }
	var first map[attempt]time.Duration
	for _, o := range e.ops { // by call
		if o.call != history.Acquire {
			continue
		}
		o.asked = o.from
		if first == nil && o.kind != history.Info {
			continue
		}
		a := attempt{o.node, o.nonce}
		if t, ok := first[a]; ok {
			o.asked = t
		} else if o.kind == history.Info {
			if first == nil {
				first = map[attempt]time.Duration{}
			}
			first[a] = o.from
		}
	}
}

// joinAudits finds for every operation what the store recorded about it: by
// (call, nonce, try) where the elector numbers its requests, else by the first
// operation of the same call and token (or nonce) that has no entry yet.
//
// An entry mostly is about one of the few operations that were called before
// it and wait for theirs. Where none of them is the one, it is looked up among
// all.
func (e *election) joinAudits(r *run) {
	e.auditOf = append(e.auditOf[:0], make([]*op, len(e.audits))...)
	waiting := r.work.waiting[:0]
	defer func() { r.work.waiting = waiting[:0] }()
	called := 0
	var all *unclaimed
	var recalled []*op
	recall := func(a *audit, exactly bool) *op {
		o := e.recall(a, exactly)
		if o != nil && !r.lossy() { // else it is there already
			recalled = append(recalled, o)
		}
		return o
	}
	for i := range e.audits {
		a := &e.audits[i]
		if all == nil {
			for called < len(e.ops) && e.ops[called].from <= a.at && len(waiting) <= maxWaiting {
				if o := e.ops[called]; o.call != history.Observe && !o.old {
					waiting = append(waiting, o)
				}
				called++
			}
			for j, o := range waiting {
				if o.named(a) && o.fits(a) {
					o.audit, e.auditOf[i] = a, o
					waiting = slices.Delete(waiting, j, j+1)
					break
				}
			}
			if e.auditOf[i] != nil {
				continue
			}
			if e.auditOf[i] = recall(a, true); e.auditOf[i] != nil {
				continue
			}
			all = newUnclaimed(e.ops)
		}
		e.auditOf[i] = all.claim(a)
		if e.auditOf[i] == nil {
			e.auditOf[i] = recall(a, false)
		}
		if e.auditOf[i] == nil && a.applied && (r.ended(a.node) || e.past.forgot) {
			e.auditOf[i] = r.lost(a)
			e.ops = append(e.ops, e.auditOf[i])
		}
	}
	if recalled != nil {
		byCall(recalled)
		e.ops = append(recalled, e.ops...)
	}
}

// recall gives the entry to an operation of unknown outcome from an earlier
// piece, which it names, or may name. The operation then belongs to this piece
// as well.
func (e *election) recall(a *audit, exactly bool) *op {
	for _, o := range e.past.unknowns {
		rough := o.call == a.call && (o.nonce == "" || o.try == 0) && (o.token == a.token || o.token == 0)
		if o.audit == nil && (o.named(a) || !exactly && rough) && o.fits(a) {
			o.audit = a
			return o
		}
	}
	return nil
}

// maxWaiting is how many operations may wait for their entries before it is
// quicker to index them all.
const maxWaiting = 64

// ended tells whether the node's process ended at some time; any process's, if
// the node is not known.
func (r *run) ended(node string) bool {
	if node == "" {
		return r.anyExit
	}
	return r.node(node).exited
}

// named tells whether the entry names the very operation.
func (o *op) named(a *audit) bool {
	return o.try == a.try && o.nonce == a.nonce && o.call == a.call && o.nonce != ""
}

// unclaimed are operations for which no entry was found so far.
type unclaimed struct {
	exact, rough map[claimKey][]*op
}

type claimKey struct {
	call  history.Call
	nonce string
	try   uint64
	token uint64
}

func newUnclaimed(ops []*op) *unclaimed {
	u := &unclaimed{map[claimKey][]*op{}, map[claimKey][]*op{}}
	for _, o := range ops {
		if o.old {
			continue // it is recalled
		}
		if o.nonce != "" {
			k := claimKey{call: o.call, nonce: o.nonce, try: o.try}
			u.exact[k] = append(u.exact[k], o)
		}
		if o.nonce == "" || o.try == 0 {
			k := claimKey{call: o.call, token: cmp.Or(o.token, o.got)}
			u.rough[k] = append(u.rough[k], o)
		}
	}
	return u
}

func (u *unclaimed) claim(a *audit) *op {
	if o := claim(u.exact, claimKey{call: a.call, nonce: a.nonce, try: a.try}, a); o != nil {
		return o
	}
	for _, token := range []uint64{a.token, 0} {
		if o := claim(u.rough, claimKey{call: a.call, token: token}, a); o != nil {
			return o
		}
	}
	return nil
}

// claim gives the entry to the first operation under the key that it fits.
func claim[K comparable](ops map[K][]*op, k K, a *audit) *op {
	for len(ops[k]) > 0 && ops[k][0].audit != nil {
		ops[k] = ops[k][1:] // keeps repeated claims linear
	}
	for _, o := range ops[k] {
		if o.audit == nil && o.fits(a) {
			o.audit = a
			return o
		}
	}
	return nil
}

// fits tells whether the store's entry can be about the operation.
func (o *op) fits(a *audit) bool {
	if o.kind == history.Info {
		return o.call == history.Acquire || o.token == 0 || a.token == 0 || o.token == a.token
	}
	if a.applied != (o.kind == history.Ok) {
		return false
	}
	if o.call == history.Acquire {
		return o.kind != history.Ok || o.got == a.token
	}
	return o.token == 0 || a.token == 0 || o.token == a.token
}

// lost is an operation whose invocation was lost together with its process:
// only the store's own record tells of it.
func (r *run) lost(a *audit) *op {
	return &op{
		by: r.node(a.node), node: a.node, call: a.call, nonce: a.nonce, try: a.try, token: a.token, ttl: r.header.Lease,
		from: -forever, to: forever, kind: history.Info, invoked: a.seq, audit: a,
	}
}

// boundAudits finds for every entry the time in which it was made: not before
// a call whose entry comes earlier, not after a return whose entry comes later.
func (e *election) boundAudits() {
	after, before := -forever, forever
	if e.past.audited {
		after = e.past.after
	}
	for _, o := range e.auditOf {
		if o != nil {
			after = max(after, o.from)
			o.after = after
		}
	}
	for _, o := range slices.Backward(e.auditOf) {
		if o != nil {
			before = min(before, o.to)
			o.before = before
		}
	}
}

// lastUse is when the last operation that names the nonce certainly was over;
// one of unknown outcome names it only when it is sent.
func (e *election) lastUse(nonce string) time.Duration {
	if e.nonceUse == nil {
		e.nonceUse = map[string]time.Duration{}
		for _, o := range e.ops {
			until := o.to
			switch {
			case o.kind == history.Info && o.audit != nil && o.audit.applied:
				until = o.before
			case o.kind == history.Info:
				until = o.from
			}
			if last, ok := e.nonceUse[o.nonce]; !ok || until > last {
				e.nonceUse[o.nonce] = until
			}
		}
	}
	return e.nonceUse[nonce]
}
