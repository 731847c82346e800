package calls

import (
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/sim"
)

// Whom a leader hands over to that was not told to: fail-back.

// undisturbed reports whether nothing in the case makes anybody see late, or not at all, what
// others do.
func (r *run) undisturbed() bool {
	return !r.far() && !r.Has(Pause, Hangup, HangupOne, StrandOne) && !r.hasOf(func(t trait) bool { return t.data || t.server || t.way })
}

// noteSuccessor notes that the candidate is asked to hand over to this one.
func (c *candidate) noteSuccessor(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.successors = append(c.ledger.successors, name)
}

// handsOver looks at whom the candidate hands over to. Where nobody has named a successor,
// that is a better one, the best, and one that competes as far as can be known.
func (c *candidate) handsOver(l store.Lease) {
	name := sim.NodeOf(l.To)
	c.mu.Lock()
	for _, asked := range c.ledger.successors {
		if asked == name {
			c.mu.Unlock()
			return
		}
	}
	again := c.ledger.handed[l.Token]
	if c.ledger.handed == nil {
		c.ledger.handed = map[uint64]bool{}
	}
	c.ledger.handed[l.Token] = true
	c.mu.Unlock()
	successor := c.run.lifeOf(c, l.To)
	if again || successor == nil {
		return
	}
	c.run.bite("fails back")
	mine, its := c.behavior.Priority, successor.process.behavior().Priority
	if !c.behavior.Failback || its <= mine {
		c.find(failsBack, "term %d is handed over to %s of priority %d, and its own is %d", l.Token, l.To, its, mine)
	}
	if !c.run.undisturbed() {
		return
	}
	// It was heard of before it died, and whether it is heard of was asked some time ago.
	heard := c.config.Lease
	if c.run.rolls() {
		heard = 2 * c.run.longest() // some count on leases twice as long
	}
	if dead, since := successor.deadFor(); dead && since > heard+c.config.RequestTimeout+6*c.run.RoundTrip {
		c.find(failsBack, "term %d is handed over to %s, which has died %v ago", l.Token, l.To, since)
	}
	for _, p := range c.run.processes {
		if other := p.current(); p.world() == c.life.process.world() && p.behavior().Priority > its && other != nil && other != c.life && other.competes(2*c.run.longest()) {
			c.find(failsBack, "term %d is handed over to %s of priority %d, and %s of priority %d lives", l.Token, l.To, its, p.name, p.behavior().Priority)
		}
	}
}

// failedBack reports whether the candidate has handed a term over that it was not told to.
func (c *candidate) failedBack(t *elector.Term) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t != nil && c.ledger.handed[t.Token()]
}

// competes reports whether the process has competed for so long, as far as anybody knows.
func (l *life) competes(long time.Duration) bool {
	m := l.process.behavior()
	return l.age() > long && m.plain() && m.Call != Campaign
}

// lifeOf is the life whose candidate in the election has that ID.
func (r *run) lifeOf(c *candidate, id string) *life {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lived {
		if l.process.world() == c.life.process.world() && len(l.candidates) > c.index && l.candidates[c.index].elector.ID() == id {
			return l
		}
	}
	return nil
}

// deadFor reports whether nothing of the life counts any more, and since when.
func (l *life) deadFor() (dead bool, since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead, l.process.run.recorder.Now() - l.died
}

// preferred expects, in the calm at the end, that the leader is nobody who looks for a
// better one while there has been one for long.
func (r *run) preferred(c *candidate) {
	if !c.behavior.Failback || r.far() {
		return
	}
	long := c.config.Failback + 2*r.longest() + 10*r.RoundTrip
	c.mu.Lock()
	since := c.since
	c.mu.Unlock()
	if r.recorder.Now()-since < long {
		return
	}
	for _, p := range r.processes {
		other := p.current()
		if p.world() == c.life.process.world() && p.behavior().Priority > c.behavior.Priority && other != nil && other != c.life && other.competes(long) {
			c.find(failsBack, "it leads since %v, looks for a better one every %v, and %s of priority %d lives", since, c.config.Failback, p.name, p.behavior().Priority)
		}
	}
}
