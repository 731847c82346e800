package reports

import (
	"math/rand/v2"
	"testing"
)

// The comparison shows a scenario that is slower, one that changed by no more than chance, one
// with too few failovers, one with another lease, one without a failover, and one that only
// the second suite has, repeated.
func TestGoldenComparison(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	many := func(scenario string, shift float64) *Report {
		r := New(badRun())
		r.Scenario, r.Failovers = scenario, nil
		for range 40 {
			r.Failovers = append(r.Failovers, Failover{TotalMS: 1500 + shift + 20*random.NormFloat64()})
		}
		return r
	}
	longer := many("other lease", 0)
	longer.LeaseMS *= 2
	few := New(goodRun())
	few.Scenario = "few"
	d := Compare([]Suite{
		{"before", []*Report{many("slower", 0), many("same", 0), many("other lease", 0), few, New(quietRun())}},
		{"after\x1b[2J", []*Report{New(quietRun()), many("slower", 100), many("same", 0), longer, few, New(goodRun()), New(goodRun())}},
	})
	golden(t, "compare.txt", printed(t, d, Screen{}))
}
