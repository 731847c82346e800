package source

// script is the path of a Lua text.
func script(name string) string { return "elector/redisstore/scripts/" + name + ".lua" }

// scriptBugs are in the Lua text of the shipped scripts.
func scriptBugs() []Bug {
	return []Bug{
		{
			Name: "reserved-from-the-heir", Kind: Script, Breaks: []string{handOver, words},
			What: "acquire keeps the candidate that the lease is handed over to out, and nobody else",
			File: script("acquire"), Old: "if g[5] and g[5] ~= id and rest > 0", New: "if g[5] and g[5] == id and rest > 0",
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
			File: script("acquire"), Old: "local most, besides = math.max(counted or 0, longest), g[3]", New: "local most, besides = tonumber(ttl), g[3]",
		}, {
			Name: "candidates-unreadable", Kind: Script, Breaks: []string{handOver, calls},
			What: "the note that a candidate lives has its priority before its lease, so nobody is found who could be handed over to",
			File: script("roster"), Old: "now .. ' ' .. ttl .. ' ' .. priority\n", New: "now .. ' ' .. priority .. ' ' .. ttl\n",
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
			File: script("history"), Old: "  local name = at and string.match(info, '^%w+', at + 1) or ''\n",
			New: "  local name = string.match(call('INFO', 'server'), 'run_id:(%w+)') or ''\n",
		}, {
			Name: "adopted-is-sure", Kind: Script, Breaks: []string{"AtMostOneLeader", "TokensIncrease", words},
			What: "who renews is taken to be the only one that leads, so a server that was rewound grants as soon as that one gives the lease back",
			File: script("renew"), Old: "    call('HSET', guard, 'unsure', now + longest, 'seed', 1)\n", New: "",
		}, {
			Name: "attempt-again-anywhere", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "an attempt that was granted is granted again by a server that does not know what happened in between",
			File: script("acquire"), Old: "local rest, remark, seed, besides = withheld(known, own)", New: "local rest, remark, seed, besides\nif own then rest = 0 else rest, remark, seed, besides = withheld(known) end",
		}, {
			Name: "long-leases-stay", Kind: Script, Breaks: []string{"LeaderReturns", words},
			What: "a key whose time to live is hours keeps everybody out for hours",
			File: script("acquire"), Old: "    if remaining < 0 or remaining > most then", New: "    if remaining < 0 then",
		}, {
			Name: "comers-uncounted", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "a replica that comes may have confirmed another primary's lease, and nobody waits for that one",
			File: script("history"), Old: "  if protect ~= '2' then return name end\n", New: "  if protect then return name end\n",
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
			File: script("acquire"), Old: "local since, forgot = witnessed(known)\n", New: "local since, forgot = witnessed(known)\n      if since < now then since = now - most end\n",
		}, {
			Name: "forgotten-is-new", Kind: Script, Breaks: []string{"AtMostOneLeader", "TokensIncrease", words},
			What: "an election whose keys were deleted is taken for one that never was",
			File: script("acquire"), Old: "if own or forgot and not g[1] then since = now end", New: "if own then since = now end",
		}, {
			Name: "evictions-unnoticed", Kind: Script, Breaks: []string{"AtMostOneLeader", "TokensIncrease", words},
			What: "a server that gives up keys for lack of memory counts as one that forgets none",
			File: script("acquire"), Old: " or w[3] ~= evicted or ", New: " or ",
		}, {
			Name: "leases-may-differ", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "a candidate with a longer lease than the others count on is granted it: a server that forgets it does not wait for long enough",
			File: script("acquire"), Old: "    if rest > 0 then return rest, 5, most end\n", New: "",
		},
	}
}
