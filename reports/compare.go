package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Suite is a set of runs under a name: a folder that chaos run wrote, say.
type Suite struct {
	Name string
	Runs []*Report
}

// comparison is a scenario and its run in each suite; nil where a suite has
// none.
type comparison struct {
	title string
	runs  []*Report
}

// Compare writes the runs of several suites side by side, scenario by
// scenario: verdicts and failovers, and how the quantiles of each differ from
// those of the first suite that has any, where more than chance tells them apart. Runs are matched by scenario, subject
// and world; where a suite repeats one, by their order.
func Compare(w io.Writer, suites []Suite) error {
	var out strings.Builder
	name := len("run")
	for _, s := range suites {
		name = max(name, width(plain(s.Name)))
	}
	for i, c := range compare(suites) {
		if i > 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%s\n", c.title)
		fmt.Fprintf(&out, "  %-*s  %-7s  %9s  %-17s  %-17s  %s\n", name, "run", "verdict", "failovers", "p50 ms", "p90 ms", "they took")
		var base *Report
		for k, r := range c.runs {
			label := pad(plain(suites[k].Name), name)
			if r == nil {
				fmt.Fprintf(&out, "  %s  not run\n", label)
				continue
			}
			line := fmt.Sprintf("  %s  %-7s  %9d", label, r.Verdict, r.FailoverMS.Count)
			if r.FailoverMS.Count > 0 {
				if base == nil {
					base = r
				}
				line += fmt.Sprintf("  %-17s  %-17s  %s", change(base.FailoverMS.P50, r.FailoverMS.P50, r == base),
					change(base.FailoverMS.P90, r.FailoverMS.P90, r == base), r.FailoverMS.Short())
			}
			fmt.Fprintf(&out, "%s\n", line)
		}
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("reports: comparison: %w", err)
	}
	return nil
}

// compare matches the runs, in the order in which they first appear.
func compare(suites []Suite) []comparison {
	var out []comparison
	place := map[string]int{}
	for k, s := range suites {
		seen := map[string]int{}
		for _, r := range s.Runs {
			title := fmt.Sprintf("%s (%s)", plain(r.Scenario), plain(subject(r)))
			seen[title]++
			key := title + "\x00" + strconv.Itoa(seen[title])
			at, found := place[key]
			if !found {
				at = len(out)
				place[key] = at
				if seen[title] > 1 {
					title += fmt.Sprintf(", run %d", seen[title])
				}
				out = append(out, comparison{title, make([]*Report, len(suites))})
			}
			out[at].runs[k] = r
		}
	}
	return out
}

// change writes a quantile, and how much it differs from that of the first suite where
// the intervals of the two have nothing in common: else chance may be why.
func change(from, to Quantile, first bool) string {
	apart := from.Bounded && to.Bounded && (from.High < to.Low || to.High < from.Low)
	if first || !apart || from.Value == 0 {
		return to.String()
	}
	return fmt.Sprintf("%s (%+.0f %%)", to, 100*(to.Value-from.Value)/from.Value)
}
