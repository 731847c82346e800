package quorum

import "errors"

// maxAligned is how often one call tries to bring a node to the others' token.
const maxAligned = 3

// acquisition is what only a call that acquires has.
type acquisition struct {
	floor   uint64
	failed  bool // no majority can be had: what was granted is being given back
	waiters int
	aligned []int // by node: how often
	refused Refused
}

// acquire asks all nodes at once.
func (m *Machine) acquire(in *Input) {
	c, n := m.claim(in), m.cfg.Nodes
	if c.latest != nil {
		m.repeated(c.latest)
	}
	k := m.begin(in, c)
	k.Tokens, k.aligned = make([]uint64, n), make([]int, n)
	k.refused = Refused{Denials: make([]*Denial, n), Freed: make([]bool, n)}
	c.latest, c.open = k, true
	if top := c.Highest(); top > in.Floor {
		// A repetition joins what the earlier call got, or each would be ahead of
		// the one before.
		k.floor = max(in.Floor, top-1)
	} else {
		// A candidate that was started since knows of no token; this process may.
		k.floor = max(in.Floor, m.high)
	}
	for node := range n {
		m.ask(k, node, k.floor)
	}
}

// repeated ends a call whose attempt is repeated or given back.
func (m *Machine) repeated(k *call) {
	if k.failed {
		m.refuse(k)
		return
	}
	m.end(k, Ending{Outcome: Repeated})
}

// ask sends the attempt to node n.
func (m *Machine) ask(k *call, n int, floor uint64) {
	m.send(k, flight{ask: AskGrant, node: n}, Request{Floor: floor, TTL: k.ttl, Patience: k.patience})
}

// tried takes in what a node answered to the attempt.
func (m *Machine) tried(k *call, n int, in *Input) {
	if k.over {
		return
	}
	if in.Denial != nil {
		in.Denial.At = m.now
	}
	k.Verdicts[n], k.Tokens[n], k.errs[n], k.refused.Denials[n] = in.Verdict, in.Token, in.Err, in.Denial
	k.waiters += in.Waiters
	switch {
	case in.Verdict != Yes:
	case k.failed:
		k.refused.Freed[n] = true // too late: see note
	case k.claim.Nodes[n].Token != in.Token:
		m.align(k, n, k.floor) // a release of it is on its way
	}
	m.decide(k)
}

// align makes node n grant a token above floor, in place of what it granted.
func (m *Machine) align(k *call, n int, floor uint64) {
	if k.aligned[n]++; k.aligned[n] > maxAligned {
		k.Verdicts[n], k.errs[n] = Silent, errOldTokens
		return
	}
	k.Verdicts[n] = Waiting
	m.giveBack(k, flight{node: n, next: tryAgain, floor: floor}, k.Tokens[n], k.patience)
}

// aligned asks a node again that has given back what it granted.
func (m *Machine) aligned(f *flight, gone bool, in *Input) {
	k := f.call
	if gone && k.claim.latest == k && k.claim.open {
		m.ask(k, f.node, f.floor)
		return
	}
	v := in.Verdict
	if v != Hopeless {
		v = Silent
	}
	m.tried(k, f.node, &Input{Verdict: v, Err: errors.Join(ErrRepeated, in.Err)})
}

// try gets on with an attempt.
func (m *Machine) try(k *call) {
	if k.failed {
		m.settle(k)
		return
	}
	switch step, token := k.claim.Decide(&k.Attempt); step {
	case Win:
		m.win(k, token)
	case Hurry:
		m.hurry(k)
	case Align:
		m.alignAll(k, token)
	case Fail:
		m.fail(k)
	case Refuse:
		m.refuse(k)
	}
}

func (m *Machine) win(k *call, token uint64) {
	k.claim.Won(token, k.began, m.now)
	m.rivalry = Rivalry{}
	m.Tell(token)
	m.end(k, Ending{Outcome: Done, Token: token, Waiters: k.waiters})
}

// alignAll brings all nodes that are behind to the highest token granted, so
// that the next term finds them in step, too.
func (m *Machine) alignAll(k *call, highest uint64) {
	k.calm()
	for n := range k.Verdicts {
		if k.Behind(n, highest) {
			m.align(k, n, max(k.floor, highest-1))
		}
	}
}

// fail gives back what was granted. The nodes' answers to that are waited for
// as stragglers are, so that the next attempt finds them free.
func (m *Machine) fail(k *call) {
	k.failed = true
	m.hurry(k)
	k.claim.open = false
	for n := range k.claim.Nodes {
		if k.claim.Nodes[n].Token != 0 {
			k.Verdicts[n], k.refused.Freed[n] = Waiting, true
			m.giveBack(k, flight{node: n, next: clearNext}, k.Tokens[n], k.patience)
		}
	}
	m.settle(k)
}

// settle ends a call that failed when all have answered, or had their time.
// Those that decide whether the lease is held or the outcome unknown have as
// much as they need.
func (m *Machine) settle(k *call) {
	waits, pending, definite := 0, 0, 0
	for n, v := range k.Verdicts {
		switch {
		case v == Waiting && k.refused.Freed[n]:
			waits++
		case v == Waiting:
			waits++
			pending++
		case k.refused.Denials[n] != nil || v == Hopeless:
			definite++
		}
	}
	spare := Minority(m.cfg.Nodes)
	open := definite <= spare && definite+pending > spare
	if waits == 0 || k.Late && !open {
		m.refuse(k)
	}
}

// giveUpAcquiring ends an attempt that nobody waits for any more.
func (m *Machine) giveUpAcquiring(k *call) {
	if k.failed {
		m.refuse(k)
		return
	}
	m.end(k, Ending{Outcome: GivenUp})
	if k.claim.Token != 0 {
		return
	}
	for n := range k.claim.Nodes {
		if k.claim.Nodes[n].Token != 0 {
			m.giveBack(k, flight{node: n}, k.Tokens[n], m.cfg.Timeout)
		}
	}
}
