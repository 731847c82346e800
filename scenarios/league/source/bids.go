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
			File: script("release"), Old: "protect ~= '0' and history(protect) ~= g[3] or waiters", New: "waiters",
		}, {
			Name: "bid-beside-another", Kind: Script, Breaks: []string{"AtMostOneLeader", "TokensIncrease", words},
			What: "a lease is passed on while another one may be believed in",
			// Either of the two conditions keeps it from that: whoever is unsure seeds.
			File: script("release"), Old: " or g[6] == '1' then return end\n  if (tonumber(g[4]) or 0) > now or (", New: " then return end\n  if (",
		}, {
			Name: "bid-before-the-heir", Kind: Script, Breaks: []string{handOver, words},
			What: "a lease that is handed over to a name is passed on to who was refused last",
			File: script("release"), Old: " or to ~= '' and to ~= next then return end", New: " then return end",
		}, {
			Name: "bid-of-another-length", Kind: Script, Breaks: []string{"AtMostOneLeader", words},
			What: "a lease is passed on to who counts on shorter leases than others have",
			File: script("release"), Old: " or most ~= g[5] or g[6] == '1'", New: " or g[6] == '1'",
		}, {
			Name: "bid-with-the-same-token", Kind: Script, Breaks: []string{"TokensIncrease", "LeaseLinearizable", words},
			What: "a lease that is passed on keeps its token",
			File: script("release"), Old: "  local new = count(KEYS[5], protect, time, floor)\n", New: "  local new = token\n",
		},
	}
}
