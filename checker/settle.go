package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

const (
	knownUnknowns = 256  // operations of unknown outcome that are remembered, by election
	knownFaults   = 1024 // ids of faults that are remembered
	knownStrays   = 4096 // numbers of operations that never completed
	knownEnded    = 1024 // terms that are over, by election
	knownTerms    = 8    // terms to which a node was elected
	openWrites    = 64   // writes of unknown outcome
)

// quiet tells whether the moment before an event at t may be a calm one: what
// can be told without joining anything. It is asked often.
func (r *run) quiet(t time.Duration) bool {
	patience := max(r.returnBound(), 2*r.header.Lease)
	if r.pending > 0 || r.on > 0 || t <= r.end+2*r.slack() || t <= r.calmed+patience {
		return false
	}
	for _, e := range r.elections {
		if !e.led(r.end) {
			return false
		}
	}
	for _, p := range r.nodes { // any order: all are asked
		if p.out && p.outAt+r.header.Lease >= r.end {
			return false // perhaps the run is about to end
		}
	}
	return true
}

// led tells whether exactly one node believes at t, the one that was elected
// last; nobody needs to where nobody ever tried.
func (e *election) led(t time.Duration) bool {
	if len(e.begun) == 0 {
		return len(e.called) == 0 && len(e.audits) == 0 && !e.audited()
	}
	last, believers := e.begun[len(e.begun)-1], 0
	for _, o := range e.open {
		if o != nil && o.until > t {
			if believers++; o.b != last {
				return false
			}
		}
	}
	return believers == 1
}

// settle makes of the piece, which was judged, what it leaves behind, by
// election. It tells whether the moment at its end is certainly calm.
func (r *run) settle() ([]past, bool) {
	left := make([]past, len(r.elections))
	for i, e := range r.elections {
		var calm bool
		if left[i], calm = r.settled(e, r.intervals[i]); !calm {
			return nil, false
		}
	}
	return left, true
}

func (r *run) settled(e *election, ls *leases) (past, bool) {
	p := past{audited: e.audited(), acquired: e.past.acquired, forgot: e.past.forgot, ended: e.past.ended, leads: len(e.begun)}
	if !p.audited && len(e.ops) > 0 {
		if r.seq < int64(r.shy) {
			return p, false // the store's own record may be read late
		}
		p.forgot = true // should it begin after all
	}
	for i, o := range e.auditOf {
		if o == nil && e.audits[i].applied {
			return p, false // its operation may still turn up
		}
	}
	if !e.keepWrites(&p) {
		return p, false
	}
	if len(e.begun) == 0 {
		return p, true
	}
	leader := e.beliefs[len(e.beliefs)-1]
	if seq, _ := e.serves(leader, len(e.writes) > 0); seq == 0 && !leader.old {
		return p, false
	}
	for _, o := range e.ops {
		p.acquired = p.acquired || o.call == history.Acquire
		switch {
		case o.call == history.Observe:
		case o.kind == history.Info && !p.audited:
			return p, false
		case o.kind == history.Ok && o.audit == nil && p.audited:
			return p, false
		case o.kind == history.Fail && o.call == history.Renew && o.token == leader.term.Token && o.node == leader.term.Node:
			return p, false // the leader has been told, and must be seen to heed it
		}
	}
	if len(e.ops) > 0 || e.past.lease != nil {
		l := ls.heldBy(&leader.term)
		if l == nil || l.held.to <= r.end || len(l.ends) > 0 {
			return p, false
		}
		p.keepLease(r, l)
		if len(r.leaseFaults()) > 0 && p.lease.known.from <= r.calmed {
			return p, false // a fault may have changed how long it lasts
		}
		p.keepStates(e, l)
	}
	e.keepTokens(&p)
	e.keepUnknowns(&p)
	return p, true
}

// heldBy is the lease of the term, if it is known well and the latest one.
func (ls *leases) heldBy(t *Term) *lease {
	for _, l := range ls.all {
		if l.token > t.Token {
			return nil
		}
	}
	same := ls.byToken[t.Token]
	if len(same) != 1 || same[0].holder != t.Node || same[0].grant == nil || len(same[0].writes) == 0 {
		return nil
	}
	return same[0]
}

// kept is a copy of the operation for the pieces to come.
func (o *op) kept() *op {
	c := *o
	c.old, c.audit, c.next = true, nil, nil
	return &c
}

// keepWrites keeps what later writes and reads are compared with: the largest
// token, the accepted write that was called last and those that overlap it,
// and those of unknown outcome. There must not be too many of these.
func (e *election) keepWrites(p *past) bool {
	var highest, last *op
	for _, o := range e.writes {
		if o.kind != history.Ok {
			continue
		}
		if highest == nil || o.token > highest.token {
			highest = o
		}
		if last == nil || o.from >= last.from {
			last = o
		}
	}
	unknowns := 0
	for _, o := range e.writes {
		switch {
		case o.kind == history.Info:
			unknowns++
		case o == highest, last != nil && o.kind == history.Ok && o.to >= last.from:
		default:
			continue
		}
		p.writes = append(p.writes, o.kept())
	}
	return unknowns <= openWrites
}

// keepLease keeps what the intervals know of the lease that is held.
func (p *past) keepLease(r *run, l *lease) {
	seen, written := l.shows[0], l.writes[0]
	for _, o := range l.shows {
		if o.from > seen.from {
			seen = o
		}
	}
	tolerance := r.epsilon()
	end := -forever
	for _, ops := range [][]*op{l.writes, l.maybes} {
		for _, o := range ops {
			if o.kind == history.Ok && o.from+o.ttl >= written.from+written.ttl {
				written = o
			}
			if o.took() {
				end = max(end, min(o.to, cmp.Or(o.before, o.to))+o.ttl+tolerance.of(o.ttl))
			}
		}
	}
	w := written.kept()
	p.lease = &lease{
		holder: l.holder, token: l.token, nonce: l.nonce, grant: l.grant.kept(),
		shows: []*op{l.heldBy.kept(), seen.kept()}, writes: []*op{w}, known: w, knownTo: min(end, l.could.to),
	}
}

