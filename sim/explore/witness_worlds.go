package explore

// elections are the worlds of several elections on one server.
func elections() []Settings {
	return []Settings{
		two("witness", "two elections on one Redis, run by its scripts; four keys are lost, one by one", func(s *Settings) {
			s.Elections, s.Lease, s.Renew, s.Timeout = 2, 2, 1, 1
			s.Limits = [limits]int{Vanishings: 4}
			s.Observations = []Observation{SawElected, SawRenewed, SawExpired, SawReleased, SawWithheld}
		}),
	}
}
