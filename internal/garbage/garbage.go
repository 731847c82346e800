// Package garbage makes programs that run one short simulation after the other
// collect garbage seldom.
package garbage

import "runtime/debug"

// Little lives from one run to the next: a heap that may grow to some ten megabytes
// is collected so much more seldom. A run that makes a history of millions of events
// must not take the whole machine, though.
const (
	seldom = 800     // how much the heap may grow, in per cent, before it is collected
	roomy  = 2 << 30 // bytes from which on it is collected as often as need be
)

// Seldom makes the heap be collected seldom until undo is called.
func Seldom() (undo func()) {
	percent, limit := debug.SetGCPercent(seldom), debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, roomy))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
