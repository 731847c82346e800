package crowd

import (
	"math/rand/v2"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/sim/bubble/gate"
	clocks "github.com/recount-io/recount/sim/candidate"
)

// clock is what a process's electors read. Nobody can read it who stands still, and
// its timers fire when the process goes on.
type clock struct {
	*clocks.Clock
	gate *gate.Gate
	seed uint64
}

var _ elector.Clock = clock{}

// Now implements elector.Clock.
func (c clock) Now() time.Duration {
	c.gate.Wait()
	return c.Clock.Now()
}

// AfterFunc implements elector.Clock.
func (c clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	return c.Clock.AfterFunc(d+c.late(d), func() {
		c.gate.Wait()
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
