package candidate

import (
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector"
)

// Clock is a candidate's clock with a fault in it: it runs at a rate of its
// own, from a real clock. It implements elector.Clock.
type Clock struct {
	real  func() time.Duration
	state atomic.Pointer[clockState]
}

// clockState maps real time to the clock's: own + (real - base) * rate.
type clockState struct {
	base, own time.Duration
	rate      float64
}

var _ elector.Clock = (*Clock)(nil)

// NewClock returns a clock that runs at rate from the real clock's present
// time on.
func NewClock(real func() time.Duration, rate float64) *Clock {
	c := &Clock{real: real}
	now := real()
	c.state.Store(&clockState{base: now, own: now, rate: rate})
	return c
}

// Now implements elector.Clock.
func (c *Clock) Now() time.Duration {
	s := c.state.Load()
	return s.own + time.Duration(float64(c.real()-s.base)*s.rate)
}

// AfterFunc implements elector.Clock. A timer that is pending while the rate
// changes keeps the rate with which it began.
func (c *Clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	return time.AfterFunc(time.Duration(float64(d)/c.state.Load().rate), f)
}

// SetRate makes the clock run at rate from now on, without a jump.
func (c *Clock) SetRate(rate float64) {
	s := c.state.Load()
	now := c.real()
	c.state.Store(&clockState{base: now, own: s.own + time.Duration(float64(now-s.base)*s.rate), rate: rate})
}

// Rate is the clock's present rate.
func (c *Clock) Rate() float64 { return c.state.Load().rate }

// Real returns the real clock's time at which this clock shows, or showed, own.
func (c *Clock) Real(own time.Duration) time.Duration {
	s := c.state.Load()
	return s.base + time.Duration(float64(own-s.own)/s.rate)
}
