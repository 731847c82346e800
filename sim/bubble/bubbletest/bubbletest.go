// Package bubbletest runs tests in bubbles of fake time that hold a whole program,
// with clients of Redis.
package bubbletest

import (
	"fmt"
	"runtime"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/internal/garbage"
	"github.com/recount-io/recount/internal/processor"
	"github.com/recount-io/recount/internal/raced"
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
	defer limit(seed, most)()
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, seed)
		t.Cleanup(synctest.Wait) // who has drawn a random value, and ended, has done so before the source is put back
		f(t)
	})
}

// most is what a bubble may take of the processors, many times what any does.
var most = map[bool]time.Duration{false: 45 * time.Second, true: 10 * time.Minute}[raced.Enabled]

// limit ends the process, with the seed, when that much of the processors was used. A
// bubble in which something goes round and round never ends, and its fake time, with all
// limits in it, stands still. What it returns takes the limit off.
func limit(seed uint64, most time.Duration) (off func()) {
	over := make(chan struct{})
	began := processor.Time()
	go func() {
		look := time.NewTicker(most / 20)
		defer look.Stop()
		for {
			select {
			case <-over:
				return
			case <-look.C:
				if used := processor.Time() - began; used > most {
					panic(fmt.Sprintf("bubble %d has used %v of the processors: something in it goes round and round", seed, used))
				}
			}
		}
	}()
	return func() { close(over) }
}

// forget empties what is pooled: what one collection finds unused, the next one
// frees.
func forget() {
	runtime.GC()
	runtime.GC()
}
