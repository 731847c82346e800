package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/reports/document"
)

// Link is where the run's own page lies, relative to the suite's: in Folder,
// or in a folder named like the scenario.
func (r *Report) Link() string { return or(r.Folder, r.Scenario) + "/report.html" }

// SuiteDocument is what several runs came to: a line for each, then the details of those that
// did not pass. The page links to the reports in the runs' folders. again is the command that
// repeats all of them, "" if there is none.
func SuiteDocument(runs []*Report, again string) *document.Document {
	d := &document.Document{Title: plural(len(runs), "run"), About: suiteLine(runs), Verdict: Overall(runs), Repeat: Redact(again), Last: plural(len(runs), "run") + ": " + suiteLine(runs)}
	d.Add("", document.Written, document.Styled(document.Headline, suiteLine(runs)))
	blocks := []document.Block{document.For(document.Terminal, linesOf(runs)), document.For(document.Written, suiteTable(runs))}
	if i := slices.IndexFunc(runs, func(r *Report) bool { return meant(r) != "" }); i >= 0 {
		blocks = append(blocks, document.For(document.Written, document.Styled(document.Muted, "Availability: "+meant(runs[i])+".")))
	}
	d.Add("", 0, blocks...)
	d.Add("", 0, document.Paras(document.Prose, repeated(runs)))
	for _, r := range runs {
		if r.Verdict == checker.Pass {
			continue
		}
		blocks := append([]document.Block{document.Para(headline(r))}, slices.Concat(r.cases(checker.Fail, false), r.cases(checker.Unknown, false))...)
		if r.Repro != "" {
			blocks = append(blocks, document.Command{Lines: r.Repro, Name: "repeat"})
		}
		d.Sections = append(d.Sections, document.Section{Title: r.Scenario, Verdict: &r.Verdict, Blocks: blocks})
	}
	for _, r := range runs {
		if r.Usage != nil {
			d.Add(r.Scenario, document.Terminal, document.Paras(document.Prose, r.Usage.Sentences()))
		}
	}
	return d
}

// linesOf has one line for each run.
func linesOf(runs []*Report) document.Table {
	t := document.Table{HeadLess: true, Keys: 2, Columns: document.Left("verdict", "scenario", "subject", "failovers")}
	t.Columns[1].Fit, t.Columns[2].Fit = document.End, document.End
	for _, r := range runs {
		text := "no failover"
		if r.FailoverMS.Count > 0 {
			text = plural(r.FailoverMS.Count, "failover") + ", " + r.FailoverMS.Short()
		}
		if n := r.Writes.StaleAccepted; n > 0 {
			text += ", " + plural(n, "stale write")
		}
		t.Rows = append(t.Rows, document.Cells(document.Of(r.Verdict), r.Scenario, subject(r), text))
	}
	return t
}

func subject(r *Report) string { return r.Subject + ", " + r.World }

// suiteTable has a row for each run.
func suiteTable(runs []*Report) document.Table {
	t := document.Table{
		Look: "suite runs", Empty: "No scenario was run, so nothing was decided.",
		Columns: slices.Concat(document.Left("scenario", "verdict", "what was found", "subject", "world"), document.Right("failovers"), document.Left("they took"), document.Right("longest excess ms", "availability")),
	}
	t.Columns[2].In = document.Page
	for _, r := range runs {
		excess := "–"
		if r.FailoverMS.Count > 0 {
			excess = ms(r.ExcessMS.Max)
		}
		name := document.Text{{Words: r.Scenario, Link: r.Link(), In: document.Page}, {Words: r.Scenario, In: document.Markdown}}
		row := document.Cells(name, document.Of(r.Verdict), headline(r), r.Subject, r.World, fmt.Sprint(r.FailoverMS.Count), r.FailoverMS.Short(), excess, percent(r.Availability))
		row.Class = r.Verdict.String()
		t.Rows = append(t.Rows, row)
	}
	return t
}

// suiteLine counts verdicts.
func suiteLine(runs []*Report) string {
	var of [3]int
	for _, r := range runs {
		of[r.Verdict]++
	}
	return fmt.Sprintf("%d pass, %d fail, %d unknown", of[checker.Pass], of[checker.Fail], of[checker.Unknown])
}

// circumstances says in one line under what conditions the run took place.
func circumstances(r *Report) string {
	parts := []string{"subject " + or(r.Subject, "?"), or(r.World, "?") + " world"}
	if r.Redis != "" && r.Redis != r.World { // the virtual world's store has no name of its own
		parts = append(parts, "redis "+r.Redis)
	}
	parts = append(parts, fmt.Sprintf("seed %d", r.Seed), plural(r.Nodes, "node"), "lease "+duration(r.LeaseMS), "ran for "+duration(r.DurationMS))
	if r.Started != "" {
		parts = append(parts, "started "+r.Started)
	}
	return strings.Join(parts, " · ")
}
