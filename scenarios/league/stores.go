package league

import (
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// counting is an elector that counts the answers of several stores in another
// way.
func counting(m virtual.Majority) virtual.Subject {
	return virtual.Subject{Variant: virtual.Variant{Majority: m}}
}

// stores are about several stores that know nothing of each other.
func stores() []Mutant {
	unsafe := []checker.Promise{checker.AtMostOneLeader, checker.LeaseLinearizable, checker.TokensIncrease, checker.BeliefWithinLease}
	return []Mutant{
		{
			Name: "tokens-unaligned", Where: Majority, What: "the term has the largest token that a store granted, and those that granted smaller ones are not brought to it",
			Scenario: "quorum-lagging-nodes", Breaks: unsafe,
			Subject: counting(virtual.Majority{Decide: unaligned}),
		}, {
			Name: "one-refusal-is-loss", Where: Majority, What: "a renewal that one store refuses is lost, whatever the others say",
			Scenario: "quorum-minority-down", Breaks: []checker.Promise{checker.LeaseLinearizable, checker.Stable, checker.FailoverBound},
			Subject: counting(virtual.Majority{Renewed: oneRefuses}),
		}, {
			Name: "silence-grants", Where: Majority, What: "a store that does not answer an attempt counts as one that granted it",
			Scenario: "quorum-minority-down", Breaks: unsafe,
			Subject: counting(virtual.Majority{Decide: silenceGrants}),
		}, {
			Name: "last-stores-token", Where: Majority, What: "stores that granted different tokens make a majority, and the term has the last store's",
			Scenario: "quorum-lagging-nodes", Breaks: unsafe,
			Subject: counting(virtual.Majority{Decide: lastToken}),
		}, {
			Name: "releases-on-majority", Where: Majority, What: "a lease is given back on a majority of the stores, and not on all",
			Scenario: "quorum-minority-down",
			Breaks:   []checker.Promise{checker.FailoverBound, checker.LeaderReturns},
			Subject:  counting(virtual.Majority{Owes: func(c *quorum.Claim, node int) bool { return node < quorum.Size(len(c.Nodes)) }}),
		}, {
			Name: "counts-from-last-store", Where: Majority, What: "a lease counts from the answer of the last store that was waited for",
			Scenario: "slow-then-cut", Topology: sim.Quorum,
			Breaks:  []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader},
			Subject: anchoredAtAnswer(machine.Renew),
		},
	}
}

func unaligned(c *quorum.Claim, a *quorum.Attempt) (quorum.Step, uint64) {
	step, token := c.Decide(a)
	if step == quorum.Align {
		step = quorum.Win
	}
	return step, token
}

func oneRefuses(verdicts []quorum.Verdict) quorum.Outcome {
	if quorum.Count(verdicts)[quorum.No] > 0 {
		return quorum.Denied
	}
	return quorum.Renewed(verdicts)
}

func silenceGrants(c *quorum.Claim, a *quorum.Attempt) (quorum.Step, uint64) {
	t := quorum.Count(a.Verdicts)
	if tokens := granted(c, a); len(tokens) > 0 && t[quorum.Yes]+t[quorum.Silent] >= quorum.Size(len(c.Nodes)) {
		return quorum.Win, largest(tokens)
	}
	return c.Decide(a)
}

func largest(tokens []uint64) (token uint64) {
	for _, t := range tokens {
		token = max(token, t)
	}
	return token
}

func lastToken(c *quorum.Claim, a *quorum.Attempt) (quorum.Step, uint64) {
	tokens := granted(c, a)
	if c.Token != 0 || len(tokens) < quorum.Size(len(c.Nodes)) {
		return c.Decide(a)
	}
	return quorum.Win, tokens[len(tokens)-1]
}

// replicas are about replicas that have to confirm.
func replicas() []Mutant {
	confirmed := func(name, what string, told func(call history.Call, now, before bool) bool) Mutant {
		return Mutant{
			Name: name, Where: Majority, What: what, Scenario: "isolated-old-master",
			Breaks:  []checker.Promise{checker.AtMostOneLeader},
			Subject: virtual.Subject{Variant: virtual.Variant{Confirmed: told}},
		}
	}
	return []Mutant{
		confirmed("grants-confirmed", "replicas have to confirm grants, and nobody asks them about renewals", func(call history.Call, now, _ bool) bool {
			return now || call == history.Renew
		}),
		confirmed("renewals-confirmed", "replicas have to confirm renewals, and nobody asks them about grants", func(call history.Call, now, _ bool) bool {
			return now || call == history.Acquire
		}),
		confirmed("confirmed-before", "on another connection WAIT counts the replicas that have what was written there: their confirmation is that of the request before",
			func(_ history.Call, _, before bool) bool { return before }),
	}
}
