package reports

import (
	"bytes"
	"testing"

	"github.com/recount-io/recount/checker"
)

// Two suites side by side: a scenario that got better, one that has no
// failovers, and one that only the second suite has.
func TestGoldenComparison(t *testing.T) {
	before, after := New(badRun()), New(badRun())
	after.Verdict = checker.Pass
	after.FailoverMS.P50, after.ExcessMS.P99 = 1203.4, 166.2
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
