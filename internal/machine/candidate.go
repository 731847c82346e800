package machine

import (
	"strconv"
	"time"
)

// perWaiter spreads the tries of those who wait for one lease: with so much
// between two of them on average, most hear of the first one's success before
// their own turn.
const perWaiter = 200 * time.Microsecond

// eager is how many of many who wait try at once when the lease is released, on
// average: so many that it is rarely nobody, and few for a store to bear.
const eager = 3

// headStart is what others have who try at once, besides a round trip where that is
// known: about what one takes on a local network.
const headStart = time.Millisecond

// fewWaiters may all try at once. So many are assumed where a store cannot count.
const fewWaiters = 5

// roundUp is added to a remaining time that a store may have rounded down to
// milliseconds.
const roundUp = time.Millisecond

// maxHearsay bounds the tokens that count without a grant, from refusals and the
// protected resource: a client that may write there could else use up the tokens of the election
// for ever. Tokens that are no more than maxLeap above a known one count beyond it,
// so the bound itself is no dead end.
const (
	maxHearsay = 1 << 62
	maxLeap    = 1 << 32
)

// Credible reports whether a token counts without a grant for a candidate that knows of known.
func Credible(token, known uint64) bool { return token <= max(maxHearsay, known+maxLeap) }

// maxRumour is how far above the token of the store's last answer an announced one
// counts. Everybody may announce, so a larger step waits for an answer of the store. It
// must be smaller than the tokens of a second are where a store counts from its time in
// microseconds: a count that is ahead of that time would go back when it is lost.
const maxRumour = 1 << 19

// maxWaiters bounds how many waiters count: times are computed from it.
const maxWaiters = 1 << 20

// attempt is the way to the next term.
type attempt struct {
	count     uint64
	nonce     string        // while its outcome is open, and empty else
	lastSent  time.Duration // of its last request; where a term has ended, of that one's
	next      time.Duration // of the next try
	notBefore time.Duration // hints do not make it try earlier: somebody else has precedence, until a grant is announced
	rest      time.Duration // nor before that, whatever is announced: see restIfShort

	lastToken uint64 // token of the store's last answer: what is announced of an older one is old
	freed     uint64 // highest token whose release was announced since then
	missed    uint64 // announced while a request was under way that may have been refused before
	heard     uint64 // highest token whose grant was announced since then
	deaf      bool   // announcements may have been missed while a request was under way
	ended     uint64 // token last refused with no time remaining

	rejoins bool // it has not asked since it led, or began: see bid
}

func (m *Machine) start() {
	if m.started {
		return
	}
	m.started = true
	m.attempt.next = m.now + m.spread()
	m.attempt.rejoins = m.cfg.Bids
}

// tryNew begins an attempt with a nonce of its own.
func (m *Machine) tryNew() {
	if !m.room(Acquire) {
		m.attempt.next = m.now + m.cfg.Retry
		return
	}
	m.attempt.rejoins = false
	m.attempt.count++
	m.attempt.nonce = m.cfg.ID + "/" + strconv.FormatUint(m.attempt.count, 10) + "/" + strconv.FormatUint(m.another(), 36)
	m.become(Candidate)
	m.acquire()
}

// Unforeseen makes the machine ask f for what makes its nonces differ. Where others can
// announce, too, nobody may foresee it: who knows a bid's nonce can forge the news that
// the lease was passed on to it.
func (m *Machine) Unforeseen(f func() uint64) { m.secret = f }

// another is a number for a nonce.
func (m *Machine) another() uint64 {
	if m.secret != nil {
		return m.secret()
	}
	return m.random.next()
}

// tryAgain repeats an attempt whose outcome is open. It keeps the nonce: if an
// earlier request took effect, the store answers with the same token.
func (m *Machine) tryAgain() {
	if !m.room(Acquire) {
		m.attempt.next = m.now + m.cfg.Retry
		return
	}
	m.acquire()
}

func (m *Machine) acquire() {
	m.attempt.missed, m.attempt.deaf = 0, false
	m.attempt.lastSent, m.lastAsked = m.now, m.lastNumber+1
	m.send(Request{
		Call: Acquire, Nonce: m.attempt.nonce, TTL: m.cfg.Lease, Longest: m.longest, Configured: m.cfg.LongestLease, Floor: m.floor, Stands: m.cfg.Bids,
		Value: m.cfg.Value, Version: m.cfg.version(), Timeout: m.cfg.RequestTimeout,
	}, 0)
}

