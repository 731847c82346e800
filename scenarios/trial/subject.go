package trial

import (
	"maps"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios"
)

// Subject is an elector on trial, with what has to be known of it to judge it
// fairly.
type Subject struct {
	Name    string
	Summary string  // one line
	Source  string  // where its documentation is from, in a few words; may be empty
	Claims  []Claim // what that documentation promises in figures, or in promises

	// Waived are promises that the subject does not make at all, and why: one
	// without tokens cannot keep TokensIncrease, nor break it.
	Waived map[checker.Promise]string
	// Applies reports whether a scenario can be run with the subject, and if not,
	// why, in one clause: "there is no script that the store could forget". Nil:
	// every scenario can.
	Applies func(scenarios.Scenario) (applies bool, why string)
	// Foreign says that it is a program of which nothing is known: see
	// scenarios.Settings.
	Foreign bool
	// FixedClocks says that it cannot be told its clocks: see scenarios.Settings.
	FixedClocks bool
	// Absent are worlds that the subject does not live in, and why.
	Absent map[string]string
}

// Scenario is the scenario as it is run with the subject: the subject's
// waivers are added to its own.
func (s Subject) Scenario(of scenarios.Scenario) scenarios.Scenario {
	if len(s.Waived) == 0 {
		return of
	}
	waived := maps.Clone(s.Waived)
	maps.Copy(waived, of.Waived)
	of.Waived = waived
	return of
}

// applies reports whether the scenario can be run with the subject in a world.
func (s Subject) applies(world string, of scenarios.Scenario) (applies bool, why string) {
	if why, absent := s.Absent[world]; absent {
		return false, why
	}
	if s.Applies == nil {
		return true, ""
	}
	return s.Applies(of)
}

// Fact is what a claim is held against: a figure that is measured in the runs
// of some scenarios.
type Fact string

// The facts. The unit of each is that of Claim.Limit.
const (
	// Failover is the longest failover: from the moment in which the old leader
	// could no longer act to the first accepted write of the next one. Leases.
	Failover Fact = "failover"
	// Acquisition is the median round trip of a request that acquired the lease.
	// Milliseconds.
	Acquisition Fact = "acquisition"
	// Renewal is the same of requests that renewed it. Milliseconds.
	Renewal Fact = "renewal"
	// Operations are those that all candidates ask of the store, a minute; see
	// Claim.Lease and Claim.Nodes. The mean of all runs.
	Operations Fact = "operations"
	// TwoLeaders is the longest time in which two candidates believed that they
	// lead. Leases; the limit is mostly 0.
	TwoLeaders Fact = "two leaders"
	// StaleWrites are writes that the protected resource accepted although somebody
	// else held the lease by then, in one run at the most. The limit is mostly 0.
	StaleWrites Fact = "stale writes"
	// Blind is the longest time for which somebody went on believing while a
	// fault kept the store away from all candidates. Leases.
	Blind Fact = "belief without a store"
	// Changes are the leaders that a run had after its first one. The limit is
	// mostly 0.
	Changes Fact = "changes of leader"
)

// Claim is a sentence of a subject's documentation that can be held against
// what was measured.
type Claim struct {
	Text      string   // the sentence, or its gist
	Fact      Fact     // what is measured
	Scenarios []string // in whose runs; those of them that the trial has not run are left out
	Limit     float64  // the claim holds if the fact is not above it, in the fact's unit
	Slack     float64  // share of Limit that it may be above, where the sentence says "about": 0.1

	// Lease and Nodes are what the sentence is about where the fact is
	// Operations: it is measured for the trial's lease and the scenario's
	// candidates, and converted, as the operations of an elector follow its
	// lease. Zero: as they are.
	Lease time.Duration
	Nodes int
}
