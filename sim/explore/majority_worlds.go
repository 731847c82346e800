package explore

// three stores of which a majority holds the lease, and two candidates.
func threeStores(name, what string, change func(s *Settings)) Settings {
	s := two(name, what, func(s *Settings) {
		s.Stores, s.Lease, s.Renew, s.Retry, s.Timeout, s.Drain, s.Delay = 3, 4, 1, 1, 2, 4, 0
		s.Observations = []Observation{SawElected, SawRenewed, SawExpired, SawRefused, SawGivenBack}
	})
	change(&s)
	return s
}

// majorities are the worlds of several stores.
func majorities() []Settings {
	list := []Settings{
		threeStores("majority", "three stores, two candidates, one resignation; messages go there and back at once, in any order", func(s *Settings) {
			s.Limits = [limits]int{Resignations: 1}
			s.Observations = append(s.Observations, SawResigned, SawReleased, SawTakenOver, SawRegained)
		}),
		threeStores("majority-loss", "three stores, a message or its answer lost, one crash", func(s *Settings) {
			s.Limits = [limits]int{Losses: 1, Crashes: 1}
		}),
		threeStores("majority-losses", "three stores, two messages or answers lost", func(s *Settings) {
			s.Limits = [limits]int{Losses: 2}
		}),
		threeStores("majority-amnesia", "three stores, one of which loses its data once and notices; one message lost", func(s *Settings) {
			s.Limits = [limits]int{Losses: 1, Restarts: 1}
		}),
		threeStores("majority-ghosts", "three stores, a request that outlives its sender, one that takes effect twice, one crash", func(s *Settings) {
			s.Limits = [limits]int{Crashes: 1, Ghosts: 1, Repeats: 1}
		}),
		threeStores("majority-revival", "three stores, terms are renewed when their belief has ended; one message lost", func(s *Settings) {
			s.Late = true
			s.Limits = [limits]int{Losses: 1}
		}),
		threeStores("majority-late", "three stores, answers up to two ticks late, which is longer than anybody waits for them", func(s *Settings) {
			s.Delay = 2
		}),
	}
	for i := range list[1:] {
		list[i+1].Large = true
	}
	return list
}
