package trial

import (
	"testing"
	"time"

	"github.com/recount-io/recount/calibration"
	"github.com/recount-io/recount/checker"
)

// Every fact is taken from the runs of its scenarios, in the claim's unit, and
// held against the limit; without anything measured the claim is undecided.
func TestMeasure(t *testing.T) {
	lease := 2 * time.Second
	var run Run
	run.Events, run.Nodes, run.Rate = 10, 5, 300
	run.Verdict = checker.Pass
	run.TwoLed, run.Stale, run.Changes, run.Blind, run.Blinded = time.Second, 3, 2, 3*time.Second, true
	run.Failovers = []calibration.Failover{
		{Failover: checker.Failover{Total: 2200 * time.Millisecond}}, {Failover: checker.Failover{Total: 1800 * time.Millisecond}},
	}
	run.Road.Acquisitions = []time.Duration{9 * time.Millisecond, time.Millisecond, 4 * time.Millisecond}
	run.Road.Renewals = []time.Duration{6 * time.Millisecond}
	calmer := run
	calmer.TwoLed, calmer.Failovers, calmer.Rate = 0, nil, 100
	lost := calmer
	lost.Broken = []checker.Promise{checker.LeaderReturns}
	silent := calmer
	silent.Rate = 0
	cells := []*Cell{
		{Subject: "s", Scenario: "crash-leader", World: "live", Runs: []Run{run, calmer}},
		{Subject: "s", Scenario: "steady", World: "live", Runs: []Run{calmer}},
		{Subject: "s", Scenario: "lost", World: "live", Runs: []Run{lost}},
		{Subject: "s", Scenario: "crash-leader", World: "virtual", Runs: []Run{calmer}},
		{Subject: "s", Scenario: "unrecorded", World: "live", Runs: []Run{silent}},
		{Subject: "other", Scenario: "crash-leader", World: "live", Runs: []Run{run}},
	}
	crash := []string{"crash-leader"}
	for name, test := range map[string]struct {
		claim   Claim
		value   float64
		samples int
		want    checker.Verdict
	}{
		"failover":              {Claim{Fact: Failover, Scenarios: crash, Limit: 1}, 1.1, 2, checker.Fail},
		"about so long":         {Claim{Fact: Failover, Scenarios: crash, Limit: 1, Slack: 0.1}, 1.1, 2, checker.Pass},
		"nobody led again":      {Claim{Fact: Failover, Scenarios: []string{"crash-leader", "lost"}, Limit: 9}, 1.1, 2, checker.Fail},
		"no failover":           {Claim{Fact: Failover, Scenarios: []string{"steady"}, Limit: 9}, 0, 0, checker.Unknown},
		"two leaders":           {Claim{Fact: TwoLeaders}, 0.5, 5, checker.Fail},
		"two leaders elsewhere": {Claim{Fact: TwoLeaders, Scenarios: []string{"steady"}}, 0, 1, checker.Pass},
		"stale writes":          {Claim{Fact: StaleWrites, Scenarios: crash, Limit: 3}, 3, 2, checker.Pass},
		"changes":               {Claim{Fact: Changes, Scenarios: crash}, 2, 2, checker.Fail},
		"blind":                 {Claim{Fact: Blind, Scenarios: crash, Limit: 1}, 1.5, 2, checker.Fail},
		"acquisition":           {Claim{Fact: Acquisition, Scenarios: crash, Limit: 10}, 4, 6, checker.Pass},
		"renewal":               {Claim{Fact: Renewal, Scenarios: crash, Limit: 5}, 6, 2, checker.Fail},
		"operations":            {Claim{Fact: Operations, Scenarios: crash, Limit: 200}, 200, 2, checker.Pass},
		// A lease of 20 s has a tenth of the operations of one of 2 s, and ten
		// candidates twice those of five.
		"operations converted": {Claim{Fact: Operations, Scenarios: crash, Limit: 39, Lease: 20 * time.Second, Nodes: 10}, 40, 2, checker.Fail},
		"no operations":        {Claim{Fact: Operations, Scenarios: []string{"unrecorded"}, Limit: 60}, 0, 0, checker.Unknown},
		"a scenario not run":   {Claim{Fact: TwoLeaders, Scenarios: []string{"mixed"}}, 0, 0, checker.Unknown},
	} {
		m := Measure(Subject{Name: "s", Claims: []Claim{test.claim}}, "live", cells, lease)[0]
		if d := m.Value - test.value; d > 1e-9 || d < -1e-9 || m.Samples != test.samples || m.Verdict != test.want {
			t.Errorf("%s: %v of %d samples, %v (%s); want %v of %d, %v", name, m.Value, m.Samples, m.Verdict, m.Note, test.value, test.samples, test.want)
		}
		if m.Verdict == checker.Unknown && m.Note == "" {
			t.Errorf("%s does not say why it is undecided", name)
		}
	}
}
