package checker

import "math/bits"

// maxFronts is how many ways to have done some of the operations of a window
// may be followed at a time without porcupine.
const maxFronts = 256

// front is a set of operations of a window that may come before all others:
// those before base, and base+i for every bit i.
type front struct {
	base int
	done uint64
}

// level is all fronts of one number of operations, each with the states in
// which they may leave the lease.
type level struct {
	fronts []front
	states [][]leaseState
	stuck  *leaseInput // of the levels so far: the refused step with the latest call
}

func (l *level) reset() {
	l.fronts, l.stuck = l.fronts[:0], nil
}

// of is the index of the front, which is added if it is new.
func (l *level) of(f front) int {
	for i := range l.fronts {
		if l.fronts[i] == f {
			return i
		}
	}
	l.fronts = append(l.fronts, f)
	n := len(l.fronts) - 1
	if n == len(l.states) {
		l.states = append(l.states, nil)
	}
	l.states[n] = l.states[n][:0]
	return n
}

// reached are the states of the one front of a last level.
func (l *level) reached() []leaseState {
	if len(l.fronts) == 0 {
		return nil
	}
	return reduce(l.states[0])
}

// narrow goes through every order of the operations of a window, front by
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
		to.stuck = from.stuck
		for i := range from.fronts {
			if !s.follow(w, from.fronts[i], reduce(from.states[i]), to) {
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
// is not done, and was called before any such had returned.
func (s *search) follow(w []leaseInput, f front, states []leaseState, to *level) bool {
	returned := forever
	for i := f.base; i < len(w) && w[i].from <= returned; i++ {
		bit := i - f.base
		if bit >= 64 {
			return false
		}
		if f.done&(1<<bit) != 0 {
			continue
		}
		returned = min(returned, w[i].ret())
		s.one = s.model.step(s.one[:0], states, &w[i])
		if len(s.one) == 0 {
			if to.stuck == nil || to.stuck.from < w[i].from {
				to.stuck = &w[i]
			}
			continue
		}
		done := f.done | 1<<bit
		behind := bits.TrailingZeros64(^done)
		n := to.of(front{f.base + behind, done >> behind})
		if n >= maxFronts {
			return false
		}
		to.states[n] = append(to.states[n], s.one...)
	}
	return true
}
