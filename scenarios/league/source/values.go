package source

// valueBugs are in what a leader publishes, in the scripts, the shell and the client,
// and in what a store does with somebody else's client.
func valueBugs() []Bug {
	return []Bug{
		{
			Name: "value-of-the-former", Kind: Script, Breaks: []string{calls},
			What: "a value is told beside whoever leads, and not only in the term in which it was published",
			File: script("published"), Old: "if t == token and n == nonce then", New: "if t then",
		}, {
			Name: "late-value-wins", Kind: Script, Breaks: []string{calls},
			What: "a renewal that is late puts back what its leader has published before",
			File: script("renew"), Old: "if not noted or noted < tonumber(ARGV[7]) then", New: "if not noted or noted ~= tonumber(ARGV[7]) then",
			Unseen: "a connection keeps the order of renewals, and one that is given up ends its connection: no world has delivered it after the next one. storetest does",
		}, {
			Name: "versions-as-text", Kind: Script, Breaks: []string{calls, words},
			What: "versions of values are compared as text, where 9 comes after 10: the tenth is never shown",
			File: script("renew"), Old: "noted < tonumber(ARGV[7])", New: "tostring(noted) < ARGV[7]",
		}, {
			Name: "published-in-silence", Kind: Script, Breaks: []string{calls, words},
			What: "renew does not announce what is published, so observers are told when they ask anyway",
			File: script("renew"), Old: "      announce(ARGV[9], 'published ' .. ARGV[5])\n", New: "",
		}, {
			Name: "grant-without-value", Kind: Script, Breaks: []string{calls, words},
			What: "acquire does not note what the term begins with",
			File: script("acquire"), Old: ", ARGV[12] and publication(token, nonce, ARGV[12], ARGV[13]))", New: ")",
		}, {
			Name: "value-lost-for-good", Kind: Client, Breaks: []string{calls},
			What: "what a server has acknowledged is never sent again, although the server may have lost it",
			File: "elector/redisstore/store.go", Old: "!(l.Shown && looked)", New: "!l.Shown",
		}, {
			Name: "value-sent-once", Kind: Shell, Breaks: []string{calls},
			What: "a renewal that carries a value counts as shown when it is sent, so one that is lost is not made up for",
			File: "internal/machine/leader.go", Old: "\tm.term.lastSent = m.now\n\tfor ", New: "\tm.term.lastSent = m.now\n\tdefer func() { m.term.shown = m.term.version }()\n\tfor ",
		}, {
			Name: "published-is-shown", Kind: Shell, Breaks: []string{calls},
			What: "an answer to a renewal counts for what is published by then, also if it was sent before that",
			File: "internal/machine/leader.go", Old: "m.acknowledged(f.version)", New: "m.acknowledged(m.term.version)",
		}, {
			Name: "values-wait-their-turn", Kind: Shell, Breaks: []string{calls},
			What: "what is published waits for the next renewal by schedule if one is under way",
			File: "internal/machine/leader.go", Old: "\tif m.term.shown < m.term.version {\n\t\tm.term.renewAt = m.now\n\t}\n", New: "",
		}, {
			Name: "foreign-retries", Kind: Client, Breaks: []string{calls},
			What: "somebody else's client is not told that it must not repeat scripts",
			File: "elector/redisstore/foreign.go", Old: "func (timely) NoRetry() bool { return true }", New: "func (timely) NoRetry() bool { return false }",
			Unseen: "1,459 cases of calls broke no connection between such a script and its answer; TestForeignClientSendsOnce does",
		},
	}
}
