package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker/contrast"
)

// Suite is a set of runs under a name: a folder that chaos run wrote, say.
type Suite struct {
	Name string
	Runs []*Report
}

// comparison is a scenario with its runs in each suite.
type comparison struct {
	title string
	runs  [][]*Report
}

// Compare writes the runs of several suites side by side, scenario by scenario: verdicts,
// failovers, and by how much the median failover differs from that of the first suite that has
// any. Runs are matched by scenario, subject and world; runs that a suite repeats count
// together. Runs with other settings are not compared, since the settings would be.
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
		fmt.Fprintf(&out, "  %-*s  %-7s  %9s  %-24s  %s\n", name, "run", "verdict", "failovers", "p50 ms", "beside the first")
		var base []*Report
		for k, runs := range c.runs {
			label := pad(plain(suites[k].Name), name)
			if len(runs) == 0 {
				fmt.Fprintf(&out, "  %s  not run\n", label)
				continue
			}
			totals := totalsOf(runs)
			all := slices.Concat(totals...)
			line := fmt.Sprintf("  %s  %-7s  %9d", label, Overall(runs), len(all))
			if len(all) > 0 {
				line += fmt.Sprintf("  %-24s", medianOf(all))
				if base == nil {
					base = runs
				} else {
					line += "  " + besideOf(base, runs)
				}
			}
			fmt.Fprintf(&out, "%s\n", strings.TrimRight(line, " "))
		}
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("reports: comparison: %w", err)
	}
	return nil
}

// totalsOf are the total times of the failovers of each run.
func totalsOf(runs []*Report) [][]float64 {
	totals := make([][]float64, len(runs))
	for i, r := range runs {
		for _, f := range r.Failovers {
			totals[i] = append(totals[i], f.TotalMS)
		}
	}
	return totals
}

// medianOf is the median with its interval, or from where to where too few values lie.
func medianOf(values []float64) string {
	q := quantilesOfMS(values)
	if !q.P50.Bounded {
		return q.Short()
	}
	return q.P50.Interval()
}

// besideOf says how the median failover of some runs differs from that of others.
func besideOf(base, runs []*Report) string {
	if unlike := unlikeSettings(runs[0], base[0]); unlike != "" {
		return "not compared: " + unlike
	}
	a, b := totalsOf(base), totalsOf(runs)
	sentence, _ := difference(contrast.Shift(a, b, .5), min(len(slices.Concat(a...)), len(slices.Concat(b...))), .5)
	return sentence
}

// unlikeSettings says in which settings a run, here, differs from another, there; "" if in none.
func unlikeSettings(one, other *Report) string {
	return (&Failovers{LeaseMS: one.LeaseMS, RenewMS: one.RenewMS, RetryMS: one.RetryMS, Nodes: one.Nodes}).Unlike(
		&Failovers{LeaseMS: other.LeaseMS, RenewMS: other.RenewMS, RetryMS: other.RetryMS, Nodes: other.Nodes})
}

// compare matches the runs, in the order in which they first appear.
func compare(suites []Suite) []comparison {
	var out []comparison
	place := map[string]int{}
	for k, s := range suites {
		for _, r := range s.Runs {
			title := fmt.Sprintf("%s (%s)", plain(r.Scenario), plain(subject(r)))
			at, found := place[title]
			if !found {
				at = len(out)
				place[title] = at
				out = append(out, comparison{title, make([][]*Report, len(suites))})
			}
			out[at].runs[k] = append(out[at].runs[k], r)
		}
	}
	return out
}
