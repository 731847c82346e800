package scenarios_test

import (
	"testing"
	"time"

	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/documented"
)

// The production elector and whatever claims to be it are held to the millisecond
// that is documented; an elector that documents none, and a program of which nothing
// is known, are not. That holds for scenarios and for fuzzed cases alike.
func TestMargin(t *testing.T) {
	want := map[string]time.Duration{"recount": time.Millisecond, "recount-unprotected": time.Millisecond}
	for _, e := range documented.Electors() {
		want[e.Name] = 0
	}
	steady := scenarios.Standard()[0]
	for subject, margin := range want {
		plan := planOf(t, steady, scenarios.Settings{Subject: subject})
		if h := plan.Header("live", "", 0); h.Margin != margin {
			t.Errorf("%s: the header's margin is %v, want %v", subject, h.Margin, margin)
		}
		c := fuzz.FromPlan(plan)
		if h := c.Plan().Header("virtual", "", 0); h.Margin != margin {
			t.Errorf("%s: a case's margin is %v, want %v", subject, h.Margin, margin)
		}
		if plan := planOf(t, steady, scenarios.Settings{Subject: subject, Foreign: true}); plan.Margin != 0 {
			t.Errorf("a foreign program called %s is held to %v", subject, plan.Margin)
		}
	}
}
