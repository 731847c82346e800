// Package league holds planted bugs: electors that are right but for one thing,
// each behind a name. A harness that does not find them finds nothing of the
// kind. It hunts each of them, by random schedules or by a scenario, and lets the
// production elector live through the same without an alarm.
//
// docs/league.md has the table of what was found.
package league

import (
	"fmt"
	"maps"
	"slices"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Mutant is the production elector with one bug, or another elector with one, or
// what either relies on with one.
type Mutant struct {
	Name    string
	Where   Place
	What    string            // in one sentence
	Breaks  []checker.Promise // those that it is about: caught on another one, it does not count as found
	Subject virtual.Subject

	Pins     fuzz.Pins    // what its hunt does not leave to chance
	Scenario string       // by which it is hunted; "": by random schedules
	Topology sim.Topology // that the scenario's store has here; "": its own

	Unseen string // why nothing that is checked shows it yet; "": it is found
}

// lonely is why a promise does not apply where there is one candidate.
const lonely = "there is nobody else who could take over"

// Place says where a bug is.
type Place string

// The places.
const (
	Machine  Place = "machine"  // between the production elector's state machine and the world
	Script   Place = "script"   // a script that runs on the store, in its port to Go
	Text     Place = "text"     // the Lua text of a script, which runs as it would in production
	Answers  Place = "answers"  // what is made of the store's answers on their way to the machine
	Client   Place = "client"   // the Redis client's settings
	Clock    Place = "clock"    // which clock is read
	Majority Place = "majority" // how the answers of several stores, or of replicas, are counted
	Fence    Place = "fence"    // the protected resource
	Shell    Place = "shell"    // around the state machine: when the leader's work begins, writes and ends, and the token that it names
	Blocking Place = "blocking" // an elector in blocking style, as one writes it with a Redis client and a loop
)

// Mutants are all of them, in the order of the table.
func Mutants() []Mutant {
	return slices.Concat(
		beliefs(), margins(), anchors(), losses(), turns(), waits(), hearsay(), drains(), works(), tokens(), clocks(),
		renewals(), releases(), grants(), refusals(), lengths(), counters(), floors(), quarantines(), texts(),
		answers(), clients(), majorities(), stores(), replicas(), fences(), forgetfulFences(), loops(), commands(),
	)
}

// Subjects are the mutants as electors of the virtual world, by name.
func Subjects() map[string]virtual.Subject {
	all := map[string]virtual.Subject{}
	for _, m := range Mutants() {
		all[m.Name] = m.Subject
	}
	return all
}

// By says how the mutant is hunted.
func (m *Mutant) By() string {
	switch {
	case m.Scenario != "" && m.Pins.Nodes == 1:
		return fmt.Sprintf("scenario %s with 1 candidate", m.Scenario)
	case m.Topology.Independent() > 1:
		return fmt.Sprintf("scenario %s on %d stores", m.Scenario, m.Topology.Independent())
	case m.Scenario != "":
		return "scenario " + m.Scenario
	default:
		return "random schedules"
	}
}

// plan is a run of the scenario by which the mutant is hunted, for that
// subject.
func (m *Mutant) plan(subject string, seed uint64) (sim.Plan, error) {
	found, err := scenarios.Find(m.Scenario)
	if err != nil {
		return sim.Plan{}, fmt.Errorf("league: %s: %w", m.Name, err)
	}
	s := found[0]
	if m.Topology != sim.OneServer {
		s.Topology = m.Topology
	}
	if m.Pins.Nodes == 1 {
		waived := map[checker.Promise]string{checker.FailoverBound: lonely}
		maps.Copy(waived, s.Waived)
		s.Waived = waived
	}
	plan, err := s.Plan(scenarios.Settings{Subject: subject, Nodes: m.Pins.Nodes, Seed: seed})
	if err != nil {
		return plan, fmt.Errorf("league: %s: %w", m.Name, err)
	}
	return plan, nil
}
