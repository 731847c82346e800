package virtual

import (
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// ballot is a call on all the stores that is decided by counting.
type ballot struct {
	joint
	claim    *claim // nil for a question
	verdicts []quorum.Verdict
	late     bool // stragglers have had their time
	decide   func()
}

func (m *majority) ballot(j joint, c *claim) *ballot {
	b := &ballot{joint: j, claim: c, verdicts: make([]quorum.Verdict, len(m.node.clients))}
	b.at(j.k.deadline, func() { b.finish(machine.Input{Err: errTimeout}) })
	return b
}

// take takes in what a store answered.
func (b *ballot) take(store int, v quorum.Verdict) {
	b.verdicts[store] = v
	if !b.over {
		b.decide()
	}
}

// end ends the call with an outcome that is certain.
func (b *ballot) end(outcome quorum.Outcome) {
	switch outcome {
	case quorum.Done:
		b.finish(machine.Input{Result: machine.Done})
	case quorum.Denied:
		b.finish(machine.Input{Result: machine.NotHeld})
	case quorum.Lost:
		b.finish(machine.Input{Result: machine.Fatal, Err: errNoMajority})
	case quorum.Undecided:
		b.finish(machine.Input{Err: errNoMajority})
	}
}

// term is the claim that became the term of a lease. A lease that this process
// was not granted on these stores is taken at its word.
func (m *majority) term(cmd *command) *claim {
	c := m.claim(cmd)
	if c.Token != cmd.token {
		c.Claim = quorum.Foreign(len(m.node.clients), cmd.token, cmd.ttl)
	}
	return c
}

func (m *majority) renew(j joint) {
	cmd := &j.k.command
	b := m.ballot(j, m.term(cmd))
	b.decide = func() {
		outcome := m.renewed(b.verdicts)
		if outcome == quorum.Done {
			b.claim.Sent = max(b.claim.Sent, b.began)
		}
		b.end(outcome)
	}
	for store, h := range b.claim.Nodes {
		switch b.claim.Move(store, b.began) {
		case quorum.Renew:
			b.renew(store, h.Token)
		case quorum.Pass:
			b.verdicts[store] = quorum.No
		case quorum.Remend:
			m.drop(b.claim, store, b.patience, func(in machine.Input) {
				if v := verdictOf(in); v == quorum.Silent || v == quorum.Hopeless {
					b.take(store, v)
					return
				}
				b.mend(store)
			})
		case quorum.Mend:
			b.mend(store)
		}
	}
	b.decide()
}

func (b *ballot) renew(store int, token uint64) {
	c, cmd := b.claim, b.k.command
	cmd.token, cmd.value = token, leaseValue(token, c.nonce, c.id)
	b.send(store, cmd, b.patience, func(in machine.Input) {
		if in.Result == machine.NotHeld {
			c.Lost(store, token, b.began)
		}
		b.take(store, verdictOf(in))
	})
}

// mend makes a store hold the lease that does not.
func (b *ballot) mend(store int) {
	cmd := &b.k.command
	b.grant(b.claim, store, cmd.try, cmd.token-1, b.patience, func(in machine.Input) {
		v := verdictOf(in)
		if v == quorum.Yes && !b.claim.Counts(store, in.Token) {
			v = quorum.No
		}
		b.take(store, v)
	})
}

// release is sent to all. Stragglers are given as long again as the others took.
func (m *majority) release(j joint) {
	cmd := &j.k.command
	c := m.claim(cmd)
	b := m.ballot(j, c)
	waited := false
	b.decide = func() {
		outcome := quorum.Released(b.verdicts)
		switch {
		case outcome == quorum.Open:
		case b.late || quorum.Count(b.verdicts)[quorum.Waiting] == 0:
			b.end(outcome)
		case !waited:
			waited = true
			b.soon(func() { b.late = true; b.decide() })
		}
	}
	ours := c.Token == cmd.token
	if ours {
		if c.latest != nil {
			c.latest.finish(machine.Input{Err: errRepeated})
		}
		c.latest, c.Token = nil, 0
	}
	for store := range m.node.clients {
		wanted := m.owes(&c.Claim, store)
		token, owed := c.Release(store, cmd.token, ours, c.latest != nil)
		if !owed || !wanted {
			b.verdicts[store] = quorum.No
			continue
		}
		m.sendRelease(c, store, token, cmd.try, b.patience, func(in machine.Input) { b.take(store, verdictOf(in)) })
	}
	b.decide()
}

// observe asks all who leads. What they say is of several moments, so nothing
// is made of it here.
func (m *majority) observe(j joint) {
	b := m.ballot(j, nil)
	b.decide = func() { b.end(quorum.Released(b.verdicts)) }
	for store := range m.node.clients {
		m.send(store, command{call: history.Observe}, b.patience, func(in machine.Input) { b.take(store, verdictOf(in)) })
	}
}
