package scenarios_test

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
)

// inBubble carries out a plan in a bubble of its own. No test of live runs may run
// beside it: they would share what Redis clients keep for all of a process.
func inBubble(t *testing.T, plan sim.Plan) (h *history.History) {
	t.Helper()
	bubbletest.Run(t, plan.Seed, func(t *testing.T) {
		var err error
		if h, err = (&bubble.World{}).Run(t.Context(), plan, ""); err != nil {
			t.Error(err)
		}
	})
	return h
}

// bubbled runs a scenario in a bubble.
func bubbled(t *testing.T, s scenarios.Scenario, set scenarios.Settings) scenarios.Outcome {
	t.Helper()
	plan, err := s.Plan(set)
	if err != nil {
		t.Fatal(err)
	}
	if why := bubble.Refuses(plan); why != "" {
		t.Fatal(why)
	}
	h := inBubble(t, plan)
	return scenarios.Outcome{Scenario: s, Plan: plan, History: h, Result: checker.Check(h, checker.Options{})}
}

// TestBubbleScenarios shows that the code that ships keeps its promises in every
// scenario in a bubble of fake time, too, with a lease of a second and with one as
// in production, and that every fault took effect there. RECOUNT_SEEDS says with
// which seeds: so many, from one on, such as "4+100".
func TestBubbleScenarios(t *testing.T) {
	first, n := bubbletest.Cases(t, "RECOUNT_SEEDS", 2, 1)
	for _, s := range scenarios.Every() {
		t.Run(s.Name, func(t *testing.T) {
			if s.NeedsPasswordFile() {
				t.Skip("the servers of a bubble ask nobody for a password")
			}
			for seed := first; seed < first+n; seed++ {
				set := scenarios.Settings{Subject: "recount", Seed: seed}
				if seed%2 == 1 && !agrees(s) { // for so long no replica may have been cut off there
					set.Lease = 15 * scenarios.DefaultLease
				}
				keeps(t, bubbled(t, s, set))
			}
		})
	}
}

// agrees tells whether a scenario's servers promote one of themselves.
func agrees(s scenarios.Scenario) bool {
	return s.Topology == sim.Sentinel || s.Topology == sim.Cluster
}

// TestBubbleSchedules shows that the code that ships keeps every promise in
// schedules that rapid draws. -rapid.checks says how many. A bubble need not repeat
// to the byte, so what breaks a promise is repeated, and how often it did is said.
func TestBubbleSchedules(t *testing.T) {
	fewer(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one goroutine at a time: see docs/bubble.md
	var broken *sim.Plan                            // the last one that broke a promise; in the end, the smallest
	defer func() {
		if broken != nil {
			t.Logf("the smallest of these schedules breaks a promise in %d of %d runs", breaks(t, *broken, repeats), repeats)
		}
	}()
	cases := fuzz.Cases(fuzz.Pins{Subject: "recount", Plain: true}, nil).Filter(func(c fuzz.Case) bool { return bubble.Refuses(c.Plan()) == "" })
	rapid.Check(t, func(rt *rapid.T) {
		c := cases.Draw(rt, "case")
		plan := patient(c.Plan())
		if failed, is := fuzz.Verdict(checker.Check(inBubble(t, plan), checker.Options{})); is {
			broken = &plan
			rt.Log(failed.Reason)
			rt.Fatalf("%s is broken", failed.Promise)
		}
	})
}

// patient is a plan as a bubble carries it out, which may hold up requests.
func patient(plan sim.Plan) sim.Plan {
	late := heldUp(plan)
	plan.ReturnBound, plan.Quiet = plan.ReturnBound+late, plan.Quiet+late
	if plan.FailoverBound > 0 {
		plan.FailoverBound += late
	}
	// Who renewed last just before a cut has to do so again when it is over.
	t := plan.Timings
	plan.Steadfast = plan.Steadfast && t.Renew+2*late+t.Renew/2+t.Retry < t.Lease-time.Duration(float64(t.Lease)*plan.Drift)
	return plan
}

// heldUp is how much later than in virtual time a request may arrive because of the
// plan's faults, maybe of a process that is dead by then. After a cut the bubble's
// network tries again, as TCP does, after pauses that double, so the last one is as
// long as the cut at the most. And on a narrow way a script's whole text takes its
// time, which a server that does not know it is sent.
func heldUp(plan sim.Plan) (late time.Duration) {
	text := time.Duration(len(scripts.Acquire()))
	for _, step := range plan.Schedule {
		if step.Fault.Effect().Cuts {
			late = max(late, step.For)
		}
		if f, narrow := step.Fault.(faults.Bandwidth); narrow {
			late = max(late, text*time.Second/time.Duration(1000*max(f.Kilobytes, 1)))
		}
	}
	return late
}

// repeats is how often a schedule is repeated that breaks a promise in a bubble.
const repeats = 20

// breaks tells how many of n runs of a plan break a promise.
func breaks(t *testing.T, plan sim.Plan, n int) (times int) {
	t.Helper()
	for range n {
		if _, is := fuzz.Verdict(checker.Check(inBubble(t, plan), checker.Options{})); is {
			times++
		}
	}
	return times
}

// fewer makes rapid draw fewer cases for a test whose cases take long, unless
// somebody has said how many.
func fewer(t *testing.T) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if before := checks.Value.String(); before == checks.DefValue {
		_ = checks.Value.Set(strconv.Itoa(seeds(40))) // a number is always accepted
		t.Cleanup(func() { _ = checks.Value.Set(before) })
	}
}
