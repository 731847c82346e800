package scenarios_test

import (
	"slices"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// imagine runs a scenario in virtual time.
func imagine(t *testing.T, s scenarios.Scenario, set scenarios.Settings) scenarios.Outcome {
	t.Helper()
	world := &virtual.World{Subjects: map[string]virtual.Subject{"trusts-one": {Blocking: plain{}.run}}}
	for name, c := range canaries() {
		world.Subjects[name] = virtual.Subject{Blocking: c.elector}
	}
	o := scenarios.Runner{
		World: world,
		Logs:  func(string) (string, error) { return "", nil },
	}.Run(t.Context(), []scenarios.Scenario{s}, set)[0]
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	return o
}

// seeds is how many a test of virtual runs takes: all, or a few where the race
// detector watches, which sees no more in all of them.
func seeds(all int) int {
	if race.Enabled {
		return max(2, all/10)
	}
	return all
}

// TestVirtualScenarios shows that the production elector keeps its promises in
// every scenario in virtual time too, whatever the seed and the length of a
// lease, and that every fault took effect there.
func TestVirtualScenarios(t *testing.T) {
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(seeds(20)) {
				set := scenarios.Settings{Subject: "recount", Seed: seed}
				if seed%2 == 1 {
					set.Lease = 15 * scenarios.DefaultLease
				}
				keeps(t, imagine(t, s, set))
			}
		})
	}
}

// TestVirtualCanaries shows that the broken electors are caught in virtual
// time too, on the same promises as in real time.
func TestVirtualCanaries(t *testing.T) {
	for name, c := range canaries() {
		t.Run(name, func(t *testing.T) {
			s, err := c.find()
			if err != nil {
				t.Fatal(err)
			}
			c.expect(t, imagine(t, s, scenarios.Settings{Subject: name, Seed: 1}))
		})
	}
}

// TestUnprotectedIsCaught shows what the protection against lost data is for:
// without it, a store that forgets a lease gives it away while its holder still
// believes, and if it has forgotten the count too hands out a token again. After a
// restart those ask first who waited and know the last token: for tokens see
// TestUnprotectedRepeatsTokens.
func TestUnprotectedIsCaught(t *testing.T) {
	for scenario, breaks := range map[string][]checker.Promise{
		"restart-without-data": {checker.AtMostOneLeader},
		"flush":                {checker.AtMostOneLeader, checker.TokensIncrease},
		"eviction":             {checker.AtMostOneLeader},
	} {
		found, err := scenarios.Find(scenario)
		if err != nil {
			t.Fatal(err)
		}
		broken := map[checker.Promise]int{}
		for seed := range uint64(10) {
			o := imagine(t, found[0], scenarios.Settings{Subject: "recount-unprotected", Seed: seed})
			for _, f := range o.Result.Asked {
				if f.Verdict == checker.Fail {
					broken[f.Promise]++
				}
			}
		}
		t.Logf("%s: broken in 10 runs: %v", scenario, broken)
		for _, p := range breaks {
			if broken[p] < 5 {
				t.Errorf("%s: %s was broken in %d runs of 10", scenario, p, broken[p])
			}
		}
	}
}

// TestUnprotectedRepeatsTokens shows what else the protection is for: where the stores and
// all candidates forget the tokens at one time, only the server's time makes them grow.
func TestUnprotectedRepeatsTokens(t *testing.T) {
	for _, topology := range []sim.Topology{sim.OneServer, sim.Quorum} {
		s := scenarios.Scenario{
			Name: "all-forget", Topology: topology, Quiet: 6, Return: 6,
			Schedule: func(s scenarios.Shape) faults.Schedule {
				all := faults.Schedule{{At: 2 * s.Lease, For: s.Lease, Fault: faults.Crash{}, Target: faults.All}}
				for n := range topology.Independent() {
					target := faults.Store
					if topology.Independent() > 1 {
						target = faults.StoreNode(n + 1)
					}
					all = append(all, faults.Step{At: 5 * s.Lease / 2, For: s.Lease / 4, Fault: faults.StoreCrash{}, Target: target})
				}
				return all
			},
			Waived: map[checker.Promise]string{checker.FailoverBound: "nobody is there, and then nobody is granted the lease for one lease"},
		}
		for seed := range uint64(10) {
			keeps(t, imagine(t, s, scenarios.Settings{Subject: "recount", Seed: seed}))
			o := imagine(t, s, scenarios.Settings{Subject: "recount-unprotected", Seed: seed})
			if !slices.ContainsFunc(o.Result.Asked, func(f checker.Finding) bool {
				return f.Promise == checker.TokensIncrease && f.Verdict == checker.Fail
			}) {
				t.Errorf("%q, seed %d, without protection: no token is repeated: %v", topology, seed, o.Result.Asked)
			}
		}
	}
}
