package crowd

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	clocks "github.com/recount-io/recount/sim/candidate"
)

// gate keeps the goroutines of a process where they are while it stands still.
type gate struct {
	mu    sync.Mutex
	shut  chan struct{} // closed when it opens; nil while it is open
	times int           // that it was closed
}

// wait waits until the gate is open. Nobody may hold a lock meanwhile: who waits
// for that lock would keep fake time from passing.
func (g *gate) wait() {
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return
		}
		<-shut
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
		g.times++
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// stood is how often the process has stood still: what took long meanwhile says
// nothing.
func (g *gate) stood() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.times
}

// clock is what a process's electors read. Nobody can read it who stands still, and
// its timers fire when the process goes on.
type clock struct {
	*clocks.Clock
	gate *gate
	seed uint64
}

var _ elector.Clock = clock{}

// Now implements elector.Clock.
func (c clock) Now() time.Duration {
	c.gate.wait()
	return c.Clock.Now()
}

// AfterFunc implements elector.Clock.
func (c clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	return c.Clock.AfterFunc(d+c.late(d), func() {
		c.gate.wait()
		f()
	})
}

// late is by how much a timer is late that is set now: a little, so that no two fire
// at one moment, and never early, whatever is rounded. It follows from the moment
// alone, since several goroutines set timers at one moment, in any order.
func (c clock) late(d time.Duration) time.Duration {
	due := uint64(c.Clock.Now() + d)
	return time.Microsecond + time.Duration(rand.New(rand.NewPCG(c.seed, due)).Int64N(int64(50*time.Microsecond)))
}
