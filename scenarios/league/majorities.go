package league

import (
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/quorum"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// majorities are about how the answers of several stores, or of replicas, are
// counted.
func majorities() []Mutant {
	return []Mutant{
		{
			Name: "half-is-majority", Where: Majority, What: "of n stores n/2 are enough: of five, two",
			Scenario: "quorum-minority-down",
			Breaks:   []checker.Promise{checker.AtMostOneLeader, checker.LeaseLinearizable, checker.TokensIncrease},
			Subject:  counting(virtual.Majority{Decide: halfDecides, Renewed: halfRenews}),
		}, {
			Name: "silence-agrees", Where: Majority, What: "a store that does not answer a renewal counts as one that agreed",
			Scenario: "partition-leader", Topology: sim.Quorum,
			Breaks:  []checker.Promise{checker.AtMostOneLeader, checker.LeaseLinearizable},
			Subject: counting(virtual.Majority{Renewed: silenceAgrees}),
		}, {
			Name: "tokens-differ", Where: Majority, What: "stores that granted different tokens make a majority, and the term has the smallest of them",
			Scenario: "quorum-lagging-nodes",
			Breaks:   []checker.Promise{checker.TokensIncrease, checker.LeaseLinearizable},
			Subject:  counting(virtual.Majority{Decide: anyTokens}),
		}, {
			Name: "keeps-minority", Where: Majority, What: "an attempt that fails does not give back what a minority granted",
			Scenario: "quorum-minority-down",
			Breaks:   []checker.Promise{checker.LeaderReturns, checker.FailoverBound},
			Subject:  counting(virtual.Majority{Decide: keepsMinority}),
		}, {
			Name: "unconfirmed", Where: Majority, What: "how many replicas have confirmed a grant or a renewal (WAIT) is not looked at",
			Scenario: "isolated-old-master",
			Breaks:   []checker.Promise{checker.AtMostOneLeader},
			Subject:  virtual.Subject{Variant: virtual.Variant{Confirmed: func(history.Call, bool, bool) bool { return true }}},
		},
	}
}

// granted are the tokens that stores have granted to an attempt, and that count.
func granted(c *quorum.Claim, a *quorum.Attempt) (tokens []uint64) {
	for n, v := range a.Verdicts {
		if v == quorum.Yes && c.Nodes[n].Token == a.Tokens[n] {
			tokens = append(tokens, a.Tokens[n])
		}
	}
	return tokens
}

// halfDecides wins as soon as half of the stores, rounded down, granted one
// token.
func halfDecides(c *quorum.Claim, a *quorum.Attempt) (quorum.Step, uint64) {
	same := map[uint64]int{}
	for _, token := range granted(c, a) {
		if same[token]++; same[token] >= len(c.Nodes)/2 {
			return quorum.Win, token
		}
	}
	return c.Decide(a)
}

func halfRenews(verdicts []quorum.Verdict) quorum.Outcome {
	if quorum.Count(verdicts)[quorum.Yes] >= len(verdicts)/2 {
		return quorum.Done
	}
	return quorum.Renewed(verdicts)
}

func silenceAgrees(verdicts []quorum.Verdict) quorum.Outcome {
	agreed := make([]quorum.Verdict, len(verdicts))
	for i, v := range verdicts {
		if agreed[i] = v; v == quorum.Silent {
			agreed[i] = quorum.Yes
		}
	}
	return quorum.Renewed(agreed)
}

// anyTokens wins as soon as a majority granted anything.
func anyTokens(c *quorum.Claim, a *quorum.Attempt) (quorum.Step, uint64) {
	tokens := granted(c, a)
	if c.Token != 0 || len(tokens) < quorum.Size(len(c.Nodes)) {
		return c.Decide(a)
	}
	least := tokens[0]
	for _, token := range tokens {
		least = min(least, token)
	}
	return quorum.Win, least
}

func keepsMinority(c *quorum.Claim, a *quorum.Attempt) (quorum.Step, uint64) {
	step, token := c.Decide(a)
	if step == quorum.Fail {
		step = quorum.Refuse
	}
	return step, token
}
