package explore

// passing are two candidates of a lease of four ticks, one of which is asked to resign
// once: what it gives back may be passed on.
func passing(name, what string, change func(s *Settings)) Settings {
	return two(name, what, func(s *Settings) {
		s.short()
		s.Hints, s.Bids = 1, true
		s.Limits = [limits]int{Resignations: 1}
		change(s)
		s.Observations = append(s.Observations, SawResigned, SawPassed, SawPassedBack)
	})
}

func bids() []Settings {
	return []Settings{
		passing("bids", "refused attempts stand as bids; resignation, hand-over, one message lost, one crash; time stands while messages travel", func(s *Settings) {
			s.Delay, s.Leads = 0, true
			s.Limits[Losses], s.Limits[Crashes], s.Limits[Handovers] = 1, 1, 1
			s.Observations = append(s.Observations, SawHandedOver)
		}),
		passing("bids-twice", "likewise, and what is passed on is announced late, or twice", func(s *Settings) {
			s.Delay, s.Leads, s.Large = 1, true, true
			s.Limits[Echoes] = 1
			s.Observations = append(s.Observations, SawTooLate)
		}),
		passing("bids-clock", "likewise, and the store's clock is set forth or back by a tick, while nobody can believe in its lease", func(s *Settings) {
			s.Delay, s.Large = 1, true
			s.Limits[Jumps] = 1
		}),
		passing("bids-stops", "likewise, and candidates are stopped and take their bids back; one message lost", func(s *Settings) {
			s.Delay, s.Leads = 0, true
			s.Limits[Losses], s.Limits[Endings], s.Limits[Stops] = 1, 1, 1
			s.Observations = append(s.Observations, SawStopped, SawWithdrawn)
		}),
		passing("bids-restart", "likewise, and the store loses its data once, and notices; one message lost", func(s *Settings) {
			s.Delay = 0
			s.Limits[Losses], s.Limits[Restarts] = 1, 1
			s.Observations = append(s.Observations, SawSuperseded)
		}),
		passing("bids-three", "three candidates, one of whose bids stands; time stands while messages travel", func(s *Settings) {
			s.Candidates, s.Delay, s.Leads = 3, 0, true
			s.Observations = []Observation{SawElected, SawRenewed, SawReleased}
		}),
	}
}

func largeBids() []Settings {
	return []Settings{
		passing("bids-loss", "bids; messages lost, one crash; time stands while messages travel", func(s *Settings) {
			s.Delay, s.Leads = 0, true
			s.Limits[Losses], s.Limits[Crashes] = Endless, 1
		}),
		passing("bids-delayed", "bids, two requests of each under way, messages take any time", func(s *Settings) {
			s.Delay, s.InFlight = Endless, 2
		}),
		passing("bids-rewind", "bids of three candidates; the store goes back once to what it was, and notices; one request repeated", func(s *Settings) {
			s.Candidates, s.Delay = 3, 0
			s.Limits[Rewinds], s.Limits[Repeats] = 1, 1
			s.Observations = append(s.Observations, SawSuperseded)
		}),
	}
}
