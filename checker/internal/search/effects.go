package search

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// What pending operations did before an input could be any of their orders,
// which are as many as one likes. It is enough to follow a few of these orders,
// because every other one can be made one of them without any later input
// noticing:
//
//   - An operation that took effect without anybody's need is better left
//     pending. So of the leases that came and went between two inputs none has
//     to be followed: what comes before an input are renewals of the lease that
//     is there, or its release, or its release (or its end) and one acquire, with
//     renewals of what that brought.
//   - A renewal before a release, or before an acquire, is in vain: without it
//     the lease was over no later, unless the renewal was for a shorter time.
//   - Only a lease that the input can be about has to be there. Where an input
//     says nothing of any lease the present stays what it is, and what took
//     effect before it takes effect after it.

// stage is how far a state came on the way from one input to the next.
type stage int

const (
	untouched stage = iota
	renewed         // the lease that was there
	ended           // the lease was released
	taken           // there is a new lease
)

// wish is what an input may need of pending operations.
type wish struct {
	over  bool   // that there is no lease
	alive bool   // that there is one, of
	node  string // this node; "": any
	nonce string // this attempt; "": any
	same  bool   // exactly this attempt, "" is one as well
	token uint64 // this token; 0: any
}

func wishOf(in *leaseInput) wish {
	o := in.op
	switch {
	case in.fault != nil:
		return wish{over: true, alive: true}
	case in.sent != nil || !in.took && o.Inconclusive():
		return wish{}
	case o.Call == history.Acquire && in.took:
		return wish{over: true, alive: true, node: o.Node, nonce: o.Nonce, same: true, token: in.token}
	case o.Call == history.Observe && o.Holder == "" && o.Got == 0:
		return wish{over: true}
	case o.Call == history.Acquire, o.Call == history.Observe:
		return wish{alive: true, node: o.Holder, token: o.Got}
	case in.took:
		return wish{alive: true, node: o.Node, nonce: o.Nonce, token: o.Token}
	default:
		return wish{over: true, alive: true}
	}
}

// brings reports whether an acquire of the class can bring the lease that is
// wished for, where all tokens up to last are used up.
func (w *wish) brings(c *leaseClass, last uint64) bool {
	if !w.alive || c.call != history.Acquire || w.token != 0 && w.token <= last {
		return false
	}
	if w.node != "" && c.node != "" && w.node != c.node {
		return false
	}
	if w.same {
		return w.nonce == c.nonce
	}
	return w.nonce == "" || c.nonce == "" || w.nonce == c.nonce
}

// effects adds the states in which pending operations took effect before the
// input did.
func (m *leaseModel) effects(states []leaseState, in *leaseInput) []leaseState {
	w := wishOf(in)
	if !w.over && !w.alive || !slices.ContainsFunc(states, func(s leaseState) bool { return s.pending != "" }) {
		return states
	}
	all := slices.Clone(states)
	var stages []stage // nothing has happened yet
	for range all {
		stages = append(stages, untouched)
	}
	var room []leaseState
	for i := 0; i < len(all); i++ {
		sent := all[i].pending
		if sent == "" {
			continue
		}
		if i%breath == breath-1 && m.ctx.Err() != nil {
			return nil
		}
		last := all[i].last
		brought := false
		for j := 0; j < sent.len() && !brought && stages[i] == untouched; j++ {
			class, _ := sent.record(j)
			brought = w.brings(&m.classes[class], last)
		}
		for j := range sent.len() {
			class, _ := sent.record(j)
			c := &m.classes[class]
			to, useful := m.leads(&w, &all[i], stages[i], c, brought)
			if !useful || c.young() && m.preceded(sent, j) || m.hasTwin(&all[i], j) {
				continue
			}
			s := all[i]
			s.pending = sent.with(class, -1)
			room = m.effect(room[:0], s, c, max(s.now, c.sent), in.to)
			for k := range room {
				t := &room[k]
				covered := false
				for n := range all {
					if covered = (stages[n] == untouched || stages[n] == to) && m.covers(&all[n], t); covered {
						break
					}
				}
				if !covered {
					all, stages = append(all, *t), append(stages, to)
				}
			}
		}
	}
	return all
}

// leads tells to which stage an operation of the class leads from s at stage
// from, and whether that can be of use for what is wished for. brought tells
// whether an acquire that is pending can be.
func (m *leaseModel) leads(w *wish, s *leaseState, from stage, c *leaseClass, brought bool) (stage, bool) {
	ours := s.live && from != ended && (c.node == "" || s.holder == "" || c.node == s.holder)
	wished := w.alive && (w.node == "" || s.holder == "" || w.node == s.holder)
	kept := renewed
	switch {
	case from == taken:
		kept = taken
	case from == untouched && c.ttl < s.ttl && (w.over || brought):
		kept, wished = untouched, true
	}
	switch c.call {
	case history.Renew:
		return kept, ours && wished
	case history.Release:
		return ended, from == untouched && (w.over || brought) && s.live
	}
	again := ours && wished && s.nonce == c.nonce && s.nonce != lonelyNonce
	fresh := (from == untouched || from == ended) && w.brings(c, s.last)
	switch {
	case again && fresh:
		return untouched, true // see effect
	case again:
		return kept, true
	default:
		return taken, fresh
	}
}

// effect appends what a pending operation does to s when it takes effect at some
// time in [lo, hi].
func (m *leaseModel) effect(next []leaseState, s leaseState, c *leaseClass, lo, hi time.Duration) []leaseState {
	if lo > hi {
		return next
	}
	switch named := (&claimed{c.node, c.nonce, c.token, c.ttl}); c.call {
	case history.Renew:
		return m.renew(next, s, named, lo, hi)
	case history.Release:
		return m.release(next, s, named, lo, hi)
	default: // of the two that an acquire can be, what was not asked for leads nowhere
		return m.acquire(next, s, c.node, c.nonce, 0, c.ttl, lo, hi)
	}
}

// young reports whether the class's operations may have been sent only after the
// present of a state.
func (c *leaseClass) young() bool { return c.base != none }

// preceded reports whether an operation like the i-th one is pending that was sent
// before. Which of the two takes effect makes no difference, so it is that one.
func (m *leaseModel) preceded(p pending, i int) bool {
	class, _ := p.record(i)
	base := m.classes[class].base
	for j := range i {
		if other, _ := p.record(j); other == base || m.classes[other].base == base {
			return true
		}
	}
	return false
}

// always is before every event, and never after.
const (
	always = -index.Forever
	never  = 2 * index.Forever
)
