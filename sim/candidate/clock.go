package candidate

import (
	"math"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
)

// Clock is a candidate's clock with a fault in it: it runs at a rate of its
// own, from a real clock. It implements elector.Clock.
type Clock struct {
	real func() time.Duration

	// Held while the real clock is read: a reading that was made at one rate and
	// counted at another would be off by whatever came between the two.
	mu    sync.Mutex
	state clockState
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
	now := real()
	return &Clock{real: real, state: clockState{base: now, own: now, rate: rate}}
}

// at is what the clock shows at the real time now.
func (s clockState) at(now time.Duration) time.Duration {
	return s.own + time.Duration(float64(now-s.base)*s.rate)
}

// Now implements elector.Clock.
func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.at(c.real())
}

// AfterFunc implements elector.Clock. A timer that is pending while the rate
// changes keeps the rate with which it began.
func (c *Clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	return time.AfterFunc(time.Duration(float64(d)/c.Rate()), f)
}

// SetRate makes the clock run at rate from now on, without a jump.
func (c *Clock) SetRate(rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.real()
	c.state = clockState{base: now, own: c.state.at(now), rate: rate}
}

// Rate is the clock's present rate.
func (c *Clock) Rate() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.rate
}

// Real returns the real clock's time at which this clock shows, or showed, own.
// It is never late, and early by two nanoseconds at the most: a deadline that is
// put on the real clock must not seem to be later than it is.
func (c *Clock) Real(own time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state
	return s.base + time.Duration(math.Floor(float64(own-s.own)/s.rate))
}
