package search

import (
	"math/bits"
	"slices"

	"github.com/recount-io/recount/checker/internal/index"
)

// maxFronts is how many ways to have done some of the operations of a index.Window
// may be followed at a time without porcupine.
const maxFronts = 4096

// front is a set of operations of a index.Window that may come before all others:
// those before base, and base+i for every bit i.
type front struct {
	base int
	done uint64
}

// level is all fronts of one number of operations, each with the states in
// which they may leave the lease.
type level struct {
	fronts []front
	index  map[front]int // of the fronts, where there are many
	states [][]leaseState
	stuck  *leaseInput // of the levels so far: the refused step with the latest call
}

func (l *level) reset() {
	l.fronts, l.stuck = l.fronts[:0], nil
	clear(l.index)
}

// many fronts are found sooner by a map than one after the other.
const many = 32

// of is the index of the front, which is added if it is new.
func (l *level) of(f front) int {
	if n, ok := l.index[f]; ok {
		return n
	}
	if i := slices.Index(l.fronts[:min(len(l.fronts), many)], f); i >= 0 {
		return i
	}
	n := len(l.fronts)
	if l.fronts = append(l.fronts, f); n >= many {
		if l.index == nil {
			l.index = map[front]int{}
		}
		l.index[f] = n
	}
	if n == len(l.states) {
		l.states = append(l.states, nil)
	}
	l.states[n] = l.states[n][:0]
	return n
}

// reached are the states of the one front of a last level.
func (l *level) reached(m *leaseModel) []leaseState {
	if len(l.fronts) == 0 {
		return nil
	}
	return m.reduce(l.states[0])
}

// narrow goes through every order of the operations of a index.Window, front by
// front. The orders that have one front in common go on together, so that it
// takes time in proportion to the fronts and not to the orders. It tells
// whether the fronts were few enough; then levels[0] is the last level.
func (s *search) narrow(w []leaseInput, states []leaseState) bool {
	from, to := &s.levels[0], &s.levels[1]
	from.reset()
	first := from.of(front{})
	from.states[first] = append(from.states[first], states...)
	for range w {
		to.reset()
		s.held = 0 // but for the level before, which took no more
		to.stuck = from.stuck
		for i := range from.fronts {
			if i%breath == breath-1 && s.ctx.Err() != nil || !s.follow(w, from.fronts[i], s.model.reduce(from.states[i]), to) {
				return false
			}
		}
		from, to = to, from
	}
	if from != &s.levels[0] {
		s.levels[0], s.levels[1] = s.levels[1], s.levels[0]
	}
	return true
}

// follow adds to the next level what can come after a front: an operation that
// is not done, and was called before any such had returned. What is sent is sent
// first of all: it is no event of the store, and only allows more.
func (s *search) follow(w []leaseInput, f front, states []leaseState, to *level) bool {
	returned, last := index.Forever, f.base
	for ; last < len(w) && w[last].from <= returned; last++ {
		bit := last - f.base
		if bit >= 64 {
			return false
		}
		if f.done&(1<<bit) != 0 {
			continue
		}
		if w[last].sent != nil {
			s.step(states, &w[last])
			return s.advance(w, f, last, to)
		}
		returned = min(returned, w[last].ret())
	}
	left := func(i int) bool { return f.done&(1<<(i-f.base)) == 0 }
	for i := f.base; i < last; i++ {
		if left(i) && w[i].tells() && s.model.keeps(states, s.step(states, &w[i])) {
			return s.advance(w, f, i, to)
		}
	}
	for i := f.base; i < last; i++ {
		if !left(i) {
			continue
		}
		s.step(states, &w[i])
		if !s.advance(w, f, i, to) {
			return false
		}
	}
	return true
}

// tells reports whether the operation changed nothing, and its answer says something. If every
// state stays possible after it, it can come first of all: wherever else it comes
// it leaves no more states than would be there without it.
func (in *leaseInput) tells() bool { return in.op != nil && !in.took && in.sent == nil }

// step leaves in s.one what the input makes of the states.
func (s *search) step(states []leaseState, in *leaseInput) []leaseState {
	s.one = s.model.step(s.one[:0], states, in)
	return s.one
}

// keeps reports whether whatever can follow the states can follow those that came of
// them too.
func (m *leaseModel) keeps(states, after []leaseState) bool {
	for i := range states {
		if !slices.ContainsFunc(after, func(t leaseState) bool { return m.covers(&t, &states[i]) }) {
			return false
		}
	}
	return len(after) > 0
}

// advance adds to the next level what the i-th operation made of a front: s.one.
func (s *search) advance(w []leaseInput, f front, i int, to *level) bool {
	if len(s.one) == 0 {
		if to.stuck == nil || to.stuck.from < w[i].from {
			to.stuck = &w[i]
		}
		return true
	}
	done := f.done | 1<<(i-f.base)
	behind := bits.TrailingZeros64(^done)
	n := to.of(front{f.base + behind, done >> behind})
	if n >= maxFronts {
		return false
	}
	to.states[n] = append(to.states[n], s.one...)
	s.hold(s.one, 0)
	return true
}
