package scenarios_test

import (
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// TestAttended shows that the production elector keeps its promises while somebody attends
// to the store, that every fault took effect, and that no candidate ended because of what
// the store answered. The scenarios are run one after the other: a fault starts a server. Of
// those behind Sentinels one is run, each day another one; "chaos run" runs them all.
func TestAttended(t *testing.T) {
	forgetful, why := open(t).Forgetful()
	if !forgetful {
		t.Skip(why)
	}
	t.Parallel()
	const sentinelScenarios = 4
	behind := 0
	for _, s := range scenarios.Attended() {
		if s.Topology == sim.Sentinel {
			if behind++; behind%sentinelScenarios != time.Now().YearDay()%sentinelScenarios {
				continue
			}
		}
		t.Run(s.Name, func(t *testing.T) {
			o := run(t, s, scenarios.Settings{Subject: "recount", Seed: 1})
			for tries := 1; o.Verdict() != checker.Pass && stalled(o) && tries < 3; tries++ {
				t.Logf("the machine stalled in a run that is %v: once more", o.Verdict())
				o = run(t, s, scenarios.Settings{Subject: "recount", Seed: 1})
			}
			keeps(t, o)
			for _, e := range o.History.Events {
				if e.Kind == history.Exit && e.Why != history.EndOfRun && e.Why != history.Killed {
					t.Errorf("%s ended: %s (%s)", e.Node, e.Why, e.Text)
				}
				if e.Kind == history.Fault && e.Phase == history.Off && !history.Uninjected(e.Fault) {
					t.Logf("%s: %s", e.Fault, e.Evidence)
				}
			}
			t.Logf("%d failovers, availability %.3f", len(o.Result.Failovers), o.Result.Availability)
		})
	}
}