func (m *Machine) acquireAnswered(f flight, in Input) {
	open := m.role == Candidate && f.nonce == m.attempt.nonce
	switch in.Result {
	case Done:
		m.granted(f, in, open)
	case Held:
		m.refused(f, in, open)
	default:
		m.unanswered(f, in.Err)
	}
}

func (m *Machine) granted(f flight, in Input, open bool) {
	if m.term.is(f.nonce, in.Token) && m.term.live {
		m.extend(f) // a repetition of the request that made us leader
		return
	}
	if m.term.is(f.nonce, in.Token) && m.term.working {
		return // a repetition of it, late: the lease is given back when the work has ended
	}
	larger := in.Token > m.floor
	m.floor = max(m.floor, in.Token)
	m.countOn(f, in)
	if !open {
		if m.bid.nonce == f.nonce {
			m.bid = bid{} // it was granted, and is given back
		}
		m.giveBack(f.nonce, in.Token, m.now+m.cfg.Lease)
		m.trouble(Acquire, ErrStray)
		return
	}
	m.attempt.nonce = ""
	switch {
	case m.stopping:
		m.giveBack(f.nonce, in.Token, m.now+m.cfg.Lease)
		m.become(Stopped)
	case !larger:
		m.decline(f.nonce, in.Token, ErrTokenSeen)
	case f.sent+m.usable-m.now < m.cfg.RequestTimeout:
		// Too little is left to be sure of one renewal.
		m.decline(f.nonce, in.Token, ErrTooLate)
	default:
		m.elect(f, in.Token)
	}
}

// decline gives a lease back that was granted to the open attempt.
func (m *Machine) decline(nonce string, token uint64, err error) {
	m.giveBack(nonce, token, m.now+m.cfg.Lease)
	m.attempt.next = m.now + m.cfg.Retry + m.jitter(m.cfg.Retry)
	m.attempt.notBefore = m.attempt.next // also not by the news of our own release
	m.become(Follower)
	m.trouble(Acquire, err)
}

// countOn takes in what the store says of the longest lease. Only the answer to the last
// request may shorten what the candidate counts on.
func (m *Machine) countOn(f flight, in Input) {
	if m.longest = max(m.longest, in.Longest); in.Longest > 0 && f.number == m.lastAsked {
		m.longest = max(m.cfg.LongestLease, in.Longest)
	}
}

func (m *Machine) refused(f flight, in Input, open bool) {
	m.count(in.Waiters)
	m.longest = max(m.longest, in.Longest)
	m.learn(in.Token)
	if m.term.live && f.nonce == m.term.nonce && in.Token > m.term.token {
		// A repetition of the request that made us leader was refused in
		// favour of a later term.
		m.depose(Superseded, nil)
		m.see(in)
		return
	}
	if !open || m.inFlight(Acquire, f.nonce) {
		return // news of yesterday: a later request will tell
	}
	m.countOn(f, in)
	m.attempt.nonce = ""
	m.hears(in.Token)
	m.stand(f, in)
	if m.stopping {
		m.become(Stopped)
		return
	}
	m.become(Follower)
	m.see(in)
	switch {
	case m.attempt.missed >= in.Token && m.attempt.missed != 0, m.attempt.deaf:
		m.attempt.next = m.now + m.turn(Input{})
	case in.Remaining <= 0 && m.attempt.ended == in.Token:
		m.attempt.next = m.now + m.cfg.Retry // a lease that ends and does not go: no reason to hurry
	default:
		// Nobody waits for longer than a lease, whatever the answer says: the key may be
		// deleted meanwhile, and nobody announces it.
		m.attempt.next = m.now + min(max(in.Remaining, 0), m.cfg.Lease) + roundUp + m.spread()
	}
	m.attempt.ended = 0
	if in.Remaining <= 0 {
		m.attempt.ended = in.Token
	}
}

// hears notes the token of an answer of the store. What was announced before the request
// was sent is forgotten: it may have been a lie, and would make true news look old.
func (m *Machine) hears(token uint64) {
	a := &m.attempt
	if token > 0 {
		if a.freed >= token && a.freed > a.missed {
			a.rest = m.now + m.cfg.Retry // it was a lie, and may be repeated
		}
		a.lastToken = token
	}
	a.freed, a.heard = a.missed, 0
}

// see announces a leader that was not announced before.
func (m *Machine) see(in Input) {
	now := seen{in.Holder, in.Token}
	if now == m.leader || in.Holder == "" { // a store may grant nobody the lease for a time
		return
	}
	m.leader = now
	m.emit(Transition{Kind: LeaderSeen, Holder: in.Holder, Token: in.Token, Remaining: in.Remaining})
}

