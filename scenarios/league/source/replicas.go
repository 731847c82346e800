package source

// replicaBugs are in the waiting for confirmations.
func replicaBugs() []Bug {
	const file = "elector/redisstore/confirm.go"
	two := []string{"AtMostOneLeader", "LeaseLinearizable", "TokensIncrease"}
	return []Bug{
		{
			Name: "one-replica-is-enough", Kind: Replicas, Breaks: two,
			What: "one replica that confirms is enough, however many have to",
			File: file, Old: "enough(got.replicas, c.replicas) &&", New: "(got.replicas > 0 || c.replicas == 0) &&",
		}, {
			Name: "renewals-confirmed-only", Kind: Replicas, Breaks: two,
			What: "the reply to a grant has another shape than that to a renewal, and whether it was confirmed is not looked at",
			File: file, Old: "if fields, ok := reply.([]any); ok && len(fields) > 0 {\n\t\treply = fields[0]\n\t}\n", New: "",
		}, {
			Name: "waits-first", Kind: Replicas, Breaks: two,
			What: "WAIT is sent before the script, and confirms what was written before",
			File: "elector/redisstore/pipeline.go", Old: "\treplies := queueAll(ctx, pipe, orders, as)\n\tasked := s.ask(ctx, pipe, orders)\n", New: "\tasked := s.ask(ctx, pipe, orders)\n\treplies := queueAll(ctx, pipe, orders, as)\n",
		}, {
			Name: "waits-no-time", Kind: Replicas, Breaks: []string{"LeaderReturns", "Stable"},
			What: "the arguments of WAIT are swapped: it waits for a hundred replicas, for as many milliseconds as there have to be",
			File: file, Old: "\"WAIT\", c.replicas, c.within.Milliseconds())", New: "\"WAIT\", c.within.Milliseconds(), c.replicas)",
		}, {
			Name: "unconfirmed-is-refusal", Kind: Replicas, Breaks: []string{"LeaseLinearizable", "LeaderReturns", "Stable"},
			What: "a grant or renewal that too few replicas confirmed counts as one that took no effect",
			File: file, Old: "\t\treturn nil, fmt.Errorf(\"%w: %s\", ErrUnconfirmed, s.confirm.tell(done.got))\n", New: "\t\treturn int64(0), nil\n",
		}, {
			Name: "comers-confirm", Kind: Replicas, Breaks: two,
			What: "a confirmation counts that comes from a replica which may have confirmed another primary's lease just before",
			File: file, Old: "have >= int64(want)+got.young", New: "have >= int64(want)",
		},
	}
}
