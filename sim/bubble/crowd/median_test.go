package crowd_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/sim/bubble/crowd"
)

// How many cases are drawn until each known fault of the elector is found, as a median
// of several starts: RECOUNT_STARTS, such as "10x100", for so many starts of so many
// cases at the most.
func TestMedian(t *testing.T) {
	var starts, most int
	if _, err := fmt.Sscanf(os.Getenv("RECOUNT_STARTS"), "%dx%d", &starts, &most); err != nil {
		t.Skip("a campaign of six minutes: RECOUNT_STARTS=10x200, for ten starts of 200 cases")
	}
	draws := map[string][]int{}
	for start := range starts {
		for name, n := range untilFound(t, uint64(start+1)<<32, most) {
			draws[name] = append(draws[name], n)
		}
		t.Logf("start %d: %v", start, draws)
	}
	var b strings.Builder
	for _, k := range causes {
		all := draws[k.name]
		slices.Sort(all)
		median := "–"
		if len(all) > starts/2 {
			median = fmt.Sprint(all[starts/2]) // those that were not found come last
		}
		fmt.Fprintf(&b, "| %s | %s | %d of %d |\n", k.name, median, len(all), starts)
	}
	t.Logf("found | draws until it is, median of %d starts | found within %d draws\n%s", starts, most, &b)
}

// untilFound draws cases until each known fault is found. It returns in which draw
// each was.
func untilFound(t *testing.T, first uint64, most int) map[string]int {
	t.Helper()
	found := map[string]int{}
	coverage := crowd.NewCoverage()
	for i := 0; i < most && len(found) < len(causes); i++ {
		c := crowd.Draw(coverage.Number(first, i))
		o, all := carryOut(t, c)
		coverage.Add(c, o)
		for _, w := range all {
			name := known(c, w)
			if name == "" {
				t.Errorf("case %d: %s: %s\n   %+v", c.Number, w.short, w.words, c)
				continue
			}
			if found[name] == 0 {
				found[name] = i + 1
				t.Logf("case %d: %s", c.Number, name)
			}
		}
	}
	return found
}
