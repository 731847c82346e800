package reports

import (
	"fmt"
	"slices"

	"github.com/recount-io/recount/checker/contrast"
	"github.com/recount-io/recount/reports/document"
)

// Suite is a set of runs under a name: a folder that chaos run wrote, say.
type Suite struct {
	Name string
	Runs []*Report
}

// Compare says of the runs of several suites, scenario by scenario: verdicts, failovers, and
// by how much the median failover differs from that of the first suite that has any. Runs are
// matched by scenario, subject and world; runs that a suite repeats count together. Runs with
// other settings are not compared, since the settings would be.
func Compare(suites []Suite) *document.Document {
	d := &document.Document{Title: "Comparison"}
	var titles []string
	for _, s := range suites {
		for _, r := range s.Runs {
			if title := titleOf(r); !slices.Contains(titles, title) {
				titles = append(titles, title)
			}
		}
	}
	for _, title := range titles {
		d.Add(title, 0, sideBySide(suites, title))
	}
	return d
}

func titleOf(r *Report) string { return fmt.Sprintf("%s (%s)", r.Scenario, subject(r)) }

// sideBySide has a row for the runs of each suite with that title.
func sideBySide(suites []Suite, title string) document.Table {
	t := document.Table{Columns: slices.Concat(document.Left("run", "verdict"), document.Right("failovers"), document.Left("p50 ms", "beside the first"))}
	var base []*Report
	for _, s := range suites {
		runs := slices.DeleteFunc(slices.Clone(s.Runs), func(r *Report) bool { return titleOf(r) != title })
		if len(runs) == 0 {
			t.Rows = append(t.Rows, document.Cells(s.Name, "not run"))
			continue
		}
		totals := slices.Concat(totalsOf(runs)...)
		row := document.Cells(s.Name, document.Of(Overall(runs)), thousands(len(totals)))
		if len(totals) > 0 {
			row.Cells = append(row.Cells, document.Words(medianOf(totals)))
			if base == nil {
				base = runs
			} else {
				row.Cells = append(row.Cells, document.Words(besideOf(base, runs)))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
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
