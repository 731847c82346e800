package machine

import (
	"slices"
	"time"
)

// MentionTokens mentions every token of a settled state.
func (m *Machine) MentionTokens(n *Notation) {
	a := &m.attempt
	n.Mention(m.floor)
	n.Mention(a.lastToken)
	n.Mention(a.freed)
	n.Mention(a.missed)
	n.Mention(a.heard)
	n.Mention(a.ended)
	n.Mention(m.term.token)
	for i := range m.flights {
		n.Mention(m.flights[i].token)
	}
	for i := range m.releases {
		n.Mention(m.releases[i].token)
	}
}

// The bits of a state's first byte, above its role.
const (
	bitStarted = 1 << (iota + 3)
	bitStopping
	bitWorking
	bitCalling
	bitGiven
)

// AppendState appends a settled state but for its names, which AppendNames
// appends: times count from now. Two machines that append the same bytes decide
// alike, but for names and for what they publish, if their settings are the same.
func (m *Machine) AppendState(b []byte, now time.Duration, n *Notation) []byte {
	a, t := &m.attempt, &m.term
	b = append(b,
		byte(m.role)|bit(m.started, bitStarted)|bit(m.stopping, bitStopping)|bit(t.working, bitWorking)|bit(t.calling, bitCalling)|bit(t.given, bitGiven),
		byte(len(m.flights))<<4|byte(len(m.releases)),
		n.Token(m.floor), n.Token(a.lastToken), n.Token(a.freed), n.Token(a.heard), n.Token(a.ended), Span(a.rest-now))
	switch m.role {
	case Follower, Candidate:
		b = append(b, Span(a.next-now), Span(a.notBefore-now), Span(a.lastSent-now), n.Token(a.missed))
	case Stopped:
		b = append(b, Span(m.doneBy-now))
	}
	if t.live || t.working {
		b = append(b, n.Token(t.token), Span(t.lastSent-now))
	}
	if t.live {
		b = append(b, Span(t.begun-now), Span(t.deadline-now), Span(t.tick-now), Span(t.renewAt-now), byte(t.ending), Span(t.drainBy-now))
	}
	if m.cfg.Bids {
		over := t.nonce != "" && !t.live && !t.working
		b = append(b, bit(m.bid.nonce != "", bitBid)|bit(over, bitOver)|bit(a.rejoins, bitRejoins))
		if m.bid.nonce != "" {
			b = append(b, Span(m.bid.sent-now))
		}
		if over {
			b = append(b, n.Token(t.token))
		}
	}
	for i := range m.flights {
		f := &m.flights[i]
		b = append(b, byte(f.call)|bit(f.abandoned, bitAbandoned), n.Token(f.token), Span(f.sent-now), Span(f.giveUp-now))
	}
	for i := range m.releases {
		r := &m.releases[i]
		b = append(b, n.Token(r.token)|bit(r.sent, bitSent), Span(r.until-now), Span(r.at-now))
	}
	return b
}

// The bits of a byte of those who leave bids.
const (
	bitBid     = 1 << iota // there is one
	bitOver                // the last term is over, and may be told of again
	bitRejoins             // no request since
)

const (
	bitAbandoned = 1 << 7 // beside a call
	bitSent      = 1 << 7 // beside a token
)

func bit(is bool, value byte) byte {
	if is {
		return value
	}
	return 0
}

// AppendNames appends the names of a settled state.
func (m *Machine) AppendNames(b []byte, n *Notation) []byte {
	if m.role == Candidate {
		b = append(b, n.Nonce(m.attempt.nonce))
	}
	if m.term.live || m.term.working {
		b = append(b, n.Nonce(m.term.nonce), n.ID(m.term.successor))
	} else if m.term.nonce != "" {
		b = append(b, n.Nonce(m.term.nonce))
	}
	if m.bid.nonce != "" {
		b = append(b, n.Nonce(m.bid.nonce))
	}
	for i := range m.flights {
		b = append(b, n.Nonce(m.flights[i].nonce))
	}
	for i := range m.releases {
		b = append(b, n.Nonce(m.releases[i].nonce), n.ID(m.releases[i].to))
	}
	return b
}

// reader takes bytes one after another.
type reader struct {
	bytes []byte
	at    int
	now   time.Duration
}

func (r *reader) byte() byte {
	r.at++
	return r.bytes[r.at-1]
}

func (r *reader) token() uint64 { return uint64(r.byte()) }

func (r *reader) time() time.Duration { return r.now + SpanOf(r.byte()) }

