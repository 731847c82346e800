package source

// listenerBugs are in what hears the store's announcements.
func listenerBugs() []Bug {
	const file = "elector/redisstore/listener.go"
	return []Bug{
		{
			Name: "ends-silently", Kind: Listener, Breaks: []string{handOver, "FailoverBound"},
			What: "a connection for announcements that breaks off tells nobody, so nobody listens again",
			File: file, Old: "\tfor _, all := range l.watches {\n\t\tfor _, w := range all {\n\t\t\tw.end(err)\n\t\t}\n\t}\n", New: "",
		}, {
			Name: "listens-once", Kind: Listener, Breaks: []string{handOver, "FailoverBound"},
			What: "a watch that broke off is not begun again",
			File: "elector/watcher.go", Old: "\tif ctx.Err() != nil {\n\t\tclose(w.done)", New: "\tif err != nil || ctx.Err() != nil {\n\t\tclose(w.done)",
		}, {
			Name: "doubts-without-deed", Kind: Listener, Breaks: []string{handOver, "FailoverBound"},
			What: "a watch that must have missed something is noticed, and left as it is",
			File: "elector/watcher.go", Old: "\tw.seen = held.Token\n\tw.ctx.cancel()\n", New: "\tw.seen = held.Token\n",
		}, {
			Name: "wrong-channel", Kind: Listener, Breaks: []string{handOver, "FailoverBound"},
			What: "the scripts announce on another channel than the listener subscribes to",
			File: "elector/redisstore/keys.go", Old: "channel: all[6]}", New: "channel: s.prefix + election + \":wake\"}",
		}, {
			Name: "one-channel", Kind: Listener, Breaks: []string{"foreign hint", handOver, "FailoverBound", "LeaderReturns"},
			What: "the databases of a server share an election's channel",
			File: "elector/redisstore/keys.go", Old: "\tif database == 0 {\n", New: "\tif database >= 0 {\n",
		}, {
			Name: "heard-by-all", Kind: Listener, Breaks: []string{handOver, "FailoverBound", "LeaderReturns"},
			What: "an announcement reaches the watches of all elections of the process",
			File: file, Old: "\t\t\tfor _, w := range l.watches[m.Channel] {\n\t\t\t\tw.hint(h)\n\t\t\t}\n", New: "\t\t\tfor _, all := range l.watches {\n\t\t\t\tfor _, w := range all {\n\t\t\t\t\tw.hint(h)\n\t\t\t\t}\n\t\t\t}\n",
		}, {
			Name: "first-comes-alone", Kind: Listener, Breaks: []string{handOver, "FailoverBound"},
			What: "watches that come while the listener connects are never subscribed",
			File: file, Old: "\tl.unsent = append(l.unsent, r)\n", New: "\tif !l.writing || len(l.unsent) == 0 {\n\t\tl.unsent = append(l.unsent, r)\n\t}\n",
		}, {
			Name: "heir-unnamed", Kind: Listener, Breaks: []string{handOver},
			What: "the announcement of a hand-over does not say to whom: the heir waits like all others, until the reservation is over",
			File: "elector/session.go", Old: "Token: h.Token, Holder: h.To, Remaining: h.Remaining", New: "Token: h.Token, Holder: \"nobody\", Remaining: h.Remaining",
		},
	}
}