// keepStates keeps where the search and the replay go on. Where one of them
// did not come to the end of the piece, it goes on with the lease that is
// certain.
func (p *past) keepStates(e *election, l *lease) {
	w := p.lease.known
	for _, s := range e.ends {
		if p.audited { // what took effect has its entry, or its effect is over
			s.pending = ""
		}
		p.states = append(p.states, s)
	}
	if p.states = reduce(p.states); len(p.states) == 0 {
		p.states = []leaseState{{
			live: true, holder: l.holder, nonce: l.nonce, token: l.token, last: l.token, ttl: w.ttl, a: w.from, b: w.to, now: w.from,
		}}
	}
	switch s := e.replayed; {
	case !p.audited:
	case s != nil && s.live && s.token == l.token && s.holder == l.holder:
		c := *s
		c.keeps, c.kept = false, false
		if c.op != nil {
			c.op = c.op.kept()
		}
		if c.by != nil {
			c.by = c.by.kept()
		}
		p.step = &c
	default:
		p.step = &step{
			lo: w.from, hi: w.to, op: w, live: true, holder: l.holder, nonce: l.nonce, token: l.token, ttl: w.ttl, a: w.from, b: w.to, by: w,
		}
	}
}

// keepTokens keeps the largest token and the last grant that the store
// recorded.
func (e *election) keepTokens(p *past) {
	var best *tokenTerm
	terms := e.tokenTerms()
	for i := range terms {
		if t := &terms[i]; best == nil || t.token > best.token || t.token == best.token && t.granted && !best.granted {
			best = t
		}
	}
	if best != nil {
		best.old = true
		p.tokens = []tokenTerm{*best}
	}
	p.recorded, p.after = e.past.recorded, e.past.after
	for _, o := range e.auditOf {
		if o != nil {
			p.after = max(p.after, o.after)
		}
	}
	for i := range e.audits {
		if a := &e.audits[i]; a.call == history.Acquire && a.applied && a.token != 0 {
			c := *a
			p.recorded = &c
		}
	}
}

// keepUnknowns keeps the operations of which the store may still record that
// they took effect.
func (e *election) keepUnknowns(p *past) {
	for _, o := range e.past.unknowns {
		if o.audit == nil {
			p.unknowns = append(p.unknowns, o)
		}
	}
	for _, o := range e.ops {
		if o.kind == history.Info && o.call != history.Observe && o.audit == nil && !o.old {
			p.unknowns = append(p.unknowns, o.kept())
		}
	}
	if n := len(p.unknowns) - knownUnknowns; n > 0 {
		p.unknowns, p.forgot = slices.Clone(p.unknowns[n:]), true
	}
}

// advance begins the next piece.
func (r *run) advance(left []past) {
	r.since = r.end
	for i, e := range r.elections {
		e.keepBeliefs(&left[i])
		left[i].leads = len(e.begun)
		e.past = left[i]
		clear(e.called)
		clear(e.written)
		clear(e.reads)
		clear(e.audits)
		e.called, e.written, e.reads, e.audits = e.called[:0], e.written[:0], e.reads[:0], e.audits[:0]
		e.ops, e.writes, e.auditOf, e.beliefs, e.replayed, e.ends = e.ops[:0], nil, e.auditOf[:0], e.beliefs[:0], nil, nil
	}
	for _, o := range r.calls {
		if o.completed != 0 {
			r.form.numbers.add(o.id)
		} else {
			r.form.strays.add(o.id)
		}
	}
	r.form.strays.limit(knownStrays)
	for _, f := range r.faults {
		for _, node := range f.targets {
			if f.suspends() {
				p := r.node(node)
				p.held = max(p.held, f.to)
			}
		}
		r.form.faults = append(r.form.faults, f.id)
	}
	if n := len(r.form.faults) - knownFaults; n > 0 {
		r.form.faults = slices.Delete(r.form.faults, 0, n)
	}
	for _, p := range r.nodes { // any order: each by itself
		if n := len(p.terms) - knownTerms; n > 0 {
			p.terms, p.older = slices.Delete(p.terms, 0, n), true
		}
	}
	clear(r.byID)
	clear(r.calls)
	r.calls, r.faults, r.harmful, r.intervals = r.calls[:0], nil, r.harmful[:0], nil
	r.events, r.unfinished, r.finished = 0, 0, false
	r.slab.reset()
	r.ops.reset()
}

// keepBeliefs keeps the last belief of every node: it may still report about
// it, or write in its name.
func (e *election) keepBeliefs(p *past) {
	var kept, ended []*belief
	for i := len(e.begun) - 1; i >= 0; i-- {
		b := e.begun[i]
		b.old = true
		if slices.ContainsFunc(kept, func(k *belief) bool { return k.by == b.by }) {
			b.spans = nil
			ended = append(ended, b)
			continue
		}
		b.spans = slices.Clone(b.spans[max(0, len(b.spans)-1):])
		kept = append(kept, b)
	}
	slices.Reverse(kept)
	slices.Reverse(ended)
	e.begun = kept
	p.ended = append(p.ended, ended...)
	if n := len(p.ended) - knownEnded; n > 0 {
		p.ended = slices.Delete(p.ended, 0, n)
	}
}

// burden is how much a piece begins with.
func (r *run) burden() int {
	n := 0
	for _, e := range r.elections {
		n += len(e.begun) + len(e.past.writes)
	}
	return n
}
