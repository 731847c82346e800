package reports

import (
	"html/template"

	"github.com/recount-io/recount/checker"
)

// suitePage is what index.html is made from.
type suitePage struct {
	Runs      []*Report
	Verdict   checker.Verdict
	Line      string
	Note      string // what the table does not say by itself
	Style     template.CSS
	Script    template.JS
	ScriptSum string
}

// Link is where the run's own page lies, relative to the suite's: in Folder,
// or in a folder named like the scenario.
func (r *Report) Link() string { return or(r.Folder, r.Scenario) + "/report.html" }

// HTMLIndex returns index.html for a suite: one row for each run, with a link
// to the report in its folder. Like HTML it is one file that needs no other.
func HTMLIndex(runs []*Report) ([]byte, error) {
	p := suitePage{Runs: runs, Verdict: Overall(runs), Line: suiteLine(runs), Note: availabilityNote(runs)}
	return render("index.html", "lanes.js", &p, &p.Style, &p.Script, &p.ScriptSum)
}
