package scenarios_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// TestVirtualQuorum shows that an elector on a majority of five independent
// stores keeps its promises in virtual time too, whatever the seed and the length
// of a lease.
func TestVirtualQuorum(t *testing.T) {
	for _, name := range []string{"quorum-minority-down", "quorum-node-amnesia", "quorum-lagging-nodes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(seeds(100)) {
				set := scenarios.Settings{Subject: "recount", Seed: seed}
				if seed%2 == 1 {
					set.Lease = 15 * scenarios.DefaultLease
				}
				keeps(t, imagine(t, find(t, name), set))
			}
		})
	}
}

// TestVirtualQuorumCanFail shows what it takes to survive on five stores: nodes
// that lost their data must not grant at once, and an elector must not trust one
// of them alone.
func TestVirtualQuorumCanFail(t *testing.T) {
	for _, test := range []struct {
		scenario, subject string
		promise           checker.Promise
	}{
		{"quorum-node-amnesia", "recount-unprotected", checker.AtMostOneLeader},
		{"quorum-minority-down", "trusts-one", checker.FailoverBound},
	} {
		broken := 0
		for seed := range uint64(10) {
			for _, f := range imagine(t, find(t, test.scenario), scenarios.Settings{Subject: test.subject, Seed: seed}).Result.Asked {
				if f.Promise == test.promise && f.Verdict == checker.Fail {
					broken++
				}
			}
		}
		if t.Logf("%s: %s breaks %s in %d of 10", test.scenario, test.subject, test.promise, broken); broken < 5 {
			t.Errorf("%s: %s breaks %s in %d of 10 only", test.scenario, test.subject, test.promise, broken)
		}
	}
}

// TestVirtualQuorumAtRandom shows that whatever happens to whichever of the five
// stores, and to the leader, no two lead at one time and tokens grow; that what the
// majority answers is what one lease would have; and that there is a leader when all is over.
func TestVirtualQuorumAtRandom(t *testing.T) {
	s := scenarios.Scenario{
		Name: "quorum-at-random", Topology: sim.Quorum, Quiet: 6, Return: 6, Schedule: atRandom,
		Waived: map[checker.Promise]string{
			checker.FailoverBound: "there may be no majority for as long as it likes",
		},
	}
	for seed := range uint64(seeds(40)) {
		o := imagine(t, s, scenarios.Settings{Subject: "recount", Seed: seed})
		for _, f := range o.Result.Asked {
			if f.Verdict == checker.Fail {
				t.Errorf("seed %d: %s: %s", seed, f.Promise, f.Reason)
			}
		}
	}
}

// atRandom draws faults on single stores and on candidates, many at a time.
func atRandom(s scenarios.Shape) faults.Schedule {
	var all faults.Schedule
	span := func(n int) time.Duration { return time.Duration(s.Random.Int64N(int64(n) * int64(s.Lease))) }
	for range 5 + s.Random.IntN(20) {
		step := faults.Step{At: span(12), For: span(2), Fault: drawn(s.Random), Target: faults.StoreNode(1 + s.Random.IntN(5))}
		if !step.Fault.Effect().Store {
			step.Target = []faults.Target{faults.Leader, faults.Follower}[s.Random.IntN(2)]
		}
		all = append(all, step)
	}
	return all
}

func drawn(random *rand.Rand) faults.Fault {
	list := []faults.Fault{
		faults.StoreCrash{}, faults.StoreCrash{}, faults.StoreCrash{KeepData: true}, faults.StorePause{},
		faults.Crash{}, faults.Pause{}, faults.Resign{}, faults.Partition{How: faults.CutBoth}, faults.Partition{How: faults.CutReplies},
		faults.Latency{Base: 100 * time.Millisecond, Jitter: 90 * time.Millisecond},
	}
	return list[random.IntN(len(list))]
}
