package virtual

import (
	"fmt"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// calm is an election of production's timings under a fault every ten minutes.
func calm(nodes int, length time.Duration) sim.Plan {
	plan := sim.Plan{
		Scenario: "calm", Subject: "recount", Nodes: nodes, Drift: 0.01, Seed: 1,
		Timings: sim.Timings{Lease: 30 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second},
		Quiet:   time.Minute, Writes: 10 * time.Second, Observes: 30 * time.Second,
	}
	kinds := []faults.Fault{
		faults.Crash{}, faults.Partition{How: faults.CutBoth}, faults.Resign{}, faults.Pause{},
		faults.Partition{How: faults.CutReplies}, faults.Latency{Base: 100 * time.Millisecond},
	}
	for i := 0; time.Duration(i+1)*10*time.Minute < length; i++ {
		target := faults.Leader
		if i%3 == 2 {
			target = faults.Follower
		}
		plan.Schedule = append(plan.Schedule, faults.Step{
			At: time.Duration(i+1) * 10 * time.Minute, For: 45 * time.Second, Fault: kinds[i%len(kinds)], Target: target,
		})
	}
	return plan
}

// BenchmarkWorld tells how many times faster than real time the world runs,
// without anybody who checks what it records.
func BenchmarkWorld(b *testing.B) {
	for _, nodes := range []int{5, 100, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			length := 24 * time.Hour * 5 / time.Duration(nodes)
			plan := calm(nodes, length)
			events := 0
			for b.Loop() {
				world := &World{}
				err := world.Chain(b.Context(), plan, 1024, func(h *history.History) error {
					events += len(h.Events)
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			simulated := float64(length) * float64(b.N)
			b.ReportMetric(simulated/float64(b.Elapsed()), "x-real-time")
			b.ReportMetric(float64(b.Elapsed())/float64(events), "ns/event")
			b.ReportMetric(float64(b.Elapsed())/simulated*1e9/float64(nodes), "ns/simulated-s/node")
			b.ReportMetric(float64(events)/float64(b.N)/length.Seconds()*30, "events/lease")
		})
	}
}
