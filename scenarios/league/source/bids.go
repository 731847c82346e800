package source

// bidBugs are in how a lease is passed on to a bid.
func bidBugs() []Bug {
	return []Bug{
		{
			Name: "bid-of-the-absent", Kind: Script, Breaks: []string{"FailoverBound", "LeaderReturns", handOver, words},
			What: "a lease is passed on to who does not listen any more, and nobody leads until it is over",
			File: script("release"), Old: " or waiters(beacon) == 0 then return end", New: " then return end",
		}, {
			Name: "bid-however-old", Kind: Script, Breaks: []string{"FailoverBound", handOver, words},
			What: "a lease is passed on to a request of long ago, which nobody may believe in any more",
			File: script("release"), Old: "if age < 0 or 4 * age > 3 * ttl or most", New: "if most",
		}, {
			Name: "bid-anywhere", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "a server that was replaced and promoted again passes a lease on, as if nothing had been between",
			File: script("release"), Old: " or history() ~= w[1]\n", New: "\n",
		}, {
			Name: "bid-beside-another", Kind: Script, Breaks: []string{"AtMostOneLeader", "TokensIncrease", words},
			What: "a lease is passed on while another one may be believed in",
			File: script("release"), Old: " or since + most > now or (tonumber(g[2]) or 0) > now", New: "",
		}, {
			Name: "bid-before-the-heir", Kind: Script, Breaks: []string{handOver, words},
			What: "a lease that is handed over to a name is passed on to who was refused last",
			File: script("release"), Old: " or to ~= '' and to ~= next then return end", New: " then return end",
		}, {
			Name: "bid-of-another-length", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "a lease is passed on to who counts on shorter leases than others have",
			File: script("release"), Old: " or most ~= g[3] or", New: " or",
		}, {
			Name: "bid-with-the-same-token", Kind: Script, Breaks: []string{"TokensIncrease", "LeaseLinearizable", words},
			What: "a lease that is passed on keeps its token",
			File: script("release"), Old: "  local new = count(KEYS[5], call('GET', KEYS[5]), protect, time, floor)\n", New: "  local new = token\n",
		},
	}
}
