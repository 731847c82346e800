package bubble_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
)

// The production elector keeps its promises in every scenario in a bubble, too,
// with a lease of a second and with one as in production, and every fault takes
// effect there. RECOUNT_SEEDS says with which seeds: so many, from one on, such as
// "4+100".
func TestScenarios(t *testing.T) {
	seeds := uint64(2)
	if raced.Enabled {
		seeds = 1
	}
	first, seeds := asked("RECOUNT_SEEDS", seeds)
	for _, s := range scenarios.Every() {
		t.Run(s.Name, func(t *testing.T) {
			for seed := first; seed < first+seeds; seed++ {
				set := scenarios.Settings{Subject: "recount", Seed: seed}
				if seed%2 == 1 && !agrees(s) { // for so long no replica may have been cut off there
					set.Lease = 15 * scenarios.DefaultLease
				}
				plan := planOf(t, s.Name, set)
				if why := bubble.Refuses(plan); why != "" {
					t.Fatal(why)
				}
				keeps(t, carryOut(t, plan))
			}
		})
	}
}

// asked reads from the environment how many there are to be, and from which one on:
// "300+1000", or "300". Otherwise there are n.
func asked(variable string, n uint64) (first, count uint64) {
	text, from, _ := strings.Cut(os.Getenv(variable), "+")
	first, _ = strconv.ParseUint(from, 10, 64) // 0 if it is none
	if count, err := strconv.ParseUint(text, 10, 64); err == nil {
		return first, count
	}
	return first, n
}

// agrees tells whether a scenario's servers promote one of themselves.
func agrees(s scenarios.Scenario) bool {
	return s.Topology == sim.Sentinel || s.Topology == sim.Cluster
}

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

// A bubble carries out the plan of every scenario. It refuses those whose store
// cannot be, and says why; a run of one says it, too.
func TestRefuses(t *testing.T) {
	for _, s := range scenarios.Every() {
		if why := bubble.Refuses(planOf(t, s.Name, scenarios.Settings{})); why != "" {
			t.Errorf("%s is refused: %s", s.Name, why)
		}
	}
	plan := planOf(t, "steady", scenarios.Settings{})
	for what, change := range map[string]func(*sim.Plan){
		"confirmed by more replicas than there are": func(p *sim.Plan) { p.Topology, p.Servers, p.Replicas = sim.Replicated, 2, 2 },
		"confirmed where there are no replicas":     func(p *sim.Plan) { p.Topology, p.Servers, p.Replicas = sim.Quorum, 3, 1 },
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
