package checker

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/recount-io/recount/history"
)

// checkStoreOrder is the second checker of LeaseLinearizable: it replays what
// the store recorded about itself. A store that runs one command at a time
// records in the very order in which the operations took effect, so this order
// is the linearization and no search is needed: the replay follows it and asks
// whether the times allow every step and every answer. It also knows what
// became of the operations whose outcome their callers never learned.
//
// Every ok acquire, renew and release must have exactly one applied entry, no
// failed one may have any, and an applied entry must have an operation (or a
// process that was killed before it could report the operation). Operations
// that changed nothing are placed into the order by their times, each on its
// own.
//
// Unknown without audit events, and where a fault may have removed entries
// together with leases and one is missing.
func checkStoreOrder(r *run, t *tally) *Finding {
	for _, e := range r.elections {
		e.replayed = nil
		if !e.audited() {
			continue
		}
		if f := missingEntry(r, e); f != nil {
			return f
		}
		p := &replay{r: r, e: e, steps: r.work.steps[:0], faults: r.leaseFaults(), tolerance: r.epsilon()}
		f := p.run()
		r.work.steps = p.steps[:0]
		if f != nil {
			f.Reason += r.in(e)
			return f
		}
		last := p.steps[len(p.steps)-1]
		e.replayed = &last
		t.replayed += p.applied
	}
	return nil
}

// missingEntry finds an operation that took effect without the store's record
// of it.
func missingEntry(r *run, e *election) *Finding {
	for _, o := range e.ops {
		if o.kind != history.Ok || o.call == history.Observe || o.audit != nil || o.old {
			continue
		}
		if r.lossy() {
			f := unknown(LeaseLinearizable, "a fault may have removed the store's own record; it lacks operation "+fmt.Sprint(o.id), o.seq())
			return &f
		}
		return leaseFail(nil, o, "%s of %s succeeded at %s but the store has no record of it", o.call, o.node, moment(o.to))
	}
	return nil
}

// step is the state of the lease after one entry.
type step struct {
	lo, hi time.Duration // when the entry was made
	op     *op
	live   bool
	holder string
	nonce  string
	token  uint64
	ttl    time.Duration
	a, b   time.Duration // when the lease was last written
	by     *op           // by whom
	keeps  bool          // the entry found the lease of the step before alive
	kept   bool          // a later entry will find this step's lease alive
}

type replay struct {
	r      *run
	e      *election
	steps  []step   // first the state before any entry
	faults []*fault // those that touch leases
	tolerance

	applied int // how many entries changed the lease
}

func (p *replay) run() *Finding {
	current := step{lo: -forever, hi: forever}
	last := uint64(0)
	if s := p.e.past.step; s != nil {
		current = *s
		last = s.token
	}
	p.steps = append(p.steps, current)
	for i := range p.e.audits {
		a, o := &p.e.audits[i], p.e.auditOf[i]
		if o == nil && !a.applied {
			continue
		}
		if o == nil {
			f := fail(LeaseLinearizable, fmt.Sprintf("the store applied %s (%s), which no recorded operation explains",
				a.call, who(a.node, a.token)), a.seq)
			return &f
		}
		next := step{lo: max(current.lo, o.from), hi: o.before, op: o}
		if next.lo > next.hi {
			return leaseFail(current.op, o, "the store's order puts %s of %s before %s at the latest, but it came after %s",
				o.call, o.node, moment(next.hi), moment(next.lo))
		}
		var f *Finding
		if a.applied {
			p.applied++
			f = p.apply(&current, &next, a, &last)
		} else {
			f = p.refuse(&current, &next)
		}
		if f != nil {
			return f
		}
		p.steps = append(p.steps, next)
		current = next
	}
	p.lookBack()
	for _, o := range p.e.ops {
		if o.audit != nil || o.kind == history.Info {
			continue // its place is known, or nobody heard an answer
		}
		if f := p.placeAnswer(o); f != nil {
			return f
		}
	}
	return nil
}

