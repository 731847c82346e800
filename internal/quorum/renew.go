package quorum

// renew asks every node for what it can give. Nodes that do not hold the lease,
// because they were down or held by somebody who came too late, are asked to
// grant it as well, so that the term outlives the loss of other nodes later on.
func (m *Machine) renew(in *Input) {
	c := m.term(in)
	k := m.begin(in, c)
	for n, h := range c.Nodes {
		switch c.Move(n, k.began) {
		case Renew:
			m.send(k, flight{ask: AskRenew, node: n, token: h.Token}, Request{Token: h.Token, TTL: k.ttl, Patience: k.patience})
		case Pass:
			k.Verdicts[n] = No
		case Remend:
			m.giveBack(k, flight{node: n, next: mendNext}, h.Token, k.patience)
		case Mend:
			m.mend(k, n)
		}
	}
	m.decide(k)
}

// mend makes a node hold the lease that does not. Its token is the term's, or
// larger if it granted that one to somebody else: see Claim.Granted.
func (m *Machine) mend(k *call, n int) {
	m.send(k, flight{ask: AskMend, node: n}, Request{Floor: k.token - 1, TTL: k.ttl, Patience: k.patience})
}

// renewed ends a renewal whose outcome is certain.
func (m *Machine) renewed(k *call) {
	outcome := Renewed(k.Verdicts)
	if outcome == Open {
		return
	}
	if c := k.claim; outcome == Done {
		c.Sent = max(c.Sent, k.began)
		if m.claims[c.name] == nil {
			m.claims[c.name] = c // a lease from elsewhere, known now
		}
	}
	m.end(k, Ending{Outcome: outcome})
}

// release sends a release to every node, with the token that it granted. From
// here on whatever is granted to the attempt is given back. A node that does not
// count is released as well, but is no witness that the lease was held until now.
func (m *Machine) release(in *Input) {
	c := m.claim(in)
	ours := c.Token == in.Token
	if ours {
		if c.latest != nil {
			m.repeated(c.latest)
		}
		c.Token = 0
	}
	k := m.begin(in, c)
	for n := range c.Nodes {
		token, owed, counts := c.Release(n, in.Token, ours, c.open)
		if !owed {
			k.Verdicts[n] = No
			continue
		}
		m.send(k, flight{ask: AskRelease, node: n, uncounted: !counts}, Request{Token: token, TTL: k.ttl, Patience: k.patience})
	}
	m.decide(k)
}

// released ends a release whose outcome is certain. Stragglers are given as long
// again as the others took: a process that ends after a release should not leave
// nodes behind that are still held.
func (m *Machine) released(k *call) {
	switch outcome := Renewed(k.Verdicts); {
	case outcome == Open:
	case k.Late || Count(k.Verdicts)[Waiting] == 0:
		m.end(k, Ending{Outcome: outcome})
	default:
		m.hurry(k)
	}
}
