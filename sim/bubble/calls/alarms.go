package calls

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/sim/bubble/redisserver"
)

// Alarms: those that are raised are true, and those that are owed are raised.

// alarmed looks whether a trouble is one.
func (c *candidate) alarmed(err error) {
	m := c.behavior
	count := errors.Is(err, event.ErrTokenSeen) && !c.run.hasOf(func(t trait) bool { return t.data })
	other := errors.Is(err, event.ErrSameID) || errors.Is(err, event.ErrNoHints) && !m.Deaf
	hangs := errors.Is(err, event.ErrCallbackHangs)
	works := hangs && m.Works == AtOnce && m.Stops == AtOnce || errors.Is(err, event.ErrDrainCapped) && m.Works == AtOnce
	open := strings.Contains(err.Error(), redisserver.OpenSlot) && !strings.Contains(err.Error(), "--cluster fix")
	if open || count || other && c.run.undisturbed() || works && !c.run.Has(Pause) {
		c.find(falseAlarm, "%v", err)
	}
	if (errors.Is(err, event.ErrTimeout) || errors.Is(err, event.ErrCrowded)) && c.elector.IsLeader() && c.carries() {
		c.find(renewsInTime, "%d elections in its process, and a round trip takes %v: %v", c.run.Elections, c.run.RoundTrip, err)
	}
	if errors.Is(err, event.ErrNoHints) && c.announced() {
		c.find(falseAlarm, "nobody was elected since it listens, and it says: %v", err)
	}
	if hangs {
		c.mu.Lock()
		c.ledger.hangs = c.ledger.elected
		c.mu.Unlock()
	}
}

// announced reports whether the last term was known before the candidate listened as it does:
// it cannot have missed an announcement.
func (c *candidate) announced() bool {
	r := c.run
	if c.behavior.Deaf || !c.tellsAtOnce() || r.far() || r.Has(Pause, Message) || r.losesCount() {
		return false
	}
	c.mu.Lock()
	h := c.hearing
	c.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	grants := r.grants[c.name]
	return h.watches == 1 && len(grants) > 0 && !slices.ContainsFunc(grants, func(g grant) bool { return g.at > h.since })
}

// tellsAtOnce reports whether the candidate's events are told when they happen.
func (c *candidate) tellsAtOnce() bool {
	return c.behavior.Tells == AtOnce && c.behavior.Logs == AtOnce
}

// carries reports whether the elections of the process are so few that each renewal is
// answered in time, and nothing is in the way. A round trip may take a tenth longer; one
// request more goes to each election's questions; and a connection may have to be opened.
func (c *candidate) carries() bool {
	r, l, within := c.run, c.life, c.config.RequestTimeout
	disturbed := r.Has(Pause, Hangup, HangupOne, StrandOne) || r.hasOf(func(t trait) bool { return t.data || t.server || t.way })
	trip, opening := l.process.trips()
	return !disturbed && opening+trip <= within && within <= c.config.Renew && l.age() > 3*r.longest() && 2*r.Elections <= l.store.Carries(within, trip)
}

// expectAlarm expects an alarm if the work of the term that is over, or its OnStopped,
// has not returned a lease later.
func (c *candidate) expectAlarm(token uint64) {
	if !c.tellsAtOnce() || c.behavior.Call > Terms {
		return
	}
	stood, calls := c.life.gate.Stood(), c.calls()
	late := c.config.Lease + c.config.Lease/10
	real := c.life.clock.Real(c.life.clock.Now()+late) - c.run.recorder.Now()
	go func() {
		select {
		case <-time.After(real):
		case <-c.run.over:
			return
		}
		c.mu.Lock()
		working, returned, hangs := c.ledger.working, c.ledger.returned, c.ledger.hangs
		c.mu.Unlock()
		goesOn := working != nil && working.Token() == token && (!returned || c.callsBack())
		if !goesOn || c.life.gate.Stood() != stood || c.calls() != calls {
			return
		}
		c.run.bite("hangs")
		if hangs != token {
			c.find(alarmOwed, "term %d is over for %v, its callbacks have not returned, and nobody was told", token, late)
		}
	}()
}

