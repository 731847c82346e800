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
			// Nor do two more in the same file that were here: a store that was found
			// without the lease is a witness that a majority holds it; a larger token
			// counts for the term, whoever held the store meanwhile.
			Unseen: "harmless: the elector renews only while it believes, and until then its majority keeps the lease, so nobody else can have led",
		}, {
			Name: "dropped-counts", Kind: Quorum, Breaks: two,
			What: "a grant counts although its release is on its way",
			File: "internal/quorum/claim.go", Old: "\tif token <= h.Dropped {", New: "\tif token < h.Dropped {",
		}, {
			Name: "tokens-differ", Kind: Quorum, Breaks: two,
			What: "a majority may be of different tokens: all count for the one that the first store has named",
			File: "internal/quorum/attempt.go", Old: "\t\tcounts[t]++\n", New: "\t\tif token != 0 {\n\t\t\tt = token\n\t\t}\n\t\tcounts[t]++\n",
		}, {
			Name: "keeps-minority", Kind: Quorum, Breaks: []string{"LeaderReturns", "FailoverBound"},
			What: "an attempt that fails keeps what stores have granted to it, until the lease ends",
			File: "internal/quorum/acquire.go", Old: "\tfor n := range k.claim.Nodes {\n\t\tif k.claim.Nodes[n].Token != 0 {\n\t\t\tk.Verdicts[n], ", New: "\tfor n := range k.claim.Nodes {\n\t\tif k.claim.Nodes[n].Token == 1<<63 {\n\t\t\tk.Verdicts[n], ",
		}, {
			Name: "no-pause", Kind: Quorum, Breaks: []string{"LeaderReturns", "FailoverBound"},
			What: "candidates that have split the stores among each other all try again at once",
			File: "internal/quorum/rivalry.go", Old: "<<min(splits-1, 10), lease/4))", New: "<<min(splits-1, 10), 1))",
			Unseen: "what their requests take differs by enough that they part by themselves; no world draws candidates that are in step for long",
		}, {
			Name: "smaller-token-is-kept", Kind: Quorum, Breaks: []string{"LeaderReturns", "FailoverBound"},
			What: "a store that grants a smaller token than the term's, after the term was released, is asked to give back the term's, which it does not hold",
			File: "internal/quorum/claim.go", Old: "\t\ttoken = answered\n", New: "\t\ttoken = max(h.Dropped, answered)\n",
		}, {
			Name: "given-up-in-dialling", Kind: Quorum, Breaks: []string{"LeaderReturns", "FailoverBound"},
			What: "a request ends with the wait for its answer, and its connection with it: stores to which one takes longer to open are never heard",
			File: "elector/quorumstore/node.go", Old: "s.life(ctx))", New: "patience)",
		},
	}
}
