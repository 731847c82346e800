package source

// script is the path of a Lua text.
func script(name string) string { return "elector/redisstore/scripts/" + name + ".lua" }

// scriptBugs are in the Lua text of the shipped scripts.
func scriptBugs() []Bug {
	return []Bug{
		{
			Name: "reserved-from-the-heir", Kind: Script, Breaks: []string{handOver, words},
			What: "acquire keeps the candidate that the lease is handed over to out, and nobody else",
			File: script("acquire"), Old: "if g[3] and g[3] ~= id and rest > 0", New: "if g[3] and g[3] == id and rest > 0",
		}, {
			Name: "reserved-in-1970", Kind: Script, Breaks: []string{handOver, words},
			What: "release notes the length of a reservation as its end, so it is over when it begins",
			File: script("release"), Old: "'reserved', now + reserved)", New: "'reserved', reserved)",
		}, {
			Name: "reserved-for-ever", Kind: Script, Breaks: []string{"FailoverBound", "LeaderReturns", handOver, words},
			What: "release notes the end of a reservation in microseconds: if the heir does not come, nobody else gets the lease for as long as one lasts",
			File: script("release"), Old: "'reserved', now + reserved)", New: "'reserved', precise(time) + reserved)",
		}, {
			Name: "hand-over-garbled", Kind: Script, Breaks: []string{handOver, "FailoverBound", words},
			What: "release announces a hand-over with the name before the time, which nobody can read",
			File: script("release"), Old: "text .. ' ' .. reserved .. ' ' .. to", New: "text .. ' ' .. to .. ' ' .. reserved",
		}, {
			Name: "tokens-as-text", Kind: Script, Breaks: []string{"TokensIncrease", "LeaseLinearizable", words},
			What: "acquire compares tokens as text, where 9 comes after 10, so a candidate that knows the ninth token sets the count back",
			File: script("counting"), Old: "  if #a ~= #b then return #a < #b end\n", New: "",
		}, {
			Name: "own-lease-is-longest", Kind: Script, Breaks: []string{"AtMostOneLeader", "LeaseLinearizable", words},
			What: "a server that may have forgotten a lease waits as long as the asking candidate's would last, although another one's is longer",
			File: script("acquire"), Old: "local most, besides = math.max(counted or 0, longest), g[2]", New: "local most, besides = tonumber(ttl), g[2]",
		}, {
			Name: "candidates-unreadable", Kind: Script, Breaks: []string{handOver, calls},
			What: "the note that a candidate lives has its priority before its lease, so nobody is found who could be handed over to",
			File: script("roster"), Old: "{now, ttl, priority, longest, request}", New: "{now, priority, ttl, longest, request}",
		}, {
			Name: "nonce-is-leader", Kind: Script, Breaks: []string{"LeaseLinearizable", words},
			What: "leader takes the lease's value apart wrongly, and tells the nonce in place of the candidate",
			File: script("leader"), Old: "local token, nonce, id = parse(value)", New: "local token, id, nonce = parse(value)",
		}, {
			Name: "renewal-adds", Kind: Script, Breaks: []string{"BeliefWithinLease", "LeaseLinearizable", "FailoverBound", words},
			What: "renew makes the lease last from its old end on and not from now, as long as the server is the one that granted",
			File: script("renew"), Old: "  call('PEXPIREAT', lease, ends)\n", New: "  call('PEXPIREAT', lease, ends + call('PTTL', lease))\n",
		}, {
			Name: "run-is-history", Kind: Script, Breaks: []string{"AtMostOneLeader", "TokensIncrease", words},
			What: "a server is known by its run, so one that was replaced and is promoted again grants as if nothing had been between",
			File: script("history"), Old: "  return at and string.match(info, '^%w+', at + 1) or ''\n",
			New: "  return string.match(call('INFO', 'server'), 'run_id:(%w+)') or ''\n",
		}, {
			Name: "adopted-is-sure", Kind: Script, Breaks: []string{"AtMostOneLeader", "TokensIncrease", words},
			What: "who renews is taken to be the only one that leads, so a server that was rewound grants as soon as that one gives the lease back",
			File: script("renew"), Old: "    remembers(witness, guard, known, now)\n", New: "    call('HSET', witness, 'history', known, 'since', 0)\n",
		}, {
			Name: "attempt-again-anywhere", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "an attempt that was granted is granted again by a server that does not know what happened in between",
			File: script("acquire"), Old: "local rest, remark, more, older, besides, least = withheld(known, own, last)", New: "local rest, remark, more, older, besides, least = 0, 0, ''\nif not own then rest, remark, more, older, besides, least = withheld(known, nil, last) end",
		}, {
			Name: "long-leases-stay", Kind: Script, Breaks: []string{"LeaderReturns", words},
			What: "a key whose time to live is hours keeps everybody out for hours",
			File: script("acquire"), Old: "    if remaining < 0 or remaining > most then", New: "    if remaining < 0 then",
		},
	}
}

// witnessBugs are in what the scripts make of what a server can say of itself, and of
// leases of different length.
func witnessBugs() []Bug {
	return []Bug{
		{
			Name: "witness-of-a-moment", Kind: Script, Breaks: []string{"AtMostOneLeader", "TokensIncrease", words},
			What: "a server that has known any election for a moment counts as one that has forgotten none",
			File: script("witness"), Old: "    since = now\n", New: "    since = 0\n",
		}, {
			Name: "forgotten-is-new", Kind: Script, Breaks: []string{"AtMostOneLeader", "TokensIncrease", words},
			What: "an election whose keys were deleted is taken for one that never was",
			File: script("acquire"), Old: "  if own then ends = 0 end\n", New: "  if own or call('EXISTS', guard) == 0 then ends = 0 end\n",
		}, {
			Name: "renewals-unwitnessed", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "renewals do not tell the witness when the lease ends: a lease that was deleted after the first of them is free",
			File: script("renew"), Old: "call('HSET', witness, 'of ' .. guard, ends) == 1", New: "false",
		}, {
			Name: "leases-may-differ", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "a candidate with a longer lease than the others count on is granted it: a server that forgets it does not wait for long enough",
			File: script("acquire"), Old: "    if rest > 0 then return rest, 5, most end\n", New: "",
		}, {
			Name: "unlearned-at-once", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "a candidate counts on its own lease again at once, while others may still be granted a longer one",
			File: script("acquire"), Old: "if before and before <= most then", New: "if true then",
		}, {
			Name: "never-unlearned", Kind: Script, Breaks: []string{words},
			What: "a candidate that has heard of a longer lease counts on it for ever",
			File: script("acquire"), Old: "  if most >= longest then return most, ARGV[9] end\n", New: "  if true then return math.max(most, longest), ARGV[9] end\n",
		},
	}
}
