package source

// quorumBugs are in the majority of several stores.
func quorumBugs() []Bug {
	two := []string{"AtMostOneLeader", "LeaseLinearizable", "TokensIncrease", "BeliefWithinLease"}
	return []Bug{
		{
			Name: "half-of-even", Kind: Quorum, Breaks: two,
			What: "of an even number of stores the half is enough: of four, two",
			File: "internal/quorum/verdict.go", Old: "func Size(nodes int) int { return nodes/2 + 1 }", New: "func Size(nodes int) int { return (nodes + 1) / 2 }",
		}, {
			Name: "fresh-for-long", Kind: Quorum, Breaks: two,
			What: "a store that has lost the lease is made to count again long after a majority confirmed it last",
			File: "internal/quorum/claim.go", Old: "c.TTL*3/4", New: "c.TTL*4",
		}, {
			Name: "dropped-counts", Kind: Quorum, Breaks: two,
			What: "a grant counts although its release is on its way",
			File: "internal/quorum/claim.go", Old: "\tif token <= h.Dropped {", New: "\tif token < h.Dropped {",
		}, {
			Name: "gone-is-forgotten", Kind: Quorum, Breaks: two,
			What: "a store that was found without the lease is a witness that a majority holds it",
			File: "internal/quorum/claim.go", Old: "return c.fresh(now) && (!h.gone || c.Sent >= h.asked)", New: "return c.fresh(now) && (h.gone || c.Sent >= h.asked || !h.gone)",
		}, {
			Name: "larger-always-counts", Kind: Quorum, Breaks: two,
			What: "a store that grants a larger token than the term's counts for the term, whoever held it meanwhile",
			File: "internal/quorum/claim.go", Old: "token > c.Token && c.mendable(n, now)", New: "token > c.Token",
		}, {
			Name: "no-pause", Kind: Quorum, Breaks: []string{"LeaderReturns", "FailoverBound"},
			What: "candidates that have split the stores among each other all try again at once",
			File: "internal/quorum/rivalry.go", Old: "<<min(splits-1, 10), lease/4))", New: "<<min(splits-1, 10), 1))",
		},
	}
}
