package scenarios_test

import (
	"runtime"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
)

// inBubble carries out a plan in a bubble of its own. No test of live runs may run
// beside it: they would share what Redis clients keep for all of a process.
func inBubble(t *testing.T, plan sim.Plan) (h *history.History) {
	t.Helper()
	bubbletest.Run(t, plan.Seed, func(t *testing.T) {
		var err error
		if h, err = (&bubble.World{}).Run(t.Context(), plan, ""); err != nil {
			t.Error(err)
		}
	})
	return h
}

// bubbled runs a scenario in a bubble.
func bubbled(t *testing.T, s scenarios.Scenario, set scenarios.Settings) scenarios.Outcome {
	t.Helper()
	plan, err := s.Plan(set)
	if err != nil {
		t.Fatal(err)
	}
	if why := bubble.Refuses(plan); why != "" {
		t.Fatal(why)
	}
	h := inBubble(t, plan)
	return scenarios.Outcome{Scenario: s, Plan: plan, History: h, Result: checker.Check(h, checker.Options{})}
}

// TestBubbleScenarios shows that the code that ships keeps its promises in every
// scenario in a bubble of fake time, too, with a lease of a second and with one as
// in production, and that every fault took effect there. "chaos run --world bubble
// --runs N" takes other seeds.
func TestBubbleScenarios(t *testing.T) {
	for _, s := range scenarios.Every() {
		t.Run(s.Name, func(t *testing.T) {
			if s.NeedsPasswordFile() {
				t.Skip("the servers of a bubble ask nobody for a password")
			}
			for seed := range uint64(seeds(2)) {
				set := scenarios.Settings{Subject: "recount", Seed: seed}
				if seed%2 == 1 && !agrees(s) { // for so long no replica may have been cut off there
					set.Lease = 15 * scenarios.DefaultLease
				}
				keeps(t, bubbled(t, s, set))
			}
		})
	}
}

// agrees reports whether a scenario's servers promote one of themselves.
func agrees(s scenarios.Scenario) bool {
	return s.Topology == sim.Sentinel || s.Topology == sim.Cluster
}

// TestBubbleSchedules shows that the code that ships keeps every promise in the schedules
// that the fuzzer draws.
func TestBubbleSchedules(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one goroutine at a time: see docs/architecture.md#the-worlds
	search.Test(t, "schedules", seeds(40))
}
