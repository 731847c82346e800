package machine

import (
	"slices"
	"time"
)

// flight is a request without an answer.
type flight struct {
	number    uint64
	call      Call
	nonce     string
	token     uint64
	sent      time.Duration
	giveUp    time.Duration
	late      time.Duration
	version   uint64 // of the value that it carries
	abandoned bool   // given up, but it hangs somewhere and may be answered yet
}

// release is a lease to be given back.
type release struct {
	nonce string
	token uint64
	to    string        // the successor; may be empty
	until time.Duration // the lease has ended by itself by then
	at    time.Duration // of the next try
	sent  bool          // a try is under way
}

// room reports whether one more request may be sent. Requests that hang in a
// library count until they return: there is a bound to what they can hold.
func (m *Machine) room(call Call) bool {
	if len(m.flights) < m.cfg.MaxInFlight {
		return true
	}
	m.trouble(call, ErrTooMany)
	return false
}

func (m *Machine) send(r Request, late time.Duration) {
	m.lastNumber++
	r.Number = m.lastNumber
	m.flights = append(m.flights, flight{
		number: r.Number, call: r.Call, nonce: r.Nonce, token: r.Token,
		sent: m.now, giveUp: m.now + r.Timeout, late: late, version: r.Version,
	})
	m.requests = append(m.requests, r)
	if !m.silent {
		m.silent = true
		m.silentSince = m.now
	}
}

// inFlight reports whether such a request is under way and not given up.
func (m *Machine) inFlight(call Call, nonce string) bool {
	for i := range m.flights {
		f := &m.flights[i]
		if f.call == call && !f.abandoned && f.nonce == nonce {
			return true
		}
	}
	return false
}

func (m *Machine) answer(in Input) {
	i := slices.IndexFunc(m.flights, func(f flight) bool { return f.number == in.Request })
	if i < 0 {
		return // answered before
	}
	f := m.flights[i]
	m.flights = slices.Delete(m.flights, i, i+1)
	switch {
	case in.Result != Unknown:
		m.hear()
	case in.Refused:
		m.refusal = in.Err
	default:
		m.refusal = nil
	}
	if in.Result == Fatal && f.call != Release && f.call != Withdraw {
		m.refusedForGood(in.Err)
		return
	}
	switch f.call {
	case Acquire:
		m.acquireAnswered(f, in)
	case Renew:
		m.renewAnswered(f, in)
	case Release:
		m.releaseAnswered(f, in)
	case Withdraw:
		m.withdrawn(f, in)
	}
}

// hear notes that the store has carried a request out, or refused it for a reason that
// lies in the election.
func (m *Machine) hear() {
	m.silent, m.refusal = false, nil
	if m.unreachable {
		m.unreachable = false
		m.emit(Transition{Kind: Reachable})
	}
}

// alarm tells when no request has succeeded for longer than a lease. It is
// no reason to take over: a store that is frozen may still keep somebody's lease.
func (m *Machine) alarm() {
	if m.silent && !m.unreachable && m.now >= m.silentSince+m.cfg.Lease {
		m.unreachable = true
		m.emit(Transition{Kind: Unreachable, Err: m.refusal})
	}
}

// pause is how long the next try waits after a request that failed. A store that has
// refused everything for longer than a lease is asked more rarely.
func (m *Machine) pause() time.Duration {
	if m.unreachable && m.refusal != nil {
		return m.cfg.Renew
	}
	return m.cfg.Retry
}

func (m *Machine) giveUpFlights() {
	for i := range m.flights {
		if f := m.flights[i]; !f.abandoned && m.now >= f.giveUp {
			m.flights[i].abandoned = true
			m.refusal = nil
			m.unanswered(f, ErrTimeout)
		}
	}
}

// unanswered handles a request whose outcome is unknown, once: when it is
// given up or when it fails, whichever is first.
func (m *Machine) unanswered(f flight, err error) {
	if f.abandoned {
		return
	}
	m.trouble(f.call, err)
	switch f.call {
	case Acquire:
		if m.role != Candidate || f.nonce != m.attempt.nonce {
			return
		}
		if m.stopping {
			m.abandon()
			return
		}
		m.attempt.next = m.now + m.pause() + m.jitter(m.pause()/4)
	case Renew:
		if m.term.live && m.term.is(f.nonce, f.token) {
			m.term.renewAt = m.now + m.cfg.Retry
		}
	case Release:
		if r := m.findRelease(f.nonce, f.token); r >= 0 {
			m.releases[r].sent = false
			m.releases[r].at = m.now + m.cfg.Retry
		}
	}
}

// giveBack queues a release, to be repeated until it is answered or until the
// lease has ended by itself.
func (m *Machine) giveBack(nonce string, token uint64, until time.Duration) {
	if m.findRelease(nonce, token) < 0 {
		m.releases = append(m.releases, release{nonce: nonce, token: token, until: until, at: m.now})
	}
}

// reserve is for how long a lease that is handed over is the successor's alone. A successor
// that hears of it asks at once. One that hears of nothing asks once in a lease.
func (m *Machine) reserve() time.Duration {
	return (m.cfg.Lease + m.cfg.Retry).Round(time.Millisecond)
}

func (m *Machine) findRelease(nonce string, token uint64) int {
	return slices.IndexFunc(m.releases, func(r release) bool { return r.nonce == nonce && r.token == token })
}

func (m *Machine) sendReleases() {
	for i := range m.releases {
		r := &m.releases[i]
		if r.sent || m.now < r.at {
			continue
		}
		if !m.room(Release) {
			r.at = m.now + m.cfg.Retry
			continue
		}
		r.sent = true
		request := Request{Call: Release, Nonce: r.nonce, Token: r.token, Timeout: m.cfg.RequestTimeout}
		if !m.stopping {
			request.TTL, request.Longest, request.Configured = m.cfg.Lease, m.longest, m.cfg.LongestLease // it goes on to compete
		}
		if r.to != "" {
			request.To, request.Reserve = r.to, m.reserve()
		}
		m.send(request, 0)
	}
}

func (m *Machine) releaseAnswered(f flight, in Input) {
	if in.Result == Unknown {
		m.unanswered(f, in.Err)
		return
	}
	if in.Result == Fatal {
		m.trouble(Release, in.Err)
	}
	if i := m.findRelease(f.nonce, f.token); i >= 0 {
		m.releases = slices.Delete(m.releases, i, i+1)
		m.emit(Transition{Kind: Released, Token: f.token, Err: in.Err})
	}
}

func (m *Machine) giveUpReleases() {
	for i := 0; i < len(m.releases); {
		r := m.releases[i]
		if m.now < r.until {
			i++
			continue
		}
		m.releases = slices.Delete(m.releases, i, i+1)
		m.emit(Transition{Kind: Released, Token: r.token, Err: ErrNotReleased})
	}
}
