package machine

import (
	"errors"
	"slices"
	"time"
)

// bid is the last attempt that was refused. It stands: a leader that gives the lease
// back may have the store pass it on, so that the next term begins one way of a message
// after the last one ended, in place of two round trips.
//
// What is passed on counts as if the refused request had been granted after
// all, and late: the term counts from when that very request was sent, which was
// before the grant, however long the news took. So a nonce is not enough to name it.
// No candidate leads by what it did not ask for: whatever else is passed on is given
// back.
type bid struct {
	nonce  string // empty: there is none
	number uint64 // of the request
	sent   time.Duration
}

// maxReleases is how many leases wait to be given back, at the most, before another one
// that nobody asked for is left to end by itself: anybody may announce one.
const maxReleases = 8

// stand makes a bid of a request that was refused, if the store did.
func (m *Machine) stand(f flight, in Input) {
	if m.cfg.Bids && in.Stands {
		m.bid = bid{f.nonce, f.number, f.sent}
	}
}

// passed begins a term with a lease that was passed on.
func (m *Machine) passed(in Input) {
	ours := m.term.is(in.Nonce, in.Token) || (m.term.live || m.term.goesOn()) && m.term.token == in.Token
	if ours || slices.ContainsFunc(m.releases, func(r release) bool { return r.token == in.Token }) {
		return // told before, or made up: no two leases have one token
	}
	m.count(in.Waiters)
	f, stands := m.standing(in)
	larger := in.Token > m.floor
	m.rumour(in.Token)
	switch {
	case !stands || m.stopping || !m.competes() || leads(m.role):
		if len(m.releases) >= maxReleases {
			return
		}
		if m.role == Candidate && in.Nonce == m.attempt.nonce {
			m.attempt.nonce, m.bid = "", bid{} // an older request of the open attempt was granted: that is over
			m.decline(in.Nonce, in.Token, ErrStray)
			return
		}
		m.giveBack(in.Nonce, in.Token, m.now+m.cfg.Lease)
		m.trouble(Acquire, ErrStray)
	case !larger:
		m.declinePassed(in, ErrTokenSeen)
	case f.sent+m.usable-m.now < m.cfg.RequestTimeout:
		m.declinePassed(in, ErrTooLate)
	default:
		m.attempt.nonce = ""
		m.floor = in.Token
		m.elect(f, in.Token)
		m.term.lastSent = m.now                           // the lease was passed on at some time before
		m.term.version, m.term.shown = m.cfg.version(), 0 // nobody has published anything with it
		m.term.renewAt = m.now                            // what is left of the term may be short
	}
}

// standing is the request that the lease was passed on to: the bid, or a request of
// the open attempt whose refusal has not come in yet.
func (m *Machine) standing(in Input) (f flight, stands bool) {
	if in.Nonce == "" {
		return f, false
	}
	if m.bid.nonce == in.Nonce && m.bid.number == in.Request {
		return flight{number: m.bid.number, call: Acquire, nonce: m.bid.nonce, sent: m.bid.sent}, true
	}
	for i := range m.flights {
		if f := m.flights[i]; f.call == Acquire && f.number == in.Request && f.nonce == in.Nonce && f.nonce == m.attempt.nonce {
			return f, true
		}
	}
	return f, false
}

// declinePassed gives back what was passed on to the bid. A lease that was passed on too
// late is asked for anew when it is free: then the term counts from that request.
func (m *Machine) declinePassed(in Input, err error) {
	m.giveBack(in.Nonce, in.Token, m.now+m.cfg.Lease)
	m.bid = bid{}
	if m.role == Follower && !errors.Is(err, ErrTooLate) {
		m.attempt.next = m.now + m.cfg.Retry + m.jitter(m.cfg.Retry)
		m.attempt.notBefore = m.attempt.next
	}
	m.trouble(Acquire, err)
}

// withdraw takes the bid back, if it may still stand, when nobody would be there to lead:
// when the machine stops, or has missed the news.
func (m *Machine) withdraw() {
	if m.bid.nonce == "" || m.now >= m.bid.sent+m.cfg.Lease || len(m.flights) >= m.cfg.MaxInFlight {
		return
	}
	m.send(Request{Call: Withdraw, Nonce: m.bid.nonce, Timeout: m.cfg.RequestTimeout}, 0)
	m.bid = bid{}
}

// abandon stops without an answer to the open attempt. A request of it may have been
// refused, so that it stands as a bid, or granted: it is withdrawn, as the bid is.
func (m *Machine) abandon() {
	open := m.attempt.nonce
	m.attempt.nonce = ""
	m.become(Stopped)
	if open != "" && m.cfg.Bids && m.now < m.attempt.lastSent+m.cfg.Lease && len(m.flights) < m.cfg.MaxInFlight {
		m.send(Request{Call: Withdraw, Nonce: open, Timeout: m.cfg.RequestTimeout}, 0)
	}
}

// withdrawn gives back what was passed on to the bid before it was taken back. That
// it is not known is no reason to try again: the lease ends by itself.
func (m *Machine) withdrawn(f flight, in Input) {
	if in.Result == Held && !m.term.is(f.nonce, in.Token) {
		m.giveBack(f.nonce, in.Token, m.now+m.cfg.Lease)
	}
}
