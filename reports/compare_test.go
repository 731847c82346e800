package reports

import (
	"bytes"
	"testing"

	"github.com/recount-io/recount/checker"
)

// Two suites side by side: a scenario that got better, one that has no
// failovers, and one that only the second suite has. Where intervals overlap, or a sample
// is too small for one, no difference is told.
func TestGoldenComparison(t *testing.T) {
	before, after := New(badRun()), New(badRun())
	after.Verdict = checker.Pass
	before.FailoverMS = Quantiles{Count: 40, Min: 900, Max: 2108, P50: Quantile{1555, 1500, 1600, true}, P90: Quantile{1900, 1800, 2100, true}}
	after.FailoverMS = Quantiles{Count: 40, Min: 800, Max: 2000, P50: Quantile{1203.4, 1100, 1300, true}, P90: Quantile{1880, 1700, 2000, true}}
	var out bytes.Buffer
	err := Compare(&out, []Suite{
		{"before", []*Report{before, New(quietRun())}},
		{"after\x1b[2J", []*Report{New(quietRun()), after, New(goodRun()), New(goodRun())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.txt", out.Bytes())
}
