// Package bubbletest runs tests in bubbles of fake time that hold a whole program,
// with clients of Redis.
package bubbletest

import (
	"runtime"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"github.com/recount-io/recount/internal/garbage"
)

// Main runs the tests of a package that run in bubbles, one after the other. It
// returns the status to exit with.
func Main(m *testing.M) int {
	defer garbage.Seldom()()
	return m.Run()
}

// Run calls f in a bubble of its own, where random values are drawn from the seed.
// No other test may run meanwhile that uses a client of Redis: such clients keep
// timers for all of a process, and one that another bubble owns ends this one. So
// what is left of them is collected before and afterwards.
func Run(t *testing.T, seed uint64, f func(t *testing.T)) {
	t.Helper()
	forget()
	defer forget()
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, seed)
		f(t)
	})
}

// forget empties what is pooled: what one collection finds unused, the next one
// frees.
func forget() {
	runtime.GC()
	runtime.GC()
}