// LoadState makes the machine go on at the time now from a state that AppendState
// wrote, and returns the bytes behind it. LoadNames must follow. The requests
// without an answer are numbered from 1 on.
func (m *Machine) LoadState(b []byte, now time.Duration) (rest []byte) {
	r := reader{bytes: b, now: now}
	m.now, m.err, m.doneBy, m.lastNumber = 0, nil, 0, 0
	m.attempt, m.bid, m.term, m.leader, m.waiters = attempt{}, bid{}, term{}, seen{}, 0
	m.silent, m.silentSince, m.refusal, m.unreachable, m.hangsAt = false, 0, nil, false, Never
	m.flights, m.releases = m.flights[:0], m.releases[:0]
	a, t := &m.attempt, &m.term
	flags, counts := r.byte(), r.byte()
	m.role = Role(flags & (bitStarted - 1))
	m.started, m.stopping = flags&bitStarted != 0, flags&bitStopping != 0
	t.live, t.working, t.calling, t.given = leads(m.role), flags&bitWorking != 0, flags&bitCalling != 0, flags&bitGiven != 0
	m.floor, a.lastToken, a.freed, a.heard, a.ended, a.rest = r.token(), r.token(), r.token(), r.token(), r.token(), r.time()
	switch m.role {
	case Follower, Candidate:
		a.next, a.notBefore, a.lastSent, a.missed = r.time(), r.time(), r.time(), r.token()
	case Stopped:
		m.doneBy = r.time()
	}
	if t.live || t.working {
		t.token, t.lastSent = r.token(), r.time()
	}
	if t.live {
		t.begun, t.deadline, t.tick, t.renewAt, t.ending, t.drainBy = r.time(), r.time(), r.time(), r.time(), Why(r.byte()), r.time()
	}
	m.loadBid(&r)
	for range counts >> 4 {
		m.lastNumber++
		call := r.byte()
		m.flights = append(m.flights, flight{
			number: m.lastNumber, call: Call(call &^ bitAbandoned), abandoned: call&bitAbandoned != 0,
			token: r.token(), sent: r.time(), giveUp: r.time(),
		})
	}
	if m.bid.nonce != "" {
		m.lastNumber++
		m.bid.number = m.lastNumber
	}
	for range counts & 15 {
		token := r.byte()
		m.releases = append(m.releases, release{token: uint64(token &^ bitSent), sent: token&bitSent != 0, until: r.time(), at: r.time()})
	}
	return r.bytes[r.at:]
}

// loadBid reads what those who leave bids have besides. The nonces stand for those
// that LoadNames reads.
func (m *Machine) loadBid(r *reader) {
	if !m.cfg.Bids {
		return
	}
	flags := r.byte()
	m.attempt.rejoins = flags&bitRejoins != 0
	if flags&bitBid != 0 {
		m.bid = bid{nonce: unread, sent: r.time()}
	}
	if flags&bitOver != 0 {
		m.term.nonce, m.term.token = unread, r.token()
	}
}

// unread is a nonce that LoadNames will read.
const unread = "#"

// bidReference is how a settled state names the request that is the bid.
const bidReference = 15

// Reference is how a settled state names a request: by its place among those that
// have no answer, or as the bid; 0 is one that is neither, for which no lease can
// be passed on.
func (m *Machine) Reference(number uint64) byte {
	if m.bid.nonce != "" && m.bid.number == number {
		return bidReference
	}
	return byte(slices.IndexFunc(m.flights, func(f flight) bool { return f.number == number }) + 1)
}

// NumberOf is the number of the request that was named so.
func (m *Machine) NumberOf(reference byte) uint64 {
	if reference == bidReference {
		return m.bid.number
	}
	return uint64(reference)
}

// LoadNames reads what AppendNames wrote, of candidates that are called ids now,
// and returns the bytes behind it.
func (m *Machine) LoadNames(b []byte, ids []string) (rest []byte) {
	r := reader{bytes: b}
	if m.role == Candidate {
		m.attempt.nonce = NonceOf(r.byte())
	}
	if m.term.live || m.term.working {
		m.term.nonce, m.term.successor = NonceOf(r.byte()), IDOf(r.byte(), ids)
	} else if m.term.nonce != "" {
		m.term.nonce = NonceOf(r.byte())
	}
	if m.bid.nonce != "" {
		m.bid.nonce = NonceOf(r.byte())
	}
	for i := range m.flights {
		m.flights[i].nonce = NonceOf(r.byte())
	}
	for i := range m.releases {
		m.releases[i].nonce, m.releases[i].to = NonceOf(r.byte()), IDOf(r.byte(), ids)
	}
	return r.bytes[r.at:]
}
