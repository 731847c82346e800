package bubble_test

import (
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
)

// Without what protects from it, a primary that is replaced breaks promises: without
// the guard, and, where the old primary lives on, without confirmations. So do nodes
// that lost their data and grant at once.
func TestTopologiesCanFail(t *testing.T) {
	for _, test := range []struct {
		scenario, subject string
		confirmed         bool
		breaks            checker.Promise
	}{
		{"sentinel-failover", "recount-unprotected", false, checker.TokensIncrease},
		{"cluster-failover", "recount-unprotected", false, checker.TokensIncrease},
		{"isolated-old-master", "recount", false, checker.AtMostOneLeader},
		{"quorum-node-amnesia", "recount-unprotected", true, checker.AtMostOneLeader},
	} {
		const runs = 4
		broken := 0
		for seed := range uint64(runs) {
			plan := planOf(t, test.scenario, scenarios.Settings{Subject: test.subject, Seed: seed})
			if !test.confirmed {
				plan.Replicas = 0
			}
			for _, f := range checker.Check(carryOut(t, plan), checker.Options{}).Asked {
				if f.Promise == test.breaks && f.Verdict == checker.Fail {
					broken++
				}
			}
		}
		if broken <= runs/2 {
			t.Errorf("%s: %s was broken in %d runs of %d", test.scenario, test.breaks, broken, runs)
		}
	}
}

// A bubble carries out the plan of every scenario that leaves passwords alone. It refuses
// those whose store cannot be, and says why; a run of one says it, too.
func TestRefuses(t *testing.T) {
	for _, s := range scenarios.Every() {
		if why := bubble.Refuses(planOf(t, s.Name, scenarios.Settings{})); (why != "") != s.NeedsPasswordFile() {
			t.Errorf("%s is refused: %s", s.Name, why)
		}
	}
	plan := planOf(t, "steady", scenarios.Settings{})
	for what, change := range map[string]func(*sim.Plan){
		"confirmed by more replicas than there are": func(p *sim.Plan) { p.Topology, p.Servers, p.Replicas = sim.Replicated, 2, 2 },
		"confirmed where there are no replicas":     func(p *sim.Plan) { p.Topology, p.Servers, p.Replicas = sim.Quorum, 3, 1 },
		"an election with a past":                   func(p *sim.Plan) { p.Tokens = 7 },
		"candidates with other leases":              func(p *sim.Plan) { p.LongLease = 2 * p.Timings.Lease },
		"leaders that hand over":                    func(p *sim.Plan) { p.HandsOver = true },
		"a quorum of fewer than none":               func(p *sim.Plan) { p.Topology, p.Servers = sim.Quorum, -1 },
		"a subject that nobody knows":               func(p *sim.Plan) { p.Subject = "nobody" },
	} {
		bad := plan
		change(&bad)
		if h, err := (&bubble.World{}).Run(t.Context(), bad, ""); h != nil || err == nil {
			t.Errorf("%s was carried out: %v", what, err)
		}
	}
}
