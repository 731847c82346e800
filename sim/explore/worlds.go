package explore

import "slices"

// Worlds are those with a name, the small ones first.
func Worlds() []Settings {
	return slices.Concat(small(), bids(), elections(), majorities(), large())
}

// Find is the world with a name, nil if there is none.
func Find(name string) *Settings {
	for _, s := range Worlds() {
		if s.Name == name {
			return &s
		}
	}
	return nil
}

// two are two candidates of a lease of six ticks, whose messages take any time.
func two(name, what string, change func(s *Settings)) Settings {
	s := Settings{
		Name: name, What: what, Candidates: 2, Lease: 6, Renew: 2, Retry: 1, Timeout: 2, Drain: 12, InFlight: 1, Delay: Endless,
		Observations: []Observation{SawElected, SawRenewed, SawExpired, SawTakenOver, SawRegained, SawReleased},
	}
	change(&s)
	return s
}

// short makes a lease of four ticks of it, which is renewed each tick.
func (s *Settings) short() { s.Lease, s.Renew, s.Retry, s.Timeout, s.Drain = 4, 1, 1, 1, 8 }

func small() []Settings {
	return []Settings{
		two("delays", "two candidates, messages and work of any length", func(s *Settings) {
			s.Work, s.Leads = Endless, true
			s.Observations = append(s.Observations, SawTooLate, SawTooMany)
		}),
		two("calm", "two candidates, nothing goes wrong: resignation, hand-over, end of work, stop", func(s *Settings) {
			s.Delay, s.Work, s.Calm, s.Leads, s.Hints = 1, 6, true, true, 1
			s.Limits = [limits]int{Resignations: 1, Handovers: 1, Endings: 1, Stops: 1}
			s.Observations = []Observation{SawElected, SawRenewed, SawResigned, SawDraining, SawReleased, SawStopped, SawHandedOver}
		}),
		two("three", "three candidates, messages lost, one crash; time stands while messages travel", func(s *Settings) {
			s.short()
			s.Candidates, s.Delay = 3, 0
			s.Limits = [limits]int{Losses: Endless, Crashes: 1}
		}),
		two("hints", "two candidates that hear of releases and grants; messages lost, hand-over", func(s *Settings) {
			s.short()
			s.Hints, s.Delay, s.Leads = 1, 0, true
			s.Limits = [limits]int{Losses: Endless, Crashes: 1, Handovers: 1}
			s.Observations = append(s.Observations, SawResigned, SawHandedOver)
		}),
		two("restart", "a store that loses its data, and notices", func(s *Settings) {
			s.short()
			s.Delay = 1
			s.Limits = [limits]int{Losses: Endless, Restarts: 1}
			s.Observations = append(s.Observations, SawSuperseded)
		}),
		two("forgetful", "a store that loses its data once everybody knows the last token, and does not notice", func(s *Settings) {
			s.short()
			s.Delay = 1
			s.Limits = [limits]int{Losses: Endless, Forgettings: 1}
		}),
		two("orders", "two candidates, most orders that can come from outside; time stands while messages travel", func(s *Settings) {
			s.short()
			s.Delay, s.Work, s.Leads = 0, 1, true
			s.Limits = [limits]int{Losses: Endless, Resignations: 1, Handovers: 1, Endings: 1, Fencings: 1}
			s.Observations = append(s.Observations, SawSuperseded, SawResigned, SawDraining, SawHandedOver)
		}),
		two("stops", "two candidates that are stopped, by order or by an answer; time stands while messages travel", func(s *Settings) {
			s.short()
			s.Delay, s.Work, s.Leads = 0, 1, true
			s.Limits = [limits]int{Losses: Endless, Endings: 1, Stops: 1, Refusals: 1}
			s.Observations = append(s.Observations, SawResigned, SawDraining, SawStopped)
		}),
		two("once", "two candidates that stop after one term, and start again", func(s *Settings) {
			s.short()
			s.Delay, s.Leads, s.Once = 1, true, true
			s.Limits = [limits]int{Losses: Endless, Endings: 1}
			s.Observations = []Observation{SawElected, SawRenewed, SawExpired, SawTakenOver, SawReleased, SawStopped}
		}),
		two("drift", "a clock may stand still for one tick of each lease", func(s *Settings) {
			s.Drift, s.Delay = 1, 2
		}),
	}
}

func large() []Settings {
	list := append(largeBids(),
		two("crash", "two candidates, a short lease, messages lost, one crash", func(s *Settings) {
			s.short()
			s.Leads = true
			s.Limits = [limits]int{Losses: Endless, Crashes: 1}
			s.Observations = append(s.Observations, SawTooLate)
		}),
		two("loss", "two candidates, messages lost", func(s *Settings) {
			s.Limits = [limits]int{Losses: Endless}
		}),
		two("messages", "two candidates, messages lost, one repeated, one that outlives its sender, one crash", func(s *Settings) {
			s.Limits = [limits]int{Losses: Endless, Crashes: 1, Ghosts: 1, Repeats: 1}
		}),
		two("rewind", "a store that goes back once to what it was, and notices; one resignation", func(s *Settings) {
			s.short()
			s.InFlight = 2
			s.Limits = [limits]int{Resignations: 1, Rewinds: 1}
			s.Observations = append(s.Observations, SawSuperseded, SawResigned)
		}),
		two("late", "two candidates, a short lease, messages lost, one crash, wake-ups any time late", func(s *Settings) {
			s.short()
			s.Late = true
			s.Limits = [limits]int{Losses: Endless, Crashes: 1}
			// Not the way back: each state on it has a shorter way, along which it is none.
			s.Observations = []Observation{SawElected, SawRenewed, SawExpired, SawTakenOver, SawReleased}
		}),
		two("two-under-way", "two candidates, two requests of each under way", func(s *Settings) {
			s.InFlight = 2
			s.Limits = [limits]int{Losses: Endless}
		}),
		two("orders-delayed", "two candidates, all orders that can come from outside, messages of any length", func(s *Settings) {
			s.short()
			s.Work = 2
			s.Limits = [limits]int{Losses: Endless, Crashes: 1, Resignations: 1, Handovers: 1, Endings: 1, Stops: 1, Fencings: 1, Refusals: 1}
		}),
		two("three-delayed", "three candidates, messages lost, any time late, one crash", func(s *Settings) {
			s.short()
			s.Candidates = 3
			s.Limits = [limits]int{Losses: Endless, Crashes: 1}
		}),
	)
	for i := range list {
		list[i].Large = true
	}
	return list
}