// silence looks whether the store is silent that is said to be, and answers again.
func (c *candidate) silence(ev elector.Event) {
	at := c.life.clock.Real(ev.At)
	c.mu.Lock()
	before, answered := c.ledger.silent, c.ledger.answered
	c.ledger.silent = 0
	if ev.Kind == event.Unreachable {
		c.ledger.silent = at
	}
	c.mu.Unlock()
	if c.run.Has(Pause) {
		return // what was answered was read later
	}
	switch {
	case c.behavior.Call <= Terms && (ev.Kind == event.Unreachable) == (before != 0): // other calls do not wait for what was to be told
		c.find(transitions, "the store is said to be %s, as it was before", ev.Kind)
	case ev.Kind == event.Unreachable && answered < at && answered > at-c.config.Lease/2: // later, or at this moment: this is told late
		c.find(falseAlarm, "the store is said to have been silent for a lease at %v, and it has answered at %v", at, answered)
	case ev.Kind == event.Reachable && answered < before:
		c.find(falseAlarm, "the store is said to answer again at %v, and has not answered since %v", at, answered)
	}
}

// anew notes that the elector is told to compete: what it said before is of another time.
func (c *candidate) anew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called++
	c.ledger.silent = 0
}

// goesOn reports whether the candidate competes or leads, as it was told to when it had been
// told so often.
func (c *candidate) goesOn(calls int) bool {
	return c.elector.State() != event.StateStopped && c.calls() == calls
}

// callsOf is how often each candidate was told to compete.
func callsOf(all []*candidate) (calls []int) {
	for _, c := range all {
		calls = append(calls, c.calls())
	}
	return calls
}

// expectSilence expects of the candidate, which led at that time and has not been told
// to compete anew, that it has told of a store that has carried out nothing from then on
// for more than a lease and what lies between two renewals.
func (c *candidate) expectSilence(since time.Duration, calls int) {
	c.mu.Lock()
	answered, silent := c.ledger.answered, c.ledger.silent
	c.mu.Unlock()
	now, clock := c.run.recorder.Now(), c.life.clock
	late := clock.Real(clock.Now()+c.config.Lease+c.config.Renew+c.config.RequestTimeout) - now // by its clock, which may be slow
	if answered > since || now-since < late || !c.tellsAtOnce() || !c.goesOn(calls) || c.run.Has(Pause) {
		return
	}
	c.run.bite("silence")
	if silent == 0 {
		c.find(alarmOwed, "the store has not answered since %v, and nobody was told at %v", answered, c.run.recorder.Now())
	}
}

// awake asks the candidate, in the moment in which its process goes on after it stood
// still, whether it leads: before anything else of it has run. Only then it asks the
// term, which notices itself that it is over.
func (c *candidate) awake() {
	now, leads := c.life.clock.Now(), c.elector.IsLeader()
	if t := c.current(); t != nil {
		c.consistent(t)
	}
	if !c.tellsAtOnce() || !leads {
		return
	}
	stood := c.life.gate.Stood()
	go func() {
		time.Sleep(time.Millisecond) // what it believes is told by then
		c.mu.Lock()
		until := c.ledger.until
		c.mu.Unlock()
		if until <= now && c.life.gate.Stood() == stood {
			c.find(leadsAsReported, "it says that it leads at %v, and its last term ended at %v at the latest", now, until)
		}
	}()
}

// calmly expects, in the calm at the end, that the candidate knows who leads, that it
// says what it is, and that no alarm is left.
func (c *candidate) calmly(leader *candidate, long time.Duration) {
	if !c.tellsAtOnce() || c.behavior.Call > Terms || !c.life.waits() {
		return
	}
	c.mu.Lock()
	seen, silent := c.ledger.leader, c.ledger.silent
	c.mu.Unlock()
	state := c.elector.State()
	c.run.bite("calm:" + string(state))
	switch {
	case silent != 0:
		c.find(alarmOwed, "the store answers, and nobody was told: it is said to be silent since %v", silent)
	case c == leader && state != event.StateLeader && state != event.StateDraining:
		c.find(leadsAsReported, "it leads, and is a %s", state)
	case c != leader && (state == event.StateLeader || c.elector.IsLeader()):
		c.find(leadsAsReported, "%s leads, and this one is a %s", leader.life.process.name, state)
	case seen.ID != leader.elector.ID() || seen.Token != leader.current().Token():
		c.find(answersWho, "%s leads with token %d for more than %v, and OnLeader was told last that %q does with token %d",
			leader.life.process.name, leader.current().Token(), long, seen.ID, seen.Token)
	}
}
