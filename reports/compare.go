package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Suite is the runs of one call of chaos run, under a name for people.
type Suite struct {
	Name string
	Runs []*Report
}

// Compare writes a table that sets several suites beside each other: a line a
// scenario, and for each suite the verdict, the median of the failovers and the
// 99th percentile of their excess.
func Compare(w io.Writer, suites []Suite) error {
	var names []string
	for _, s := range suites {
		for _, r := range s.Runs {
			if !slices.Contains(names, r.Scenario) {
				names = append(names, r.Scenario)
			}
		}
	}
	for i, s := range suites {
		if _, err := fmt.Fprintf(w, "%s  %s\n", letter(i), plain(s.Name)); err != nil {
			return fmt.Errorf("reports: compare: %w", err)
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head, under := []string{""}, []string{"scenario"}
	for i := range suites {
		head = append(head, letter(i), "", "")
		under = append(under, "verdict", "failover p50", "excess p99")
	}
	fmt.Fprintf(table, "\n%s\n%s\n", strings.Join(head, "\t"), strings.Join(under, "\t")) // Flush reports errors
	for _, name := range names {
		cells := []string{plain(name)}
		for _, s := range suites {
			cells = append(cells, compared(s, name)...)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t")) // Flush reports errors
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("reports: compare: %w", err)
	}
	return nil
}

// letter is the short name of a suite in the table.
func letter(i int) string { return string(rune('A' + i%26)) }

// compared are the cells of one scenario in one suite.
func compared(s Suite, scenario string) []string {
	i := slices.IndexFunc(s.Runs, func(r *Report) bool { return r.Scenario == scenario })
	if i < 0 {
		return []string{"-", "-", "-"}
	}
	r := s.Runs[i]
	if r.FailoverMS.Count == 0 {
		return []string{r.Verdict.String(), "-", "-"}
	}
	return []string{r.Verdict.String(), fmt.Sprintf("%.1f ms", r.FailoverMS.P50), fmt.Sprintf("%.1f ms", r.ExcessMS.P99)}
}
