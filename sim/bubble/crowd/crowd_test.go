package crowd_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/crowd"
)

// wrong is something that must not be: in short, and in words.
type wrong struct{ short, words string }

// carryOut carries out a case and returns what came of it, and what is wrong.
func carryOut(t *testing.T, c crowd.Case) (o crowd.Outcome, all []wrong) {
	t.Helper()
	stuck := inBubble(t, c.Number, func(t *testing.T) { o = c.Run(t.Context()) })
	if stuck != nil && len(o.Found) == 0 {
		all = append(all, wrong{"comes to rest", fmt.Sprint(stuck)})
	}
	for _, f := range checker.Check(o.History, checker.Options{}).Asked {
		switch {
		case f.Verdict == checker.Fail && f.Promise == checker.LeaderReturns && strings.Contains(f.Reason, "believed"):
			all = append(all, wrong{"idle leader", f.Reason})
		case f.Promise == checker.LeaderReturns && strings.Contains(f.Reason, "has no election"):
			all = append(all, wrong{"nobody ever led", f.Reason})
		case f.Verdict == checker.Fail, f.Promise == checker.LeaderReturns && f.Verdict == checker.Unknown:
			all = append(all, wrong{string(f.Promise), f.Reason})
		}
	}
	for _, f := range o.Found {
		all = append(all, wrong{f.Obligation, f.Words})
	}
	return o, all
}

// inBubble calls f in a bubble, and returns with what that has ended if it has come to
// no end.
func inBubble(t *testing.T, number uint64, f func(t *testing.T)) (stuck any) {
	t.Helper()
	defer func() { stuck = recover() }()
	bubbletest.Run(t, number, f)
	return nil
}

// reduce simplifies a case as long as the same is wrong.
func reduce(t *testing.T, c crowd.Case, what string) crowd.Case {
	t.Helper()
	for {
		simpler := false
		for _, one := range c.Simpler() {
			if _, all := carryOut(t, one); slices.ContainsFunc(all, func(w wrong) bool { return w.short == what }) {
				c, simpler = one, true
				break
			}
		}
		if !simpler {
			return c
		}
	}
}

// says is what the documents say where an obligation is broken.
func says(obligation string) string {
	for _, o := range crowd.Obligations {
		if o.Name == obligation {
			return "\n   But: " + o.Says
		}
	}
	return ""
}

// In cases that are drawn nothing is wrong but what is known. A failure names the
// number of its case, and with RECOUNT_REDUCE the case is simplified. RECOUNT_ONLY names a
// feature that each case must have, such as "releases".
func TestDrawn(t *testing.T) {
	first, n := bubbletest.Cases(t, "RECOUNT_CASES", 12, 3)
	coverage := crowd.NewCoverage()
	for i := uint64(0); i < n; {
		c := crowd.Draw(coverage.Number(first, int(i)))
		if only := os.Getenv("RECOUNT_ONLY"); only != "" && !slices.Contains(c.Features(), only) {
			first++
			continue
		}
		i++
		if os.Getenv("RECOUNT_SHOW") != "" {
			fmt.Printf("case %d: %+v\n", c.Number, c)
		}
		o, all := carryOut(t, c)
		coverage.Add(c, o)
		for _, w := range all {
			if why := known(c, w); why != "" {
				t.Logf("case %d, known (%s): %s: %s", c.Number, why, w.short, w.words)
				continue
			}
			one := c
			if os.Getenv("RECOUNT_REDUCE") != "" {
				one = reduce(t, c, w.short)
			}
			t.Errorf("case %d: %s: %s%s\n   %+v", c.Number, w.short, w.words, says(w.short), one)
		}
	}
	t.Log(coverage)
}
