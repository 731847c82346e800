package quorum

import "time"

// spare is what a machine that is read again and again is made of: of one state
// after another.
type spare struct {
	claims  []*claim
	claimed int // how many of them are in use
	calls   []*call
	called  int
	denial  Denial // that of all nodes which refused: nobody looks at what it says
}

// claim is a claim that nothing is known of.
func (s *spare) claim(nodes int) *claim {
	if s.claimed == len(s.claims) {
		s.claims = append(s.claims, &claim{Claim: NewClaim(nodes)})
	}
	c := s.claims[s.claimed]
	s.claimed++
	clear(c.Nodes)
	*c = claim{Claim: Claim{Nodes: c.Nodes}}
	return c
}

// call is a call that no node has answered.
func (s *spare) call(nodes int) *call {
	if s.called == len(s.calls) {
		s.calls = append(s.calls, &call{
			Attempt: Attempt{Verdicts: make([]Verdict, nodes), Tokens: make([]uint64, nodes)}, errs: make([]error, nodes),
			acquisition: acquisition{aligned: make([]int, nodes), refused: Refused{Denials: make([]*Denial, nodes), Freed: make([]bool, nodes)}},
		})
	}
	k := s.calls[s.called]
	s.called++
	a, q := k.Attempt, k.acquisition
	clear(a.Verdicts)
	clear(a.Tokens)
	clear(k.errs)
	clear(q.aligned)
	clear(q.refused.Denials)
	clear(q.refused.Freed)
	*k = call{Attempt: Attempt{Verdicts: a.Verdicts, Tokens: a.Tokens}, errs: k.errs, acquisition: acquisition{aligned: q.aligned, refused: q.refused}}
	return k
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
	r := reader{b, now, c}
	m.now, m.last, m.reported, m.rivalry = 0, 0, 0, Rivalry{}
	m.flights, m.calls = m.flights[:0], m.calls[:0]
	m.spare.claimed, m.spare.called = 0, 0
	clear(m.claims)
	m.high = r.token()
	counts := r.byte()
	var latest [16]byte
	m.sorted = m.sorted[:0]
	for i := range counts >> 4 {
		own := m.spare.claim(m.cfg.Nodes)
		own.name, own.touched = name{c.ID, c.NonceOf(r.byte())}, now
		own.Token, own.Sent, own.TTL, latest[i] = r.token(), r.time(), r.time()-now, r.byte()
		own.open = latest[i]&bitOpen != 0
		m.sorted, m.claims[own.name] = append(m.sorted, own), own
	}
	for range counts & 15 {
		m.calls = append(m.calls, m.loadCall(&r))
	}
	for i, own := range m.sorted {
		if at := latest[i] >> 1; at > 0 {
			own.latest = m.calls[at-1]
		}
	}
	return r.bytes
}

func (m *Machine) loadCall(r *reader) *call {
	head := r.byte()
	k := m.spare.call(m.cfg.Nodes)
	k.kind, k.number, k.claim, k.patience = InputKind(head>>4), uint64(len(m.calls))+1, m.sorted[head&15], r.Patience
	k.ttl = k.claim.TTL
	k.token, k.began = r.token(), r.time()
	flags := r.byte()
	k.Late, k.hurried, k.failed = flags&bitLate != 0, flags&bitHurried != 0, flags&bitFailed != 0
	if k.floor = r.token(); k.hurried && !k.Late {
		k.grace = r.time()
	}
	return k
}

// LoadNode reads what AppendNode wrote, of node n now, and returns the bytes
// behind it. The requests are numbered on in the order in which they are read.
func (m *Machine) LoadNode(b []byte, n int, now time.Duration, c *Codes) (rest []byte) {
	r := reader{b, now, c}
	for _, own := range m.sorted {
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
			k.refused.Denials[n] = &m.spare.denial
		}
		if k.Verdicts[n] == Yes {
			k.Tokens[n] = r.token()
		}
	}
	for range r.byte() {
		m.flights = append(m.flights, m.loadFlight(&r, n))
	}
	return r.bytes
}

func (m *Machine) loadFlight(r *reader, n int) flight {
	m.last++
	head, of := r.byte(), r.byte()
	f := flight{
		number: m.last, node: n, ask: Ask(head & (1<<nextAt - 1)), next: next(head &^ (bitSilent | bitUncounted) >> nextAt), silent: head&bitSilent != 0, uncounted: head&bitUncounted != 0,
		token: r.token(), floor: r.token(),
	}
	if at := of >> 4; at == noClaim {
		f.claim = m.spare.claim(m.cfg.Nodes)
	} else {
		f.claim = m.sorted[at]
	}
	if at := of & 15; at != overCall {
		f.call = m.calls[at]
		return f
	}
	k := m.spare.call(m.cfg.Nodes)
	k.over, k.claim, k.ttl, k.patience, k.token, k.began = true, f.claim, f.claim.TTL, r.Patience, r.token(), r.time()
	f.call = k
	return f
}
