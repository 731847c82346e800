package quorum

import (
	"math"
	"time"
)

// Claim is what a candidate knows of its lease on the nodes: of one nonce.
type Claim struct {
	Nodes []Holding
	TTL   time.Duration
	Token uint64        // of the term; 0 while nobody was told that there is one
	Sent  time.Duration // when the last request that a majority confirmed was sent
}

// Holding is what is known of the lease on one node.
type Holding struct {
	Token   uint64 // that the node granted last; 0: none, or it is gone
	Counted bool   // it counts for the majority: see Claim.Granted
	Dropped uint64 // the highest token that a release was sent for

	// gone says that the node counted, and then did not hold the lease when it
	// was asked by a renewal sent at the time asked.
	gone  bool
	asked time.Duration
}

// NewClaim is one that nothing is known of.
func NewClaim(nodes int) Claim { return Claim{Nodes: make([]Holding, nodes)} }

// Foreign is the claim of a lease that is taken at its word: its token counts on
// every node, and no majority is known to have confirmed it.
func Foreign(nodes int, token uint64, ttl time.Duration) Claim {
	c := NewClaim(nodes)
	c.Token, c.TTL, c.Sent = token, ttl, math.MinInt64/2 // never fresh
	for n := range c.Nodes {
		c.Nodes[n] = Holding{Token: token, Counted: true}
	}
	return c
}

// Highest is the largest token that a node is known to hold.
func (c *Claim) Highest() (token uint64) {
	for _, h := range c.Nodes {
		token = max(token, h.Token)
	}
	return token
}

// fresh reports whether the majority that confirmed the lease last still holds it:
// its nodes keep it for TTL at least, and no clock runs that wrong.
func (c *Claim) fresh(now time.Duration) bool {
	return c.Token != 0 && now-c.Sent <= c.TTL*3/4
}

// mendable reports whether node n may be made to hold the lease that it does not,
// and count: if a majority holds it all the while. A node that has lost it is
// no witness of that: then a majority must have confirmed it since.
func (c *Claim) mendable(n int, now time.Duration) bool {
	h := c.Nodes[n]
	return c.fresh(now) && (!h.gone || c.Sent >= h.asked)
}

// Granted notes that node n granted a token. It is worth nothing if a release of
// it was sent before: however late, that release will end it.
func (c *Claim) Granted(n int, token uint64, now time.Duration) {
	h := &c.Nodes[n]
	if token <= h.Dropped {
		return
	}
	if h.Token != token {
		h.Token, h.Counted = token, false
	}
	// A term's token was granted to nobody else. A larger one tells nothing
	// about who held the node since, so the node counts only if a majority held
	// the lease all the while, and nobody else can have led.
	if c.Token != 0 && (token == c.Token || token > c.Token && c.mendable(n, now)) {
		h.Counted, h.gone = true, false
	}
}

// Lost notes that node n did not hold the lease with that token, when it was
// asked by a renewal sent at that time.
func (c *Claim) Lost(n int, token uint64, asked time.Duration) {
	if h := &c.Nodes[n]; h.Token == token {
		h.Token, h.Counted, h.gone, h.asked = 0, false, true, asked
	}
}

// Counts reports whether node n holds the lease with that token, and counts.
func (c *Claim) Counts(n int, token uint64) bool {
	return c.Nodes[n].Counted && c.Nodes[n].Token == token
}

// Won makes the claim a term, by an attempt sent at that time.
func (c *Claim) Won(token uint64, sent, now time.Duration) {
	if c.Token != token {
		for n := range c.Nodes {
			c.Nodes[n].Counted, c.Nodes[n].gone = false, false
		}
	}
	c.Token, c.Sent = token, max(c.Sent, sent)
	for n, h := range c.Nodes {
		if h.Token != 0 {
			c.Granted(n, h.Token, now)
		}
	}
}

// Drop is the token with which node n is to release what it granted to a claim
// that is no term: the one that it is known to hold, else that with which it answered.
// From the moment of sending no answer with that token or a smaller one counts:
// see Granted.
func (c *Claim) Drop(n int, answered uint64) (token uint64) {
	h := &c.Nodes[n]
	if token = h.Token; token == 0 {
		token = answered
	}
	*h = Holding{Dropped: max(h.Dropped, token)}
	return token
}

// Release is the token with which node n is to release a lease with that token. ours says
// that the lease is the claim's term, open that an attempt for it is under way. It is not
// owed if the node's grant belongs to a term with another token, or may yet. counts reports
// whether a node that still holds that token shows that the lease was held until then.
func (c *Claim) Release(n int, token uint64, ours, open bool) (held uint64, owed, counts bool) {
	h := &c.Nodes[n]
	held, counts = token, true
	switch {
	case ours && h.Token != 0:
		held, counts = h.Token, h.Counted || token == 0
	case h.Token == token && (open || h.Counted):
		return 0, false, false
	case c.Token == 0 && !open && h.Dropped > token:
		// An earlier release of it may have been lost. Whether it counted is not known any more.
		held, counts = h.Dropped, token == 0
	}
	if h.Token == held {
		h.Token, h.Counted = 0, false
	}
	h.Dropped = max(h.Dropped, held)
	return held, true, counts
}

// Move is what a renewal asks of one node.
type Move int

// The moves.
const (
	Renew  Move = iota // the token that it holds
	Mend               // grant it, with the term's token or a larger one
	Remend             // the same, after a release of the smaller token that it holds
	Pass               // nothing: somebody else may have led since, so it cannot count
)

// Move is what a renewal of the term, sent now, asks of node n.
func (c *Claim) Move(n int, now time.Duration) Move {
	h := c.Nodes[n]
	switch {
	case h.Counted:
		return Renew
	case !c.mendable(n, now):
		return Pass
	case h.Token != 0 && h.Token < c.Token:
		return Remend
	default:
		return Mend
	}
}
