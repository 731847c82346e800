package source

// jobBugs are in the lock for jobs.
func jobBugs() []Bug {
	const lock, run = "elector/joblock/lock.go", "elector/joblock/run.go"
	return []Bug{
		{
			Name: "least-from-the-end", Kind: Jobs, Breaks: []string{"returns", "free again"},
			What: "the least time of a job's lock counts from when the job has ended",
			File: lock, Old: "\trest := l.rest()\n", New: "\trest := l.atLeast\n",
		}, {
			Name: "least-by-a-fast-clock", Kind: Jobs, Breaks: []string{"least time"},
			What: "the least time is counted as if the host's clock could not be the faster one",
			File: lock, Old: "\tpassed -= time.Duration(float64(passed) * l.drift)\n", New: "",
		}, {
			Name: "least-without-a-job", Kind: Jobs, Breaks: []string{"not begun"},
			What: "a host that gave up before it heard of its grant keeps the others out for the least time",
			File: lock, Old: "\tif rest == 0 || !l.begun.Load() {\n", New: "\tif rest == 0 {\n",
		}, {
			Name: "job-by-bid", Kind: Jobs, Breaks: []string{"least time"},
			What: "who stands by for a job's lock may be granted it by a bid, and then does not know when, so the least time counts as over",
			File: lock, Old: "\ta.Stands = false", New: "\t_ = a.Stands",
		}, {
			Name: "most-keeps-the-lock", Kind: Jobs, Breaks: []string{"free again"},
			What: "a job that has run for its longest time is told so, and the lock is renewed until it heeds that",
			File: run, Old: "\t\t\tcancel(ErrTooLong)\n\t\t\tresign()\n", New: "\t\t\tcancel(ErrTooLong)\n",
		}, {
			Name: "job-after-all", Kind: Jobs, Breaks: []string{"job runs", "returns"},
			What: "the lock is asked for on and on when the caller has given up, and the job begins then",
			File: run, Old: "e.TryAcquire(ctx)", New: "e.TryAcquire(context.WithoutCancel(ctx))",
		}, {
			Name: "expiry-unchecked", Kind: Jobs, Breaks: []string{"settings fit", "refusals"},
			What: "a store does not look whether its keys expire before a lease does",
			File: "elector/redisstore/store.go", Old: "\t\texpire:    o.Expire,\n", New: "",
		}, {
			Name: "yesterdays-refusal", Kind: Jobs, Breaks: []string{"kept up", "refusals"},
			What: "the refusal of an earlier request, which comes late, ends the job that a later one got the lock for",
			File: "elector/session.go", Old: "if asks && msg.held != nil && s.single && s.machine.Role() == machine.Follower {", New: "if (asks || in.Kind == machine.Answer) && msg.held != nil && s.single {",
		},
	}
}
