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
			File: file, Old: "case c.failures.Add(1) >= maxFailures:", New: "case c.failures.Add(1) < 0:",
		}, {
			Name: "reads-impatient", Kind: Client, Breaks: []string{"LeaderReturns", "Stable"},
			What: "an answer is waited for for a tenth of a second, however long the request may take",
			File: file, Old: "setDefault(&o.ReadTimeout, 3*time.Second)", New: "setDefault(&o.ReadTimeout, 100*time.Millisecond)",
		}, {
			Name: "pool-impatient", Kind: Client, Breaks: []string{"LeaderReturns", "Stable"},
			What: "who finds no free connection does not wait for one",
			File: file, Old: "setDefault(&o.PoolTimeout, time.Second)", New: "setDefault(&o.PoolTimeout, time.Microsecond)",
		}, {
			Name: "replies-are-failures", Kind: Client, Breaks: []string{"Stable", "LeaderReturns"},
			What: "a script that the server does not know counts as a broken connection, and is not sent as text",
			File: "elector/redisstore/scripts.go", Old: "reply, err = c.Eval(ctx, sc.text, keys, args...).Result()", New: "reply, err = c.EvalSha(ctx, sc.sha, keys, args...).Result()",
		},
	}
}
