package reports

import (
	"fmt"
	"html/template"

	"github.com/recount-io/recount/checker"
)

// trialPage is what a trial's index.html is made from.
type trialPage struct {
	*Trial
	Style     template.CSS
	Script    template.JS // the page has none, but its policy is the others'
	ScriptSum string
	Line      string
	About     string
	Summaries []trialSummary
	Rows      []trialRow
	Legend    []string
	Reasons   []reason
	Doubts    []reason
	Differ    string
	Holds     []trialClaimView
	Unlike    []string // what the worlds do not agree about
	Broken    []trialBrokenView
}

// trialRow is a scenario in the matrix.
type trialRow struct {
	TrialScenario
	Cells []trialCellView
}

// trialCellView is a subject in a scenario.
type trialCellView struct {
	Subject   string
	Applies   bool
	Why       []string
	Verdict   checker.Verdict
	Word      string // kept, broken, undecided
	Promise   checker.Promise
	Worlds    []trialWorldView
	Differs   bool
	TwoLed    string
	Failovers []string
}

// trialWorldView is one world in a cell.
type trialWorldView struct {
	*TrialCell
	Text string // "20 of 20"
	Link string // to what shows it
	Size string
}

type trialClaimView struct {
	TrialClaim
	Limits, Measured, Word string
}

// trialBrokenView is a cell with what broke in it, in sentences.
type trialBrokenView struct {
	*TrialCell
	ID   string
	Link string
	Size string
}

// TrialHTML returns the trial's index.html: the table, with a link from each
// broken cell to the shortest history that shows it. Like report.html it is one
// file that needs no network.
func TrialHTML(t *Trial) ([]byte, error) {
	p := trialPage{
		Trial: t, Line: upper(t.line()) + ".", About: t.about(), Summaries: t.summaries(), Legend: trialLegend()[:1], Reasons: t.reasons(), Doubts: t.doubts(), Differ: upper(t.differ()) + ".",
	}
	for _, scenario := range t.Scenarios {
		row := trialRow{TrialScenario: scenario}
		for _, s := range t.Subjects {
			row.Cells = append(row.Cells, t.view(s.Name, scenario.Name))
		}
		p.Rows = append(p.Rows, row)
	}
	for _, c := range t.Claims {
		p.Holds = append(p.Holds, trialClaimView{c, c.limit(), c.measured(), c.holds()})
	}
	for i := range t.Differences {
		p.Unlike = append(p.Unlike, t.Differences[i].sentence())
	}
	for i := range t.Cells {
		if c := &t.Cells[i]; c.Verdict == checker.Fail {
			view := trialBrokenView{TrialCell: c, ID: fmt.Sprintf("c%d", i+1)}
			if c.Evidence != nil {
				view.Link, view.Size = c.Evidence.Link(), c.Evidence.size()
			}
			p.Broken = append(p.Broken, view)
		}
	}
	return render("trial.html", "lanes.js", &p, &p.Style, &p.Script, &p.ScriptSum)
}

// view is what the page shows of a cell.
func (t *Trial) view(subject, scenario string) trialCellView {
	j := t.joint(subject, scenario)
	v := trialCellView{Subject: subject, Applies: j.applies(), Why: j.whys, Verdict: j.verdict(), Word: verdictWord(j.verdict()), Promise: j.first, Differs: j.differs}
	if longest := j.twoLed(); longest > 0 {
		v.TwoLed = "two led for " + ms(longest) + " ms"
	}
	for _, c := range j.cells {
		w := trialWorldView{TrialCell: c, Text: c.share()}
		if c.Evidence != nil {
			w.Link, w.Size = c.Evidence.Link(), c.Evidence.size()
		}
		if c.Failovers > 0 && v.Failovers == nil {
			v.Failovers = []string{
				fmt.Sprintf("failover %s, worst %s ms", middle(c.FailoverP50), ms(c.FailoverMax)),
				fmt.Sprintf("excess %s, worst %s ms", middle(c.ExcessP50), ms(c.ExcessMax)),
			}
		}
		v.Worlds = append(v.Worlds, w)
	}
	return v
}

// share says how often what the verdict says came of the runs.
func (c *TrialCell) share() string {
	switch {
	case c.Runs == 0:
		return "not run"
	case c.Verdict == checker.Fail:
		return fmt.Sprintf("broken %d of %d", c.Failed, c.Runs)
	case c.Verdict == checker.Pass:
		return fmt.Sprintf("kept %d of %d", c.Kept, c.Runs)
	default:
		return fmt.Sprintf("undecided %d of %d", c.UndecidedRuns, c.Runs)
	}
}
