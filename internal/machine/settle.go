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
	for i := range m.flights {
		f := &m.flights[i]
		f.late = 0
		var open bool
		switch f.call {
		case Acquire:
			open = m.role == Candidate && f.nonce == m.attempt.nonce
			if !open && !(m.term.live && f.nonce == m.term.nonce) {
				f.sent = now
			}
		case Renew:
			open = m.term.live && m.term.is(f.nonce, f.token)
			if !open {
				f.nonce, f.token, f.sent = "", 0, now
			}
		default:
			open, f.sent = true, now // a release may be queued once more
		}
		f.abandoned = f.abandoned || !open
		f.sent = max(f.sent, now-m.usable)
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
	case m.role != Candidate:
		a.lastSent, a.missed = now, 0
		if m.role != Follower {
			a.next, a.notBefore = now, now
		}
	case m.inFlight(Acquire, a.nonce):
		a.next = now
	}
	if !m.started {
		a.next = now
	}
	if a.freed < m.floor {
		a.freed = 0
	}
	if a.heard <= m.floor {
		a.heard = 0
	}
}

// claim is for how long after the last request that may have made it longer a
// lease may still stand. See releaseTerm.
func (m *Machine) claim() time.Duration { return m.cfg.Lease + (m.cfg.Lease - m.usable) }

func (m *Machine) settleTerm(now time.Duration) {
	t := &m.term
	if !t.live && !t.working {
		*t = term{calling: t.calling}
	}
	if t.given || !t.live && !t.working {
		t.lastSent, t.heir = now, ""
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
