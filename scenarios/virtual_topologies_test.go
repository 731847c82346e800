package scenarios_test

import (
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios"
)

// TestVirtualTopologies shows that the scenarios whose servers promote one of
// themselves pass in virtual time too, where a primary and the replica that is
// promoted stand for all of them; and that an elector without the protection against lost data, or
// one that asks for no confirmations where the old primary lives on, fails.
func TestVirtualTopologies(t *testing.T) {
	for _, s := range scenarios.Topologies() {
		if s.Topology.Independent() > 1 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			for seed := range uint64(20) {
				keeps(t, imagine(t, s, scenarios.Settings{Subject: "recount", Seed: seed}))
			}
			promise, subject := checker.TokensIncrease, "recount-unprotected"
			if s.Replicas > 0 {
				promise, subject, s.Replicas = checker.AtMostOneLeader, "recount", 0
			}
			broken := 0
			for seed := range uint64(10) {
				for _, f := range imagine(t, s, scenarios.Settings{Subject: subject, Seed: seed}).Result.Asked {
					if f.Promise == promise && f.Verdict == checker.Fail {
						broken++
					}
				}
			}
			t.Logf("without what helps, %s is broken in %d of 10", promise, broken)
			if broken < 5 {
				t.Errorf("without what helps, %s is broken in %d of 10 only", promise, broken)
			}
		})
	}
}
