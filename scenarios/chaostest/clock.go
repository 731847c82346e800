package chaostest

import (
	"context"
	"math"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/sim/candidate"
)

// Clock is a candidate's clock, which faults make run too fast or too slow, and which
// stands still with its process. It never jumps. In calm times it shows what time.Now
// does.
type Clock struct {
	clock elector.Clock
	base  time.Time // what it shows when clock shows 0
}

func newClock(h *candidate.Host) *Clock {
	return &Clock{clock: h.Watch(), base: baseOf(h.Clock.Now, time.Now)}
}

// looks is how often baseOf compares two clocks: one comparison in so many is not held
// up between them.
const looks = 16

// baseOf is what now shows when own shows 0. The two are read one after the other: of
// several looks the one counts during which least time passed. It is never early: a
// deadline that is put onto own must not seem to be later than it is.
func baseOf(own func() time.Duration, now func() time.Time) (base time.Time) {
	least := time.Duration(math.MaxInt64)
	for range looks {
		before := own()
		shows := now()
		if took := own() - before; took < least {
			least, base = took, shows.Add(-before)
		}
	}
	return base
}

// Now is what the clock shows.
func (c *Clock) Now() time.Time { return c.base.Add(c.clock.Now()) }

// AfterFunc calls f in a goroutine of its own after d by this clock. stop keeps it from
// being called, and reports whether it did.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return c.clock.AfterFunc(d, f).Stop
}

// After sends the clock's time after d by this clock.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	over := make(chan time.Time, 1)
	c.clock.AfterFunc(d, func() { over <- c.Now() })
	return over
}

// Sleep waits for d by this clock, or until ctx is done, whose error it returns then.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	stop := c.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// own puts a time that the clock shows, or will show, onto the clock below.
func (c *Clock) own(t time.Time) time.Duration { return t.Sub(c.base) }
