package bubble

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/sim/candidate"
)

// lateness is by how much a timer is late at the most. It is drawn, so that no
// two timers fire at one moment.
const lateness = 50 * time.Microsecond

// dice draw for the goroutines of a world.
type dice struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func newDice(seed, stream uint64) *dice { return &dice{rand: rand.New(rand.NewPCG(seed, stream))} }

func (d *dice) upTo(most time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.rand.Int64N(int64(most) + 1))
}

// clock is what the elector reads: the candidate's clock, which nobody can read
// who stands still, and whose timers stand still with the machine.
type clock struct {
	*candidate.Clock
	process *process
}

var _ elector.Clock = (*clock)(nil)

// Now implements elector.Clock.
func (c *clock) Now() time.Duration {
	c.process.gate.Wait()
	return c.Clock.Now()
}

// AfterFunc implements elector.Clock.
func (c *clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	d += c.late(d)
	slept := c.process.slept()
	t := &timer{clock: c, call: f, slept: slept, end: c.Clock.Now() - slept + d}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.real = c.Clock.AfterFunc(d, t.fire)
	return t
}

// late is by how much a timer is late that is set now. It follows from the moment
// alone, since several goroutines set timers at one moment, in any order.
func (c *clock) late(d time.Duration) time.Duration {
	due := c.process.node.run.recorder.Now() + d
	return time.Duration(mix(c.process.seed, uint64(due)) % uint64(lateness))
}

// timer is one of a candidate's timers. It is late by as long as the machine was
// suspended meanwhile, and fires only when the process goes on.
type timer struct {
	clock *clock
	call  func()

	mu      sync.Mutex
	real    elector.Timer
	slept   time.Duration // of the process, when the timer was set
	end     time.Duration // by the monotonic clock
	stopped bool
	fired   bool
}

func (t *timer) fire() {
	t.clock.process.gate.Wait()
	if t.due() {
		t.call()
	}
}

// due reports whether the timer's time has come. If the machine was suspended
// meanwhile, it is set again.
func (t *timer) due() bool {
	slept := t.clock.process.slept()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false
	}
	if rest := t.end - (t.clock.Clock.Now() - slept); slept > t.slept && rest > 0 {
		t.slept = slept
		t.real = t.clock.Clock.AfterFunc(rest, t.fire)
		return false
	}
	t.fired = true
	return true
}

// Stop implements elector.Timer.
func (t *timer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := !t.stopped && !t.fired
	t.stopped = true
	t.real.Stop()
	return was
}
