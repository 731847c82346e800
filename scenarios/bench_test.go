package scenarios_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/processor"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// production is an election with timings of production: a lease of 30 s, and a
// fault every ten minutes on average, each for up to a minute and a half.
func production(nodes int, length time.Duration, seed uint64) sim.Plan {
	plan := sim.Plan{
		Scenario: "production", Subject: "recount", Nodes: nodes, Drift: scenarios.DefaultDrift, Seed: seed,
		Timings:     sim.Timings{Lease: 30 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second},
		Quiet:       2 * time.Minute,
		Writes:      10 * time.Second,
		Observes:    30 * time.Second,
		ReturnBound: time.Minute,
		Waived:      map[string]string{string(checker.FailoverBound): "how long a failover may take depends on the fault"},
	}
	random := rand.New(rand.NewPCG(seed, 0))
	kinds := []faults.Fault{
		faults.Crash{}, faults.Resign{}, faults.Pause{},
		faults.Partition{How: faults.CutBoth}, faults.Partition{How: faults.CutRequests}, faults.Partition{How: faults.CutReplies},
		faults.Partition{How: faults.CutRefused}, faults.Partition{How: faults.CutReset},
		faults.Latency{Base: 200 * time.Millisecond, Jitter: 50 * time.Millisecond}, faults.ClockRate{Rate: 0.991},
		faults.StorePause{}, faults.StoreCrash{KeepData: true},
	}
	for at := time.Duration(0); ; {
		at += 5*time.Minute + time.Duration(random.Int64N(int64(10*time.Minute)))
		step := faults.Step{
			At: at, For: time.Duration(random.Int64N(int64(90 * time.Second))),
			Fault: kinds[random.IntN(len(kinds))], Target: faults.Leader,
		}
		switch {
		case step.Fault.Effect().Store:
			step.Target = faults.Store
		case random.IntN(3) == 0:
			step.Target = faults.Follower
		}
		if step.End() > length {
			return plan
		}
		plan.Schedule = append(plan.Schedule, step)
	}
}

// BenchmarkYear is a simulated year of five candidates, recorded, and checked
// as it goes, on one core. The figures are by the processor's time: machines
// are shared. What the memory holds should not depend on the length.
func BenchmarkYear(b *testing.B) {
	const year = 365 * 24 * time.Hour
	for _, length := range []time.Duration{year / 100, year / 10, year} {
		b.Run(fmt.Sprintf("days=%.0f", length.Hours()/24), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			plan := production(5, length, 1)
			begin := processor.Time()
			var s *checker.Summary
			for b.Loop() {
				if s = roll(b, plan); s.Verdict != checker.Pass {
					b.Fatalf("%+v", s.Asked)
				}
			}
			spent := float64(processor.Time()-begin) / float64(b.N)
			b.ReportMetric(float64(length)/spent, "x-real-time")
			b.ReportMetric(spent/float64(s.Events), "ns/event")
			b.ReportMetric(float64(s.Events), "events")
			b.ReportMetric(float64(s.Failovers.Count), "failovers")
			b.ReportMetric(float64(s.Longest), "events-kept")
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MB-in-use")
		})
	}
}

// BenchmarkSchedules is complete schedules of ten simulated minutes each,
// checked, on all cores: drawn as the fuzzer draws them.
func BenchmarkSchedules(b *testing.B) { schedules(b, virtual.ByPort) }

// BenchmarkSchedulesByText is the same with the scripts' Lua text in all of them.
func BenchmarkSchedulesByText(b *testing.B) { schedules(b, virtual.ByText) }

func schedules(b *testing.B, use virtual.ScriptUse) {
	begin := processor.Time()
	var seed atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		world := &virtual.World{Reuse: true, Scripts: use}
		for pb.Next() {
			plan := production(5, 10*time.Minute, seed.Add(1))
			h, err := world.Run(b.Context(), plan, "")
			if err != nil {
				b.Error(err)
				return
			}
			if r := checker.Check(h, checker.Options{}); r.Verdict != checker.Pass {
				b.Errorf("seed %d: %+v", plan.Seed, r.Asked)
			}
		}
	})
	spent := float64(processor.Time()-begin) / float64(b.N)
	b.ReportMetric(float64(runtime.GOMAXPROCS(0))*1e9/spent, "schedules/s")
}

// roll carries out a plan and checks it as it goes.
func roll(tb testing.TB, plan sim.Plan) *checker.Summary {
	tb.Helper()
	world := &virtual.World{}
	var judge checker.Chain
	err := world.Chain(tb.Context(), plan, 1024, func(h *history.History) error {
		judge.Add(h)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return judge.Summary()
}

// BenchmarkCandidates is what a simulated second costs for each candidate of
// an election: it should not grow with their number.
func BenchmarkCandidates(b *testing.B) {
	for _, nodes := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("candidates=%d", nodes), func(b *testing.B) {
			length := 100 * time.Hour / time.Duration(nodes)
			plan := production(nodes, length, 1)
			begin := processor.Time()
			for b.Loop() {
				if s := roll(b, plan); s.Verdict != checker.Pass {
					b.Fatalf("%+v", s.Asked)
				}
			}
			spent := float64(processor.Time()-begin) / float64(b.N)
			b.ReportMetric(spent/length.Seconds()/float64(nodes), "ns/simulated-s/candidate")
		})
	}
}
