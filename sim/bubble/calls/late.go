package calls

import (
	"time"

	"github.com/recount-io/recount/elector"
)

// Renewals that are sent late, since the process stood still.

// renewals are the times of a candidate's renewals, by the world's clock.
type renewals struct {
	term      *elector.Term
	last, now time.Duration // when the last one was sent that succeeded, and the one under way; 0: none
	late      time.Duration // how late the one was sent that succeeded last
}

// renews notes that a renewal is sent.
func (c *candidate) renews() {
	if c == nil {
		return
	}
	at := c.run.recorder.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renewals.term != c.term {
		c.renewals = renewals{term: c.term}
	}
	if c.renewals.now != 0 { // two at once, or one again: nobody knows which one an event tells of
		c.renewals.last = 0
	}
	c.renewals.now = at
}

// renewed notes what became of it.
func (c *candidate) renewed(err error) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.renewals
	n.late = 0
	if n.last > 0 && n.now > 0 && err == nil {
		n.late = n.now - n.last - c.config.Renew
	}
	n.last, n.now = n.now, 0
	if err != nil {
		n.last = 0
	}
}

// lateAsReported looks whether the event of a renewal tells of half the time at least that it was
// sent late.
func (c *candidate) lateAsReported(ev elector.Event) {
	c.mu.Lock()
	late := c.renewals.late
	c.renewals.late = 0
	c.mu.Unlock()
	r := c.run
	disturbed := !r.Has(Pause) || r.far() || r.Has(Hangup, HangupOne, StrandOne) || r.hasOf(func(t trait) bool { return t.data || t.server || t.way })
	if late < c.config.Renew/2 || c.behavior.Skew != 0 || disturbed { // else it waited for the answer to the one before
		return
	}
	r.bite("late")
	if ev.Late < late/2 {
		c.find(lateReported, "a renewal was sent %v late, and the event says %v", late, ev.Late)
	}
}