// lookBack finds which leases later entries found alive.
func (p *replay) lookBack() {
	for k := len(p.steps) - 2; k >= 0; k-- {
		s, next := &p.steps[k], &p.steps[k+1]
		untouched := s.live && next.live && s.by == next.by
		s.kept = next.keeps || untouched && next.kept
	}
}

// refuse makes next the state after an entry that changed nothing.
func (p *replay) refuse(current, next *step) *Finding {
	o := next.op
	next.live, next.holder, next.nonce, next.token, next.ttl = current.live, current.holder, current.nonce, current.token, current.ttl
	next.a, next.b, next.by = current.a, current.b, current.by
	if o.kind == history.Info || o.otherReason() {
		return nil // nobody heard an answer
	}
	written := current.by
	if o.call == history.Acquire {
		own := o.nonce != "" && o.nonce == current.nonce && current.holder == o.node
		if !current.live || own || !current.is(o.holder, o.got) || next.lo > p.lastEnd(current, next.lo) {
			return leaseFail(written, o, "the store refused %s at %s (%s), but its own record says otherwise", o.node, moment(o.to), answer(o))
		}
		next.keeps = true
		next.b = min(next.b, next.hi)
		if !p.lengthened() {
			next.a = max(next.a, next.lo-next.ttl-p.of(next.ttl)+1)
		}
		return nil
	}
	if !current.live || !current.belongsTo(o) {
		return nil
	}
	next.lo = max(next.lo, p.firstEnd(current, next.hi))
	if next.lo > next.hi {
		return leaseFail(written, o, "the store refused %s of %s at %s, when by its own record it held the lease until %s at least",
			o.call, who(o.node, o.token), moment(next.hi), moment(next.lo))
	}
	next.live = false
	return nil
}

// is tells whether an answer that names holder and token can be about the
// lease.
func (s *step) is(holder string, token uint64) bool {
	return (holder == "" || s.holder == "" || holder == s.holder) && (token == 0 || s.token == 0 || token == s.token)
}

// belongsTo tells whether the lease is the one that a renewal or release is
// about.
func (s *step) belongsTo(o *op) bool {
	return s.is(o.node, o.token) && (o.nonce == "" || s.nonce == "" || o.nonce == s.nonce)
}

func (p *replay) lengthened() bool {
	return slices.ContainsFunc(p.faults, func(f *fault) bool { return f.shorten < 0 })
}

// apply makes next the state after the entry, or says why it cannot be.
func (p *replay) apply(current, next *step, a *audit, last *uint64) *Finding {
	o := next.op
	token := max(a.token, o.token, o.got)
	own := current.live && (o.node == "" || current.holder == "" || current.holder == o.node) &&
		(current.nonce == o.nonce || current.nonce == "" || o.nonce == "") &&
		(current.token == token || token == 0)
	lastEnd := p.lastEnd(current, next.lo)
	if o.call == history.Acquire && !(own && current.nonce == o.nonce && next.lo <= lastEnd) {
		if current.live {
			next.lo = max(next.lo, p.firstEnd(current, next.hi))
		}
		if next.lo > next.hi {
			return leaseFail(current.by, o, "the store granted %s the lease at %s at the latest, but that of %s lasted until %s at least",
				who(o.node, token), moment(next.hi), who(current.holder, current.token), moment(next.lo))
		}
		if token != 0 && token <= *last && !p.forgot(next.hi) {
			return leaseFail(current.by, o, "the store granted %s although token %d was out already", who(o.node, token), *last)
		}
		*last = max(*last, token)
		next.live, next.holder, next.nonce, next.token, next.ttl = true, o.node, o.nonce, token, o.ttl
		next.a, next.b, next.by = next.lo, next.hi, o
		return nil
	}
	switch {
	case !own:
		return leaseFail(current.by, o, "the store applied %s of %s while the lease was that of %s",
			o.call, who(o.node, token), who(cmpHolder(current), current.token))
	case next.lo > lastEnd:
		return leaseFail(current.by, o, "the store applied %s of %s at %s at the earliest, when the lease was over since %s",
			o.call, who(o.node, token), moment(next.lo), moment(lastEnd))
	}
	next.keeps = true
	if o.call == history.Release {
		return nil
	}
	next.live, next.holder, next.nonce, next.token, next.ttl = true, current.holder, current.nonce, current.token, o.ttl
	next.a, next.b, next.by = next.lo, min(next.hi, lastEnd), o
	return nil
}

