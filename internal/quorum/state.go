package quorum

import (
	"slices"
	"time"
)

// Wake is when the machine wants to be woken, as the last step's Output said.
func (m *Machine) Wake() time.Duration { return m.wake() }

// Codes are how the parts of one world write what they share, each as one byte:
// tokens, times from the present on, and nonces; and how they read it again. Zero
// and the empty string are written as 0. A token is read as the number that was
// written.
type Codes struct {
	Token   func(uint64) byte
	Span    func(time.Duration) byte
	SpanOf  func(byte) time.Duration
	Nonce   func(string) byte
	NonceOf func(byte) string

	ID       string        // of the candidate
	Patience time.Duration // of every call
}

// Settle brings the state into the plainest form from which the machine asks the
// same, and ends calls alike, at the time now and later. Claims go of which
// nothing is under way, but that of the nonce; and floors go that no node needs,
// since each has handed out least at the least. What only refusals tell (the rival,
// the time until the next try, who waits) is not written.
func (m *Machine) Settle(now time.Duration, nonce string, least uint64) {
	if m.high <= least {
		m.high = 0
	}
	for _, k := range m.calls {
		if k.floor <= least {
			k.floor = 0
		}
		k.claim.concerned = true
	}
	for i := range m.flights {
		f := &m.flights[i]
		if f.floor <= least {
			f.floor = 0
		}
		if f.call.over && f.next != mendNext {
			f.next = noNext
		}
		f.claim.concerned = f.claim.concerned || f.concerns()
	}
	m.sorted = m.sorted[:0]
	for at, c := range m.claims {
		if !c.concerned && c.latest == nil && c.nonce != nonce {
			delete(m.claims, at)
			continue
		}
		c.settle(now)
		i := len(m.sorted)
		for i > 0 && m.sorted[i-1].nonce > c.nonce {
			i--
		}
		m.sorted = slices.Insert(m.sorted, i, c)
	}
	for _, k := range m.calls {
		k.claim.concerned = false
	}
	for i := range m.flights {
		m.flights[i].claim.concerned = false
	}
}

// settle makes times no older than anybody can tell.
func (c *claim) settle(now time.Duration) {
	oldest := now - c.TTL*3/4 - time.Millisecond // is not fresh: see fresh
	c.Sent = max(c.Sent, oldest)
	for n := range c.Nodes {
		h := &c.Nodes[n]
		h.asked = max(h.asked, oldest)
		if !h.gone {
			h.asked = oldest
		}
	}
}

// concerns reports whether the answer changes anything of the claim.
func (f *flight) concerns() bool { return !f.call.over || f.ask <= AskRenew || f.next != noNext }

// MentionTokens tells every token of a settled state.
func (m *Machine) MentionTokens(mention func(uint64)) {
	mention(m.high)
	for _, c := range m.sorted {
		mention(c.Token)
		for n := range c.Nodes {
			mention(c.Nodes[n].Token)
			mention(c.Nodes[n].Dropped)
		}
	}
	for _, k := range m.calls {
		mention(k.token)
		mention(k.floor)
		for _, t := range k.Tokens {
			mention(t)
		}
	}
	for i := range m.flights {
		f := &m.flights[i]
		mention(f.token)
		mention(f.floor)
		mention(f.call.token)
	}
}

// The bits of a state's flags.
const (
	bitOpen = 1 << iota
	bitLate
	bitHurried
	bitFailed
)

const (
	bitCounted = 1 << iota
	bitGone
)

const (
	bitFreed = 1 << (iota + 3) // above a verdict
	bitDenied
	alignedAt = 5 // where it stands how often a node was aligned
)

const (
	nextAt       = 3 // above an ask
	bitSilent    = 1 << 6
	bitUncounted = 1 << 7
	overCall     = 15
	noClaim      = 15
)

func bit(is bool, value byte) byte {
	if is {
		return value
	}
	return 0
}

// AppendState appends a settled state, but for what belongs to single nodes:
// AppendNode appends that.
func (m *Machine) AppendState(b []byte, now time.Duration, c *Codes) []byte {
	claims := m.sorted
	b = append(b, c.Token(m.high), byte(len(claims))<<4|byte(len(m.calls)))
	for _, own := range claims {
		b = append(b, c.Nonce(own.nonce), c.Token(own.Token), c.Span(own.Sent-now), c.Span(own.TTL),
			bit(own.open, bitOpen)|byte(slices.Index(m.calls, own.latest)+1)<<1)
	}
	for _, k := range m.calls {
		b = append(b, byte(k.kind)<<4|byte(slices.Index(claims, k.claim)), c.Token(k.token), c.Span(k.began-now),
			bit(k.Late, bitLate)|bit(k.hurried, bitHurried)|bit(k.failed, bitFailed), c.Token(k.floor))
		if k.hurried && !k.Late {
			b = append(b, c.Span(k.grace-now))
		}
	}
	return b
}

// AppendNode appends what of a settled state belongs to node n.
func (m *Machine) AppendNode(b []byte, n int, now time.Duration, c *Codes) []byte {
	claims := m.sorted
	for _, own := range claims {
		h := &own.Nodes[n]
		b = append(b, c.Token(h.Token), c.Token(h.Dropped), bit(h.Counted, bitCounted)|bit(h.gone, bitGone), c.Span(h.asked-now))
	}
	for _, k := range m.calls {
		b = append(b, byte(k.Verdicts[n]))
		if k.kind != BeginAcquire {
			continue
		}
		b[len(b)-1] |= bit(k.refused.Freed[n], bitFreed) | bit(k.refused.Denials[n] != nil, bitDenied) | byte(k.aligned[n])<<alignedAt
		if k.Verdicts[n] == Yes {
			b = append(b, c.Token(k.Tokens[n]))
		}
	}
	start := len(b)
	b = append(b, 0)
	for i := range m.flights {
		if f := &m.flights[i]; f.node == n {
			b[start]++
			b = m.appendFlight(b, f, claims, now, c)
		}
	}
	return b
}

func (m *Machine) appendFlight(b []byte, f *flight, claims []*claim, now time.Duration, c *Codes) []byte {
	at, of := noClaim, overCall
	if f.concerns() {
		at = slices.Index(claims, f.claim)
	}
	if !f.call.over {
		of = slices.Index(m.calls, f.call)
	}
	b = append(b, byte(f.ask)|byte(f.next)<<nextAt|bit(f.silent, bitSilent)|bit(f.uncounted && of != overCall, bitUncounted), byte(at)<<4|byte(of), c.Token(f.token), c.Token(f.floor))
	if of != overCall {
		return b
	}
	var token uint64
	began := now
	switch {
	case f.next == mendNext:
		token = f.call.token
	case f.ask == AskRenew:
		began = max(f.call.began, now-f.claim.TTL)
	}
	return append(b, c.Token(token), c.Span(began-now))
}

// Requests is the number of the last request.
func (m *Machine) Requests() uint64 { return m.last }

// AppendNonces appends the nonces of all claims of a settled state, in their order.
func (m *Machine) AppendNonces(list []string) []string {
	for _, c := range m.sorted {
		list = append(list, c.nonce)
	}
	return list
}
