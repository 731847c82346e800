package storeorder

import (
	"sort"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// placeAnswer asks whether an operation that changed nothing finds a place in
// the store's order that its times allow and that explains its answer. It tells
// whether the answer says something new about the entries around its place.
func (p *replay) placeAnswer(o *index.Op) (learnt bool, f *finding.Finding) {
	observed := o.Call == history.Observe && o.Kind == history.Ok
	if !observed && (o.Kind != history.Fail || o.Call == history.Observe || o.Inconclusive()) {
		return false, nil
	}
	entries := p.steps[1:]
	first := sort.Search(len(entries), func(k int) bool { return entries[k].hi >= o.From })
	last := first
	for last < len(entries) && entries[last].lo <= o.To {
		last++
	}
	least, most := -1, 0 // how many entries come before it
	for k := first; k <= last; k++ {
		if !p.explains(o, k) {
			continue
		}
		if most = k; least < 0 {
			least = k
		}
	}
	if last == len(entries) && p.goesOn(o) {
		if most = last; least < 0 {
			p.beyond++
			return false, nil
		}
	}
	if least >= 0 {
		return p.around(o, least, most), nil
	}
	var before *index.Op
	if first > 0 {
		before = entries[first-1].by
	}
	return false, index.Contradiction(before, o, "no place in the store's own order explains what %s of %s was told at %s (%s)",
		o.Call, finding.Who(o.Node, o.Token), finding.Moment(o.To), o.Answer())
}

// around learns from an answer that comes after the first so many entries at least,
// and before all but so many at most.
func (p *replay) around(o *index.Op, least, most int) (learnt bool) {
	if s := &p.steps[least]; s.op != nil && s.hi > o.To {
		learnt = p.learn(s.op, window{-index.Forever, o.To})
	}
	if most+1 < len(p.steps) && p.steps[most+1].lo < o.From {
		learnt = p.learn(p.steps[most+1].op, window{o.From, index.Forever}) || learnt
	}
	return learnt
}

// goesOn reports whether an operation that the record lacks may have changed the
// lease after the last entry, and before o.
func (p *replay) goesOn(o *index.Op) bool {
	if len(p.late) > 0 && p.late[0].From <= o.To {
		return true
	}
	for _, u := range p.e.Ops { // by call
		switch {
		case u.From > o.To:
			return false
		case u.Kind == history.Info && u.Entry == nil && u.Call != history.Observe:
			return true
		}
	}
	return false
}

// explains reports whether the state after k entries can have given the
// answer of the operation.
func (p *replay) explains(o *index.Op, k int) bool {
	s := &p.steps[k]
	lo, hi := max(o.From, s.lo), o.To
	if k+1 < len(p.steps) {
		hi = min(hi, p.steps[k+1].hi)
	}
	if lo > hi {
		return false
	}
	over := !s.live || !s.kept && hi >= p.firstEnd(s)
	alive := s.live && lo <= p.lastEnd(s, lo)
	switch {
	case o.Call == history.Renew || o.Call == history.Release:
		return over || !s.belongsTo(o)
	case o.Call == history.Acquire:
		return alive && s.is(o.Holder, o.Got) && !(o.Nonce != "" && o.Nonce == s.nonce && s.holder == o.Node)
	case o.Holder == "" && o.Got == 0:
		return over
	default:
		return alive && s.is(o.Holder, o.Got)
	}
}

// learn notes that the effect of the operation is known to lie in the window,
// besides what is known already. It reports whether that is news.
func (p *replay) learn(o *index.Op, w window) bool {
	if o.Kind != history.Info {
		return false
	}
	known, ok := p.learnt[o]
	if !ok {
		known = window{o.From, o.Before}
	}
	now := window{max(known.lo, w.lo), min(known.hi, w.hi)}
	if now == known {
		return false
	}
	if p.learnt == nil {
		p.learnt = map[*index.Op]window{}
	}
	p.learnt[o] = now
	return true
}
