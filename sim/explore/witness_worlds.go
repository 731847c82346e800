package explore

// elections are the worlds of several elections on one server.
func elections() []Settings {
	return []Settings{
		two("witness", "two elections on one Redis, run by its scripts; four keys are lost, one by one", func(s *Settings) {
			s.Elections, s.Lease, s.Renew, s.Timeout = 2, 2, 1, 1
			s.Limits = [limits]int{Vanishings: 4}
			s.Sights = []Sight{SawElected, SawRenewed, SawExpired, SawReleased, SawWithheld}
		}),
	}
}

// plantedInScripts are about who is granted a lease after keys were lost.
func plantedInScripts() []Plant {
	return []Plant{
		{
			Name: "grant-without-witness", What: "a grant does not tell the witness when the lease ends",
			Old: "call('HSET', witness, 'of ' .. guard, ends)\nif own", New: "if own",
		}, {
			Name: "renewal-without-witness", What: "a renewal does not tell the witness when the lease ends",
			Old: "call('HSET', witness, 'of ' .. guard, ends) == 1", New: "false",
		}, {
			Name: "grant-ignores-since", What: "a grant does not ask for how long the server has forgotten nothing",
			Old: "math.max(since + most, doubt, ends)", New: "math.max(doubt, ends)",
		}, {
			Name: "witness-keeps-since", What: "a witness that is made anew says that the server has never forgotten anything",
			Old: "    since = now\n", New: "    since = 0\n",
		}, {
			Name: "created-is-sure", What: "who creates an election says that the server has never forgotten anything",
			Old: "call('SET', KEYS[2], '0')", New: "call('SET', KEYS[2], '0')\ncall('HSET', KEYS[4], 'since', '0')",
		}, {
			Name: "counts-on", What: "tokens count on from the last one, and are not the server's time",
			Old: "if protect == '1' or protect == '2' and older then", New: "if false then",
		},
	}
}
