package quorum

import (
	"cmp"
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
	}
	for _, c := range m.claims {
		c.concerned = c.latest != nil || c.nonce == nonce
	}
	for _, k := range m.calls {
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
	for at, c := range m.claims {
		if !c.concerned {
			delete(m.claims, at)
			continue
		}
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
	m.sort()
}

// concerns says whether the answer changes anything of the claim.
func (f *flight) concerns() bool { return !f.call.over || f.ask <= AskRenew || f.next != noNext }

// sort puts the claims into the order of their nonces.
func (m *Machine) sort() {
	m.sorted = m.sorted[:0]
	for _, c := range m.claims {
		m.sorted = append(m.sorted, c)
	}
	slices.SortFunc(m.sorted, func(a, b *claim) int { return cmp.Compare(a.nonce, b.nonce) })
}

// MentionTokens tells every token of a settled state.
func (m *Machine) MentionTokens(mention func(uint64)) {
	mention(m.high)
	for _, c := range m.claims {
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
	nextAt    = 3 // above an ask
	bitSilent = 1 << 6
	overCall  = 15
	noClaim   = 15
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
	b = append(b, byte(f.ask)|byte(f.next)<<nextAt|bit(f.silent, bitSilent), byte(at)<<4|byte(of), c.Token(f.token), c.Token(f.floor))
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

// reader takes bytes one after another.
type reader struct {
	bytes []byte
	now   time.Duration
	*Codes
}

func (r *reader) byte() byte {
	b := r.bytes[0]
	r.bytes = r.bytes[1:]
	return b
}

func (r *reader) token() uint64 { return uint64(r.byte()) }

func (r *reader) time() time.Duration { return r.now + r.SpanOf(r.byte()) }

// LoadState makes the machine go on at the time now from a state that AppendState
// wrote, and returns the bytes behind it. LoadNode must follow, for each node.
func (m *Machine) LoadState(b []byte, now time.Duration, c *Codes) (rest []byte) {
	r := &reader{b, now, c}
	m.now, m.last, m.told, m.rivalry = 0, 0, 0, Rivalry{}
	m.flights, m.calls = m.flights[:0], m.calls[:0]
	clear(m.claims)
	m.high = r.token()
	counts := r.byte()
	latest := make([]byte, counts>>4)
	claims := make([]*claim, counts>>4)
	for i := range claims {
		own := &claim{name: name{c.ID, c.NonceOf(r.byte())}, Claim: NewClaim(m.cfg.Nodes), touched: now}
		own.Token, own.Sent, own.TTL, latest[i] = r.token(), r.time(), r.time()-now, r.byte()
		own.open = latest[i]&bitOpen != 0
		claims[i], m.claims[own.name] = own, own
	}
	m.sorted = claims
	for range counts & 15 {
		m.calls = append(m.calls, m.loadCall(r, claims))
	}
	for i, own := range claims {
		if at := latest[i] >> 1; at > 0 {
			own.latest = m.calls[at-1]
		}
	}
	return r.bytes
}

func (m *Machine) loadCall(r *reader, claims []*claim) *call {
	head, n := r.byte(), m.cfg.Nodes
	own := claims[head&15]
	k := &call{
		kind: InputKind(head >> 4), number: uint64(len(m.calls)) + 1, claim: own, ttl: own.TTL, patience: r.Patience,
		Attempt: Attempt{Verdicts: make([]Verdict, n)}, errs: make([]error, n),
	}
	k.token, k.began = r.token(), r.time()
	flags := r.byte()
	k.Late, k.hurried, k.failed = flags&bitLate != 0, flags&bitHurried != 0, flags&bitFailed != 0
	if k.floor = r.token(); k.hurried && !k.Late {
		k.grace = r.time()
	}
	if k.kind == BeginAcquire {
		k.Tokens, k.aligned = make([]uint64, n), make([]int, n)
		k.refused = Refused{Denials: make([]*Denial, n), Freed: make([]bool, n)}
	}
	return k
}

// LoadNode reads what AppendNode wrote, of node n now, and returns the bytes
// behind it. The requests are numbered on in the order in which they are read.
func (m *Machine) LoadNode(b []byte, n int, now time.Duration, c *Codes) (rest []byte) {
	r := &reader{b, now, c}
	claims := m.sorted
	for _, own := range claims {
		h := &own.Nodes[n]
		h.Token, h.Dropped = r.token(), r.token()
		flags := r.byte()
		h.Counted, h.gone, h.asked = flags&bitCounted != 0, flags&bitGone != 0, r.time()
	}
	for _, k := range m.calls {
		v := r.byte()
		k.Verdicts[n] = Verdict(v & (bitFreed - 1))
		if k.kind != BeginAcquire {
			continue
		}
		k.refused.Freed[n], k.aligned[n] = v&bitFreed != 0, int(v>>alignedAt)
		if v&bitDenied != 0 {
			k.refused.Denials[n] = &Denial{}
		}
		if k.Verdicts[n] == Yes {
			k.Tokens[n] = r.token()
		}
	}
	for range r.byte() {
		m.flights = append(m.flights, m.loadFlight(r, n, claims))
	}
	return r.bytes
}

func (m *Machine) loadFlight(r *reader, n int, claims []*claim) flight {
	m.last++
	head, of := r.byte(), r.byte()
	f := flight{
		number: m.last, node: n, ask: Ask(head & (1<<nextAt - 1)), next: next(head &^ bitSilent >> nextAt), silent: head&bitSilent != 0,
		token: r.token(), floor: r.token(),
	}
	if at := of >> 4; at == noClaim {
		f.claim = &claim{Claim: NewClaim(m.cfg.Nodes)}
	} else {
		f.claim = claims[at]
	}
	if at := of & 15; at != overCall {
		f.call = m.calls[at]
		return f
	}
	f.call = &call{over: true, claim: f.claim, ttl: f.claim.TTL, patience: r.Patience, token: r.token(), began: r.time()}
	return f
}

// Requests is the number of the last request.
func (m *Machine) Requests() uint64 { return m.last }

// AppendNonces appends the nonces of all claims.
func (m *Machine) AppendNonces(list []string) []string {
	for at := range m.claims {
		list = append(list, at.nonce)
	}
	return list
}
