package bubble_test

import (
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
)

// carryOut carries out a plan in a bubble of its own.
func carryOut(t *testing.T, plan sim.Plan) *history.History {
	t.Helper()
	var h *history.History
	bubbletest.Run(t, plan.Seed, func(t *testing.T) {
		var err error
		if h, err = (&bubble.World{}).Run(t.Context(), plan, ""); err != nil {
			t.Error(err)
		}
	})
	return h
}

// planOf is the plan of a scenario.
func planOf(t *testing.T, scenario string, set scenarios.Settings) sim.Plan {
	t.Helper()
	found, err := scenarios.Find(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if set.Subject == "" {
		set.Subject = "recount"
	}
	plan, err := found[0].Plan(set)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func keeps(t *testing.T, h *history.History) {
	t.Helper()
	result := checker.Check(h, checker.Options{})
	for _, f := range result.Asked {
		if f.Verdict != checker.Pass {
			t.Errorf("%s: %s: %s %v", f.Promise, f.Verdict, f.Reason, f.Evidence)
		}
	}
}

// One candidate leads, and keeps every promise.
func TestOne(t *testing.T) {
	keeps(t, carryOut(t, planOf(t, "steady", scenarios.Settings{Nodes: 1})))
}
