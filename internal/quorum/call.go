package quorum

import (
	"slices"
	"time"
)

// call is a call that acquires, renews or releases.
type call struct {
	kind     InputKind
	number   uint64
	claim    *claim
	token    uint64 // of the lease
	ttl      time.Duration
	began    time.Duration
	patience time.Duration
	over     bool

	Attempt         // Tokens only where it acquires
	errs    []error // by node
	hurried bool    // stragglers have until grace
	grace   time.Duration
	acquisition
}

// begin makes a call known.
func (m *Machine) begin(in *Input, c *claim) *call {
	n := m.cfg.Nodes
	k := &call{
		kind: in.Kind, number: in.Call, claim: c, token: in.Token, ttl: in.TTL, began: m.now, patience: in.Patience,
		Attempt: Attempt{Verdicts: make([]Verdict, n)}, errs: make([]error, n),
	}
	m.calls = append(m.calls, k)
	return k
}

// decide gets on with a call: it ends it if its outcome is certain.
func (m *Machine) decide(k *call) {
	switch k.kind {
	case BeginAcquire:
		m.try(k)
	case BeginRenew:
		m.renewed(k)
	default:
		m.released(k)
	}
}

// end ends a call.
func (m *Machine) end(k *call, e Ending) {
	k.over = true
	if k.claim.latest == k {
		k.claim.latest, k.claim.open = nil, false
	}
	m.calls = slices.DeleteFunc(m.calls, func(other *call) bool { return other == k })
	e.Call = k.number
	if e.Verdicts == nil {
		e.Verdicts, e.Errs = k.Verdicts, k.errs
	}
	m.endings = append(m.endings, e)
}

// hurry gives those who have not answered as long again as the others took.
func (m *Machine) hurry(k *call) {
	if !k.hurried {
		k.hurried, k.grace = true, m.now+max(m.now-k.began, minGrace)
	}
}

// calm takes that time back.
func (k *call) calm() { k.hurried, k.Late = false, false }

// giveUp ends a call that nobody waits for any more. What is certain is told all
// the same.
func (m *Machine) giveUp(number uint64) {
	k := m.find(number)
	if k == nil {
		return
	}
	switch outcome := Renewed(k.Verdicts); {
	case k.kind == BeginAcquire:
		m.giveUpAcquiring(k)
	case k.kind == BeginRelease && outcome != Open:
		m.end(k, Ending{Outcome: outcome})
	default:
		m.end(k, Ending{Outcome: GivenUp})
	}
}

// count takes in what a node's answer means to a call that is decided by
// counting.
func (m *Machine) count(k *call, n int, v Verdict, err error) {
	if !k.over {
		k.Verdicts[n], k.errs[n] = v, err
		m.decide(k)
	}
}

// flight is a request without an answer.
type flight struct {
	number    uint64
	ask       Ask
	next      next
	node      int
	call      *call
	claim     *claim
	token     uint64 // AskRenew: that is renewed
	uncounted bool   // AskRelease: of a grant that does not count for the term, or may not have
	floor     uint64 // next is tryAgain: of the try
	silent    bool   // its patience is over
}

// next is what follows when a node has given something back.
type next uint8

const (
	noNext    next = iota
	tryAgain       // the call asks it once more
	mendNext       // it is mended
	clearNext      // the call that failed goes on settling
)

// send sends a request for a call.
func (m *Machine) send(k *call, f flight, r Request) {
	m.last++
	f.number, f.call, f.claim = m.last, k, k.claim
	r.Number, r.Call, r.Node, r.Ask, r.ID, r.Nonce = f.number, k.number, f.node, f.ask, k.claim.id, k.claim.nonce
	m.flights = append(m.flights, f)
	m.requests = append(m.requests, r)
}

// giveBack gives back what a node granted, which answered with that token.
func (m *Machine) giveBack(k *call, f flight, answered uint64, patience time.Duration) {
	f.ask = AskBack
	m.send(k, f, Request{Token: k.claim.Drop(f.node, answered), TTL: k.claim.TTL, Patience: patience})
}

// answer takes in what a node answered, however late.
func (m *Machine) answer(in *Input) {
	i := m.flight(in.Request)
	if i < 0 {
		return
	}
	f := m.flights[i]
	m.flights = slices.Delete(m.flights, i, i+1)
	m.note(&f, in)
	if !f.silent {
		m.reply(&f, in)
	}
}

// silence takes in that a node has not answered in time.
func (m *Machine) silence(in *Input) {
	i := m.flight(in.Request)
	if i < 0 || m.flights[i].silent {
		return
	}
	m.flights[i].silent = true
	f := m.flights[i]
	m.reply(&f, &Input{Verdict: Silent, Err: in.Err})
}

func (m *Machine) flight(number uint64) int {
	return slices.IndexFunc(m.flights, func(f flight) bool { return f.number == number })
}

// note notes what an answer says of the claim. What nobody waits for any more is
// given back.
func (m *Machine) note(f *flight, in *Input) {
	c := f.claim
	switch {
	case f.ask == AskRenew && in.Verdict == No:
		c.Lost(f.node, f.token, f.call.began)
	case f.ask != AskGrant && f.ask != AskMend:
	case in.Denial != nil:
		m.saw(in.Denial.Token)
	case in.Verdict == Yes:
		m.saw(in.Token)
		c.Granted(f.node, in.Token, m.now)
		if !c.open && c.Token == 0 {
			m.giveBack(f.call, flight{node: f.node}, in.Token, m.cfg.Timeout)
		}
	}
}

// reply tells the call what a node answered, or that it did not.
func (m *Machine) reply(f *flight, in *Input) {
	switch f.ask {
	case AskGrant:
		m.tried(f.call, f.node, in)
	case AskMend:
		v := in.Verdict
		if v == Yes && !f.claim.Counts(f.node, in.Token) {
			v = No
		}
		m.count(f.call, f.node, v, in.Err)
	case AskRenew, AskRelease:
		if f.uncounted && in.Verdict == Yes {
			m.count(f.call, f.node, Silent, errUncounted) // the term may have been over
			return
		}
		m.count(f.call, f.node, in.Verdict, in.Err)
	case AskBack:
		m.gaveBack(f, in)
	}
}

// gaveBack goes on with what a node is to do once it has given something back.
func (m *Machine) gaveBack(f *flight, in *Input) {
	gone := in.Verdict == Yes || in.Verdict == No
	switch f.next {
	case tryAgain:
		m.aligned(f, gone, in)
	case mendNext:
		if gone {
			m.mend(f.call, f.node)
			return
		}
		m.count(f.call, f.node, in.Verdict, in.Err)
	case clearNext:
		m.tried(f.call, f.node, in)
	}
}