func cmpHolder(s *step) string {
	if !s.live {
		return "nobody"
	}
	return s.holder
}

// firstEnd is when the lease is over at the earliest, with the faults that may
// have come before t.
func (p *replay) firstEnd(s *step, t time.Duration) time.Duration {
	end := s.a + s.ttl - p.of(s.ttl)
	for _, f := range p.faults {
		if f.to < s.a || f.from > min(end, t) {
			continue
		}
		if f.void {
			end = f.from
		}
		if f.shorten > 0 {
			end = max(f.from, end-f.shorten)
		}
	}
	return end
}

// lastEnd is when the lease is over at the latest, with the faults that
// certainly came after its last write and before t.
func (p *replay) lastEnd(s *step, t time.Duration) time.Duration {
	end := s.b + s.ttl + p.of(s.ttl)
	for _, f := range p.faults {
		switch {
		case f.shorten < 0:
			end -= f.shorten
		case f.shorten > 0 && f.effect != nil && *f.effect && f.from >= s.b && f.to <= t && end > f.to:
			end = max(f.to, end-f.shorten)
		}
	}
	return end
}

// forgot tells whether the store may have lost count of the tokens before t.
func (p *replay) forgot(t time.Duration) bool {
	return slices.ContainsFunc(p.faults, func(f *fault) bool { return f.void && f.from <= t })
}

// placeAnswer asks whether an operation that changed nothing finds a place in
// the store's order that its times allow and that explains its answer.
func (p *replay) placeAnswer(o *op) *Finding {
	observed := o.call == history.Observe && o.kind == history.Ok
	if !observed && (o.kind != history.Fail || o.call == history.Observe || o.otherReason()) {
		return nil
	}
	entries := p.steps[1:]
	first := sort.Search(len(entries), func(k int) bool { return entries[k].hi >= o.from })
	last := first
	for last < len(entries) && entries[last].lo <= o.to {
		last++
	}
	for k := first; k <= last; k++ { // after k entries
		if p.explains(o, k) {
			return nil
		}
	}
	var before *op
	if first > 0 {
		before = entries[first-1].by
	}
	return leaseFail(before, o, "no place in the store's own order explains what %s of %s was told at %s (%s)",
		o.call, who(o.node, o.token), moment(o.to), answer(o))
}

// answer describes the answer of an operation that changed nothing.
func answer(o *op) string {
	switch {
	case o.call == history.Renew || o.call == history.Release:
		return "it does not hold the lease"
	case o.holder == "" && o.got == 0 && o.call == history.Observe:
		return "nobody leads"
	default:
		return "the lease is that of " + who(o.holder, o.got)
	}
}

// explains tells whether the state after k entries can have given the
// answer of the operation.
func (p *replay) explains(o *op, k int) bool {
	s := &p.steps[k]
	lo, hi := max(o.from, s.lo), o.to
	if k+1 < len(p.steps) {
		hi = min(hi, p.steps[k+1].hi)
	}
	if lo > hi {
		return false
	}
	over := !s.live || !s.kept && hi >= p.firstEnd(s, hi)
	alive := s.live && lo <= p.lastEnd(s, lo)
	switch {
	case o.call == history.Renew || o.call == history.Release:
		return over || !s.belongsTo(o)
	case o.call == history.Acquire:
		return alive && s.is(o.holder, o.got) && !(o.nonce != "" && o.nonce == s.nonce && s.holder == o.node)
	case o.holder == "" && o.got == 0:
		return over
	default:
		return alive && s.is(o.holder, o.got)
	}
}
