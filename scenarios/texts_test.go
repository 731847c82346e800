package scenarios_test

import (
	"testing"

	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/virtual"
)

// The scripts' Lua text and their ports give the same history, to the last
// field of the last event: in schedules that are drawn and in every scenario.
func TestTextsAreTheirPorts(t *testing.T) {
	world := &virtual.World{Scripts: virtual.Compared, Reuse: true}
	for _, subject := range []string{"recount", "recount-unprotected"} {
		for number := range uint64(seeds(300)) {
			c := fuzz.Draw(fuzz.Pins{Subject: subject}, number+1)
			if _, err := world.Run(t.Context(), c.Plan(), ""); err != nil {
				t.Errorf("%s, case %d: %v", subject, number+1, err)
			}
		}
	}
	for _, s := range scenarios.All() {
		plan := planOf(t, s, scenarios.Settings{Subject: "recount", Seed: 1})
		if _, err := world.Run(t.Context(), plan, ""); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}
