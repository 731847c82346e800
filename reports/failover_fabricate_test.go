package reports

import (
	"fmt"
	"time"

	"github.com/recount-io/recount/checker"
)

// measured is a small measurement of two electors after two causes, without any randomness: a
// failover that the machine held up, a broken promise, a cell that could not be measured, a
// gate of each verdict, and what the machine did meanwhile.
func measured() *Failovers {
	r := &Failovers{
		World: "live", Redis: "process 7.0.15", Machine: "2 processors, linux/amd64", Started: "2026-11-20T10:00:00Z", TookMS: 83_250.5,
		Seed: 42, LeaseMS: 1000, RenewMS: 333.333, RetryMS: 50, Nodes: 3, Asked: "60 failovers",
		Repro:   "chaos failover --cause crash --cause resign --subject recount --subject honua --count 60 --seed 42 --lease 1s",
		Control: Control(4, spread(200, 20*time.Microsecond, 300*time.Microsecond), spread(200, 90*time.Microsecond, 500*time.Microsecond)),
		Cells: []FailoverCell{
			cellOf("crash", "recount", 6, 60, 5*time.Millisecond),
			cellOf("crash", "honua", 5, 40, 90*time.Millisecond),
			cellOf("resign", "recount", 1, 8, time.Millisecond),
			{Cause: "resign", Summary: "the leader resigns and exits", Elector: "honua", Why: "does not apply: it cannot resign"},
		},
	}
	r.Control.Changes = []GroupChange{{7, 2, "a timer was late by p99 4 ms (n = 400), more than half the median excess of 2 ms (n = 20)"}, {11, 4, "fewer made the machine no quieter"}}
	crash, broken := &r.Cells[0], &r.Cells[1]
	crash.Failovers[7].Stalled = true
	crash.Failovers[7].DetectMS += 700
	crash.Failovers[7].TotalMS += 700
	crash.Failovers[7].ExcessMS += 700
	crash.ProcessorMSMinute = 181.5
	crash.Runs[5].Folder = "" // its files were not kept
	broken.Verdict, broken.Runs[3].Verdict = checker.Fail, checker.Fail
	broken.Broken = []TrialBroken{{Name: checker.AtMostOneLeader, Runs: 1, Reason: "n1 (token 3) and n2 (token 4) both believed they led for 12.000 ms, from 4.500 s"}}
	broken.Unexplained, broken.UnexplainedHour = 2, 14.4
	broken.Runs[4].Trouble = "the proxy is gone"
	r.Finish()
	for _, text := range []string{"crash.total.p90 > 1.05s", "recount/crash.excess.p50 < 10ms", "resign.total.p90 > 4ms"} {
		r.Judge(parsed(text))
	}
	r.Finish()
	return r
}

// parsed is the condition of a text that is one.
func parsed(text string) *Condition {
	c, err := ParseCondition(text)
	if err != nil {
		panic(err)
	}
	return c
}

// spread are so many durations, evenly spread from one to another, in no order.
func spread(n int, from, to time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = from + time.Duration(i*37%n)*(to-from)/time.Duration(n)
	}
	return all
}

// cellOf is a cell of so many runs with so many failovers in all. Each is detected a
// candidate's delay or less after the wait, and some nanoseconds later, as in the live world.
func cellOf(cause, elector string, runs, failovers int, delay time.Duration) FailoverCell {
	c := FailoverCell{Cause: cause, Elector: elector, Verdict: checker.Pass, Faults: failovers, RequestsMinute: 1234.5}
	c.Summary = map[string]string{"crash": "the leader's process is killed", "resign": "the leader resigns and exits"}[cause]
	for i := range runs {
		folder := fmt.Sprintf("%s/%s/%d", cause, elector, i+1)
		c.Runs = append(c.Runs, FailoverRun{Seed: uint64(42 + i), Verdict: checker.Pass, Folder: folder, Repro: fmt.Sprintf("chaos failover --cause %s --subject %s --count 10 --seed %d", cause, elector, 42+i)})
	}
	for i := range failovers {
		f := checker.Failover{
			Election: "e", Cause: cause, From: fmt.Sprintf("n%d", i%3+1), To: fmt.Sprintf("n%d", (i+1)%3+1), At: time.Duration(i+1)*2200*time.Millisecond + 123_456,
			Detect: time.Duration(i*29%failovers) * delay / time.Duration(failovers), Acquire: 400*time.Microsecond + time.Duration(i*7%11)*13_377, Announce: 900 * time.Microsecond,
		}
		if cause == "crash" {
			f.Wait = 670*time.Millisecond + time.Duration(i*37%failovers)*(330*time.Millisecond)/time.Duration(failovers)
		}
		f.Excess = f.Detect + f.Acquire + f.Announce
		f.Total = f.Wait + f.Excess
		c.Failovers = append(c.Failovers, Measured(i*runs/failovers, f, f.Total+7*time.Millisecond, false))
	}
	return c
}

// compared is a measurement with itself, or a slower one, beside a baseline.
func compared(delay time.Duration) *Failovers {
	r := &Failovers{World: "virtual", Seed: 1, LeaseMS: 1000, RenewMS: 333.333, RetryMS: 50, Nodes: 3, Asked: "200 failovers", Cells: []FailoverCell{cellOf("crash", "recount", 20, 200, delay)}}
	r.Baseline = &Failovers{World: "virtual", Seed: 1, LeaseMS: 1000, RenewMS: 333.333, RetryMS: 50, Nodes: 3, Cells: []FailoverCell{cellOf("crash", "recount", 20, 200, 40*time.Millisecond)}}
	r.Baseline.Finish()
	r.Finish()
	return r
}
