// Package clock is the clock of a process in a bubble that may stand still.
package clock

import (
	"math/rand/v2"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/sim/bubble/gate"
	clocks "github.com/recount-io/recount/sim/candidate"
)

// Clock is what a process's electors read. Nobody can read it who stands still, and
// its timers fire when the process goes on. Two are equal if they are one.
type Clock struct {
	*clocks.Clock
	gate *gate.Gate
	seed uint64
}

var _ elector.Clock = Clock{}

// New returns a clock that runs at the rate from the present time of the real clock on,
// of a process that stands still where the gate is closed. The seed is the clock's own.
func New(real func() time.Duration, rate float64, g *gate.Gate, seed uint64) Clock {
	return Clock{clocks.NewClock(real, rate), g, seed}
}

// Now implements elector.Clock.
func (c Clock) Now() time.Duration {
	c.gate.Wait()
	return c.Clock.Now()
}

// AfterFunc implements elector.Clock.
func (c Clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	return c.Clock.AfterFunc(d+c.late(d), func() {
		c.gate.Wait()
		f()
	})
}

// late is by how much a timer is late that is set now: a little, so that no two fire
// at one moment, and never early, whatever is rounded. It follows from the moment
// alone, since several goroutines set timers at one moment, in any order.
func (c Clock) late(d time.Duration) time.Duration {
	due := uint64(c.Clock.Now() + d)
	return time.Microsecond + time.Duration(rand.New(rand.NewPCG(c.seed, due)).Int64N(int64(50*time.Microsecond)))
}