// hintReleased makes the try that is due later happen soon, once for each
// term: a hint that is repeated, or older than what an answer told, costs
// nothing.
func (m *Machine) hintReleased(in Input) {
	a := &m.attempt
	if in.Token < a.lastToken || in.Token <= a.freed {
		return
	}
	if m.likely(in.Token) {
		a.freed = in.Token
	} else {
		a.rest = max(a.rest, a.lastSent+m.cfg.Retry)
	}
	m.count(in.Waiters)
	ours := in.Holder == m.cfg.ID
	switch {
	case in.Holder != "" && in.Remaining > 0 && !ours: // handed over to somebody else
		if m.role == Follower {
			a.next = min(a.next, max(a.notBefore, a.rest, m.now+min(in.Remaining, m.cfg.Lease)+roundUp+m.spread()))
		}
	case in.Remaining > 0 && ours && m.role == Follower && m.likely(in.Token):
		a.notBefore, a.next = 0, m.now // to us: nobody else may ask
	case in.Remaining > 0 && ours && m.role == Follower: // the store can say whether it is true
		a.next = min(a.next, max(a.rest, m.now))
	case m.role == Candidate && m.inFlight(Acquire, a.nonce):
		a.missed = in.Token
	case m.role == Follower || m.role == Candidate:
		a.next = min(a.next, max(a.notBefore, a.rest, m.now+m.turn(in)))
	}
}

// hintGranted puts the try off to the end of a lease that somebody else was
// quicker to get, once for each term, and to no later than a lease after the last
// one: the timed try stays, whatever is announced, and so others know who lives.
func (m *Machine) hintGranted(in Input) {
	a := &m.attempt
	m.count(in.Waiters)
	if m.role != Follower || !m.started || !Credible(in.Token, a.lastToken) || in.Token <= a.lastToken || in.Token <= a.freed || in.Token <= a.heard {
		return
	}
	if m.likely(in.Token) { // a lie further above would make the truth look old
		a.heard = in.Token
		// A store that loses its data must not hand it out again, and nobody else may
		// live who knows of it.
		m.learn(in.Token)
	}
	a.notBefore = 0
	due := max(m.now, a.lastSent+m.cfg.Lease) + m.jitter(m.cfg.Retry) // many may have asked at one time
	a.next = max(a.rest, min(due, m.now+min(in.Remaining, m.cfg.Lease)+roundUp+m.spread()))
	if a.rejoins {
		a.next = max(a.rest, m.now)
	}
}

// learn notes a token that somebody else has: the next one must be larger.
func (m *Machine) learn(token uint64) {
	if Credible(token, m.floor) {
		m.floor = max(m.floor, token)
	}
}

// rumour is learn of a token that was announced.
func (m *Machine) rumour(token uint64) {
	if m.likely(token) {
		m.learn(token)
	}
}

// likely reports whether an announced token is no further than maxRumour above the last
// one that the store named. Only such a token is remembered.
func (m *Machine) likely(token uint64) bool { return token <= m.attempt.lastToken+maxRumour }

// listens makes the next try come soon: announcements are heard from now on, and before
// some may have been missed. If the lease was passed on to the bid meanwhile, nobody else
// knows, so the bid is taken back.
func (m *Machine) listens() {
	a := &m.attempt
	m.withdraw()
	switch {
	case m.role == Candidate && m.inFlight(Acquire, a.nonce):
		a.deaf = true
	case m.role == Follower || m.role == Candidate:
		a.next = min(a.next, max(a.notBefore, a.rest, m.now+m.spread()))
	}
}

// turn is when to try for a lease that was released just now: at once for the one
// that the store named, if it named one. The others give that one a head start of
// the time in which the news of its success can come. Where nobody is named a few who
// wait all try at once; of many, each does with such a chance that about three do.
func (m *Machine) turn(in Input) time.Duration {
	switch {
	case in.Holder == m.cfg.ID:
		return 0
	case in.Holder != "":
		return headStart + min(in.RoundTrip, m.cfg.Retry) + m.spread()
	case m.waiters <= fewWaiters || m.random.next()%uint64(m.waiters) < eager:
		return 0
	default:
		return headStart + m.spread()
	}
}

// count notes how many wait, if the store tells.
func (m *Machine) count(waiters int) {
	if waiters > 0 {
		m.waiters = min(waiters, maxWaiters)
	}
}

// spread is a random time that grows with the number of those who wait.
func (m *Machine) spread() time.Duration {
	return m.jitter(min(time.Duration(max(m.waiters, fewWaiters))*perWaiter, m.cfg.Retry))
}
