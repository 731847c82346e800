package electortest

import (
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
)

// Clock is the clock of a machine that can be suspended, for elector.Config.Clock: as a
// virtual machine is that moves, or a laptop that is closed. It is safe for concurrent
// use.
type Clock struct {
	elector.Clock

	mu    sync.Mutex
	slept time.Duration // in all suspensions, that under way to its end
	until time.Duration // the end of the last one
}

// NewClock returns a clock that is elector.SystemClock until it is suspended. In a bubble
// of testing/synctest it lives by the bubble's time.
func NewClock() *Clock { return &Clock{Clock: elector.SystemClock()} }

// Suspend returns at once. For d from now on, or from the end of a suspension that is under
// way, each reader of the clock has to wait, and no timer goes on: each pending one fires d
// later than it would have.
//
// So the elector stands still. It renews nothing, and the context of its term is not done,
// although another candidate may lead. The service stands still as soon as it asks:
// Elector.IsLeader, Term.Check and the Err of the term's context answer when the
// suspension is over.
func (c *Clock) Suspend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = max(c.until, c.Clock.Now()) + d
	c.slept += d
}

// Now implements elector.Clock.
func (c *Clock) Now() time.Duration {
	for {
		now := c.Clock.Now()
		c.mu.Lock()
		left := c.until - now
		c.mu.Unlock()
		if left <= 0 {
			return now
		}
		time.Sleep(left)
	}
}

// AfterFunc implements elector.Clock.
func (c *Clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now()
	t := &timer{clock: c, call: f, due: max(now, c.until) - c.slept + max(d, 0)}
	t.timer = c.Clock.AfterFunc(c.left(t.due, now), t.fire)
	return t
}

// left is how long it takes until the clock was awake for so long in all. The caller holds
// mu.
func (c *Clock) left(due, now time.Duration) time.Duration {
	return max(due+c.slept-now, 0)
}

// timer is one of a Clock's timers.
type timer struct {
	clock *Clock
	call  func()
	due   time.Duration // for how long the clock will have been awake

	// Of the clock's mu:
	timer elector.Timer
	over  bool // stopped, or fired
}

func (t *timer) fire() {
	if t.fires() {
		t.call()
	}
}

// fires reports whether the time has come. If the clock was suspended meanwhile, the timer
// is set again.
func (t *timer) fires() bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.over {
		return false
	}
	if left := c.left(t.due, c.Clock.Now()); left > 0 {
		t.timer = c.Clock.AfterFunc(left, t.fire)
		return false
	}
	t.over = true
	return true
}

// Stop implements elector.Timer.
func (t *timer) Stop() bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	was := !t.over
	t.over = true
	t.timer.Stop()
	return was
}
