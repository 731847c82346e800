package source

// clientBugs are in the settings of the Redis client.
func clientBugs() []Bug {
	const file = "elector/redisstore/client.go"
	return []Bug{
		{
			Name: "client-retries", Kind: Client, Breaks: []string{"LeaseLinearizable", "LossHeeded"},
			What: "the client repeats requests by itself, as is its default: a release whose answer is lost comes again, and finds nothing",
			File: file, Old: "\to.MaxRetries = -1\n", New: "",
		}, {
			Name: "contexts-ignored", Kind: Client, Breaks: []string{"LeaderReturns", "FailoverBound", "Stable"},
			What: "the deadlines of contexts do not bound requests, only the client's own time-outs do",
			File: file, Old: "o.ContextTimeoutEnabled = true", New: "o.ContextTimeoutEnabled = false",
		}, {
			Name: "one-connection", Kind: Client, Breaks: []string{"Stable", "LeaderReturns"},
			What: "there is one connection for everything: a renewal waits for whatever hangs there",
			File: file, Old: "setDefault(&o.PoolSize, 4)", New: "setDefault(&o.PoolSize, 1)",
		}, {
			Name: "never-replaced", Kind: Client, Breaks: []string{"LeaderReturns", "FailoverBound"},
			What: "a client whose calls all fail is never replaced",
			File: file, Old: "if c.failures < maxFailures || s.live.Load() != c {", New: "if c.failures > 0 {",
		}, {
			Name: "reads-impatient", Kind: Client, Breaks: []string{"LeaderReturns", "Stable"},
			What: "an answer is waited for for a tenth of a second, however long the request may take",
			File: file, Old: "setDefault(&o.ReadTimeout, 3*time.Second)", New: "setDefault(&o.ReadTimeout, 100*time.Millisecond)",
		}, {
			Name: "dials-once", Kind: Client, Breaks: []string{"Stable", "LeaderReturns"},
			What: "a connection is opened by one attempt: if its first packet is lost, the kernel waits for a second",
			File: "elector/redisstore/dial.go", Old: "firstPause = 250 * time.Millisecond", New: "firstPause = time.Hour",
		}, {
			Name: "one-batch", Kind: Client, Breaks: []string{"Stable", "LeaderReturns"},
			What: "one batch is under way at a time, however many connections there are: a renewal waits for whatever hangs",
			File: "elector/redisstore/store.go", Old: "max(1, s.opts.PoolSize)", New: "1",
		}, {
			Name: "batch-again", Kind: Client, Breaks: []string{"asked once", "LeaseLinearizable", "LossHeeded"},
			What: "a batch whose connection broke is sent once more: what had taken effect comes again",
			File: "elector/redisstore/batch.go", Old: "\tb.account(client, one, outcomes)\n", New: "\tif outcomes[0].err != nil && !isReply(outcomes[0].err) {\n\t\toutcomes = b.store.pipelined(one.ctx, client.UniversalClient, orders, as)\n\t}\n\tb.account(client, one, outcomes)\n",
		}, {
			Name: "one-gives-up-for-all", Kind: Client, Breaks: []string{calls, "Stable", "LeaderReturns"},
			What: "when the most impatient caller of a batch gives up, it fails for all of them, and its connection is closed",
			File: "elector/redisstore/joint.go", Old: "\tif at.After(j.last) {\n", New: "\tif ok && (at.Before(j.last) || caller == j.values) {\n",
		}, {
			Name: "replies-are-failures", Kind: Client, Breaks: []string{"Stable", "LeaderReturns"},
			What: "a script that the server does not know counts as a broken connection, and is not sent as text",
			File: "elector/redisstore/pipeline.go", Old: "words = append([]any{\"eval\", o.script.text}, words[2:]...)", New: "words = append([]any{}, words...)",
		},
	}
}
