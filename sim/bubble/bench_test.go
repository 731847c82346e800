package bubble_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/processor"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// BenchmarkFaults measures how many times faster than real time five candidates
// with a lease of 15 s live, of whom one is killed or cut off every ten leases, the
// checking of it included, by the processor's time. They write as seldom as in a rolling run: it is about the
// election.
func BenchmarkFaults(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const leases = 240 // an hour
	plan := seldom(b, func(plan *sim.Plan) {
		lease := plan.Timings.Lease
		for at := 5; at < leases; at += 10 {
			var fault faults.Fault = faults.Crash{}
			if at%20 == 5 {
				fault = faults.Partition{How: faults.CutBoth}
			}
			plan.Schedule = append(plan.Schedule, faults.Step{At: time.Duration(at) * lease, For: 3 * lease, Fault: fault, Target: faults.Leader})
		}
	})
	benchmark(b, plan)
}

// BenchmarkCalm is the same without a fault.
func BenchmarkCalm(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	benchmark(b, seldom(b, func(plan *sim.Plan) { plan.Quiet = 240 * plan.Timings.Lease }))
}

// seldom is a plan with a lease of 15 s in which little is written and asked.
func seldom(b *testing.B, change func(*sim.Plan)) sim.Plan {
	b.Helper()
	found, err := scenarios.Find("steady")
	if err != nil {
		b.Fatal(err)
	}
	plan, err := found[0].Plan(scenarios.Settings{Subject: "recount", Lease: 15 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	plan.Steadfast = false
	plan.Writes, plan.Observes = plan.Timings.Lease/3, plan.Timings.Lease
	change(&plan)
	return plan
}

func benchmark(b *testing.B, plan sim.Plan) {
	var lived time.Duration
	began := processor.Time()
	for b.Loop() {
		plan.Seed++
		var h *history.History
		// A bubble belongs to a test.
		ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
			Name: b.Name(), F: func(t *testing.T) { h = carryOut(t, plan) },
		}})
		if !ok {
			b.Fatal("the run failed")
		}
		if result := checker.Check(h, checker.Options{}); result.Verdict == checker.Fail {
			b.Fatal(result.Asked)
		}
		lived += h.Events[len(h.Events)-1].At
	}
	b.ReportMetric(float64(lived)/float64(processor.Time()-began), "times-real-time")
	b.ReportMetric(0, "ns/op")
}
