package scenarios

import "github.com/recount-io/recount/sim"

// Planned is a scenario with the settings of one run, and the plan that follows from both.
type Planned struct {
	Scenario
	Settings Settings
	Plan     sim.Plan
}

// With plans a run of the scenario. It returns an error if the settings allow no plan.
func (s Scenario) With(set Settings) (Planned, error) {
	plan, err := s.Plan(set)
	return Planned{s, set, plan}, err
}

// Again plans another run with the same settings, except for the seed and the flags of the
// command that repeats the run.
func (p Planned) Again(seed uint64, flags string) (Planned, error) {
	set := p.Settings
	set.Seed, set.Flags = seed, flags
	return p.With(set)
}

// PlanAll plans one run of each scenario.
func PlanAll(list []Scenario, set Settings) ([]Planned, error) {
	var all []Planned
	for _, s := range list {
		p, err := s.With(set)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
