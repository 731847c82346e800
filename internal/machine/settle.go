package machine

import (
	"slices"
	"time"
)

// Choose makes the machine ask f for every random time from 0 to most, in place
// of its generator: a search tries them all.
func (m *Machine) Choose(f func(most time.Duration) time.Duration) { m.choose = f }

// Wake is when the machine wants to be woken, as the last step's Output said.
func (m *Machine) Wake() time.Duration {
	at, _ := m.wake()
	return at
}

// Clone returns an independent copy of the machine.
func (m *Machine) Clone() *Machine {
	c := *m
	c.flights, c.releases = slices.Clone(m.flights), slices.Clone(m.releases)
	c.requests, c.transitions = slices.Clone(m.requests), slices.Clone(m.transitions)
	return &c
}

// Settle brings the state into the plainest form from which the machine decides
// alike at the time now and later: what nothing will read any more is blank, and
// what is only compared with the present is no older than the comparison can
// tell. It drops what the machine keeps for its reports alone: the leader last
// announced, the alarms of a silent store and of what hangs, the error that ended it. now must not
// be before the last step.
func (m *Machine) Settle(now time.Duration) {
	m.err, m.leader, m.waiters = nil, seen{}, 0
	m.silent, m.silentSince, m.unreachable, m.hangsAt = false, 0, false, Never
	m.settleBid(now)
	m.settleFlights(now)
	m.settleAttempt(now)
	m.settleTerm(now)
	for i := range m.releases {
		r := &m.releases[i]
		r.until, r.at = max(r.until, now), max(r.at, now)
		if r.sent {
			r.at = now
		}
	}
	m.doneBy = max(m.doneBy, now)
	if m.role != Stopped || m.term.goesOn() {
		m.doneBy = now
	}
}

// settleFlights: a request of a term or an attempt that is over needs no time-out,
// and the moment of its sending counts no more.
func (m *Machine) settleFlights(now time.Duration) {
	kept := m.usable
	if m.cfg.Bids {
		kept = m.cfg.Lease // it may become a bid's: see withdraw
	}
	for i := range m.flights {
		f := &m.flights[i]
		f.late = 0
		var open bool
		switch f.call {
		case Acquire:
			open = m.role == Candidate && f.nonce == m.attempt.nonce
			if !open && !(m.term.live && f.nonce == m.term.nonce) && !(m.bid.nonce != "" && f.nonce == m.bid.nonce) {
				f.sent = now
			}
		case Renew:
			open = m.term.live && m.term.is(f.nonce, f.token)
			if !open {
				f.nonce, f.token, f.sent = "", 0, now
			}
		case Withdraw:
			f.sent = now
		default:
			open, f.sent = true, now // a release may be queued once more
		}
		f.abandoned = f.abandoned || !open
		f.sent = max(f.sent, now-kept)
		f.giveUp = max(f.giveUp, now)
		if f.abandoned {
			f.giveUp = now
		}
	}
}

func (m *Machine) settleAttempt(now time.Duration) {
	a := &m.attempt
	a.next, a.notBefore, a.rest = max(a.next, now), max(a.notBefore, now), max(a.rest, now)
	a.lastSent = max(a.lastSent, now-m.claim())
	switch {
	case m.role == Stopped:
		*a = attempt{lastSent: now, next: now, notBefore: now, rest: now}
	case m.role == Follower:
		a.lastSent, a.missed = max(a.lastSent, now-m.cfg.Lease), 0
	case m.role != Candidate:
		a.lastSent, a.missed = now, 0
		a.next, a.notBefore, a.rejoins = now, now, false
	case m.inFlight(Acquire, a.nonce):
		a.next = now
	}
	if !m.started {
		a.next = now
	}
	if a.heard <= a.lastToken {
		a.heard = 0
	}
}

// claim is for how long after the last request that may have made it longer a
// lease may still stand. See releaseTerm.
func (m *Machine) claim() time.Duration { return m.cfg.Lease + (m.cfg.Lease - m.usable) }

func (m *Machine) settleTerm(now time.Duration) {
	t := &m.term
	if !t.live && !t.working {
		over := term{calling: t.calling}
		if m.cfg.Bids { // it may be told of again: see Forget
			over.nonce, over.token = t.nonce, t.token
		}
		*t = over
	}
	if t.given || !t.live && !t.working {
		t.lastSent, t.successor = now, ""
	}
	t.lastSent = max(t.lastSent, now-m.claim())
	if m.role != Draining {
		t.ending, t.drainBy = 0, now
	}
	t.drainBy = max(t.drainBy, now)
	if !t.live {
		t.begun, t.deadline, t.tick, t.renewAt = now, now, now, now
		return
	}
	t.begun = max(t.begun, now-m.cfg.Retry)
	t.deadline, t.renewAt = max(t.deadline, now), max(t.renewAt, now)
	if m.inFlight(Renew, t.nonce) {
		t.renewAt = now
	}
	for t.tick <= now {
		t.tick += m.cfg.Renew
	}
}

// settleBid: a bid is compared with what is passed on, and taken back unless it is
// older than a lease.
func (m *Machine) settleBid(now time.Duration) {
	if m.role == Stopped || m.bid.nonce == "" {
		m.bid = bid{}
		return
	}
	m.bid.sent = max(m.bid.sent, now-m.cfg.Lease)
}

// Forget drops, before the state is settled, what is compared with nothing but the news of
// leases that were passed on: a bid that is named in none, and a term that is over and
// that none will tell of. A bid stays where it may be taken back yet, if the machine
// may be stopped.
func (m *Machine) Forget(now time.Duration, named func(nonce string, number uint64) bool, reported func(nonce string, token uint64) bool, stops bool) {
	if b := &m.bid; b.nonce != "" && !named(b.nonce, b.number) && (!stops || now >= b.sent+m.cfg.Lease) {
		*b = bid{}
	}
	if t := &m.term; t.nonce != "" && !t.live && !t.working && !reported(t.nonce, t.token) {
		t.nonce, t.token = "", 0
	}
}

// ForgetNews drops, after the state was settled, what is compared with announcements alone,
// where neither they nor answers will name a token below least: the token of the store's
// last answer, and those that were announced before. If deaf, nothing is announced at all:
// then it is also what puts off a try that an announcement hastens, and when a follower
// asked last.
func (m *Machine) ForgetNews(now time.Duration, least uint64, deaf bool) {
	a := &m.attempt
	a.lastToken = 0
	if a.heard < least {
		a.heard = 0
	}
	if a.freed < least {
		a.freed = 0
	}
	if deaf {
		a.notBefore, a.rest = now, now
		if m.role == Follower {
			a.lastSent = now
		}
	}
}
