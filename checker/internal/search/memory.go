package search

import (
	"slices"
	"sync"
)

// memory is what a search takes most of. Who checks thousands of short histories
// a second would else mostly wait for the collector.
type memory struct {
	inputs []leaseInput // by call
	room   [2][]leaseState
	one    []leaseState
	levels [2]level
}

var memories sync.Pool

// mostKept is how many inputs, and how many states, there is room for in memory that
// is kept.
const mostKept = 1 << 14

// newMemory has room for so many inputs.
func newMemory(inputs int) *memory {
	m, ok := memories.Get().(*memory)
	if !ok {
		m = &memory{}
	}
	m.inputs = slices.Grow(m.inputs[:0], inputs)
	return m
}

// release gives the memory to later searches. Nothing of it may be in use.
func (m *memory) release() {
	if cap(m.inputs) > mostKept || m.states() > mostKept {
		return
	}
	clear(m.inputs)
	forget(m.one)
	for i := range m.room {
		forget(m.room[i])
	}
	for i := range m.levels {
		l := &m.levels[i]
		l.reset()
		for _, states := range l.states {
			forget(states)
		}
	}
	memories.Put(m)
}

// states is how many states there is room for.
func (m *memory) states() int {
	n := cap(m.one) + cap(m.room[0]) + cap(m.room[1])
	for i := range m.levels {
		for _, states := range m.levels[i].states {
			n += cap(states)
		}
	}
	return n
}

// forget clears all that the slice has room for.
func forget[T any](s []T) { clear(s[:cap(s)]) }
