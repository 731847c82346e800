package quorum

import "slices"

// Step is what an attempt to acquire has to do next.
type Step int

// The steps.
const (
	Wait   Step = iota // for more answers
	Hurry              // the same, but not for long any more
	Win                // a majority granted the token
	Align              // bring the nodes that are behind to the highest token
	Fail               // give back what was granted: no majority can be had
	Refuse             // fail, and give nothing back: a term may stand on it
)

// Attempt is what the nodes have answered to an attempt so far.
type Attempt struct {
	Verdicts []Verdict // waiting also while a node is aligned or released
	Tokens   []uint64  // of those that granted
	Late     bool      // stragglers have had their time
}

// Decide says what the attempt has to do next. The token is that to win with, or
// the highest one granted.
func (c *Claim) Decide(a *Attempt) (Step, uint64) {
	size, t := Size(len(c.Nodes)), Count(a.Verdicts)
	token, same := c.best(a)
	if n := c.standing(a); n >= size {
		token, same = c.Token, n
	}
	switch {
	case same >= size:
		return Win, token
	case c.Token != 0 && t[Yes]+t[Waiting] >= size && t[Waiting] > 0:
		return Wait, 0
	case c.Token != 0 && t[Waiting] > 0 && !a.Late:
		return Hurry, 0
	case c.Token != 0:
		return Refuse, 0
	case t[Yes]+t[Waiting] < size:
		return Fail, 0
	case t[Yes] >= size && (same+t[Waiting] < size || a.Late):
		return Align, a.highest()
	case t[Yes] >= size:
		return Hurry, 0
	default:
		return Wait, 0
	}
}

// best is the token that most nodes granted, the larger one if it is a tie.
func (c *Claim) best(a *Attempt) (token uint64, nodes int) {
	counts := make(map[uint64]int, 2)
	for n, v := range a.Verdicts {
		t := a.Tokens[n]
		if v != Yes || c.Nodes[n].Token != t {
			continue
		}
		counts[t]++
		if counts[t] > nodes || counts[t] == nodes && t > token {
			token, nodes = t, counts[t]
		}
	}
	return token, nodes
}

// standing is how many nodes confirmed the claim's term, which an earlier call
// for the same nonce has won.
func (c *Claim) standing(a *Attempt) (nodes int) {
	if c.Token == 0 {
		return 0
	}
	for n := range c.Nodes {
		if a.Verdicts[n] == Yes && c.Counts(n, a.Tokens[n]) {
			nodes++
		}
	}
	return nodes
}

func (a *Attempt) highest() (token uint64) {
	for n, v := range a.Verdicts {
		if v == Yes {
			token = max(token, a.Tokens[n])
		}
	}
	return token
}

// Behind reports whether node n granted less than the highest token.
func (a *Attempt) Behind(n int, highest uint64) bool {
	return a.Verdicts[n] == Yes && a.Tokens[n] < highest
}

// Usual is the token that most nodes name for one term, and the smallest one if
// it is a tie: nodes that joined later have larger ones.
func Usual(tokens []uint64) (token uint64) {
	slices.Sort(tokens)
	most := 0
	for i := 0; i < len(tokens); {
		j := i
		for j < len(tokens) && tokens[j] == tokens[i] {
			j++
		}
		if j-i > most {
			most, token = j-i, tokens[i]
		}
		i = j
	}
	return token
}
