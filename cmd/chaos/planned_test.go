package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios"
)

// TestPlannedOnce shows that a run is planned once on its way from the flags to the world,
// and that a dry run shows that plan. Questions about a scenario, such as whether it hits
// the store, are asked of other plans, with the default lease.
func TestPlannedOnce(t *testing.T) {
	const lease = 700 * time.Millisecond
	for _, dry := range []bool{false, true} {
		plans := 0
		counted := scenarios.Scenario{Name: "counted", Waived: map[checker.Promise]string{checker.FailoverBound: "nothing happens"}, Schedule: func(s scenarios.Shape) faults.Schedule {
			if s.Lease == lease {
				plans++
			}
			return nil
		}}
		var out bytes.Buffer
		m := Main{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
		f := runFlags{
			world: virtualWorld, parallel: 1, runs: 1, dryRun: dry, out: t.TempDir(),
			settings: scenarios.Settings{Subject: "recount", Lease: lease, Seed: 5},
		}
		list, err := f.plan([]scenarios.Scenario{counted})
		if err == nil {
			err = m.enter(t.Context(), &f, list, nil, f.runIn)
		}
		if err != nil || plans != 1 {
			t.Errorf("dry run %v: planned %d times, want once; %v\n%s", dry, plans, err, out.String())
		}
	}
}
