package index

import (
	"slices"
	"sync"
)

// memory is what an Index takes most of. Who checks thousands of short histories
// a second would else mostly wait for the collector.
type memory struct {
	room    []Op
	calls   []*Op
	dense   []*Op
	entries []Entry
}

var memories sync.Pool

// mostKept is how many operations there is room for in memory that is kept.
const mostKept = 1 << 14

// newMemory has room for so many operations and entries.
func newMemory(operations, entries int) *memory {
	m, ok := memories.Get().(*memory)
	if !ok {
		m = &memory{}
	}
	m.room = slices.Grow(m.room[:0], operations)[:operations]
	m.calls = slices.Grow(m.calls[:0], operations)
	m.dense = m.dense[:0]
	m.entries = slices.Grow(m.entries[:0], entries)
	return m
}

// Release gives the memory of the index to later ones. Nothing of it may be in
// use.
func (x *Index) Release() {
	m := x.memory
	if m == nil || cap(m.room) > mostKept || cap(m.entries) > mostKept {
		return
	}
	x.memory = nil
	clear(m.room)
	clear(m.calls[:cap(m.calls)])
	clear(m.dense[:cap(m.dense)])
	clear(m.entries[:cap(m.entries)])
	memories.Put(m)
}
