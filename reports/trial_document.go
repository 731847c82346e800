package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/reports/document"
)

// trialStyle is the page's own: its table is wide.
const trialStyle = `body { max-width: 110rem; }
.trial th[scope=row] { font-weight: 600; white-space: nowrap; }
.trial td { min-width: 8.5rem; }
.trial strong { overflow-wrap: anywhere; }`

// Document is what the trial says: the small table, every subject in every scenario, the
// claims, and what the worlds do not agree about. The evidence lies beside its page.
func (t *Trial) Document() *document.Document {
	d := &document.Document{Title: "Trial", About: "trial", Verdict: t.Verdict, Repeat: t.Repro, Last: t.line(), Style: trialStyle}
	d.Add("", document.Written, document.Styled(document.Headline, upper(t.line())+"."))
	d.Add("", 0, append(t.table(), document.For(document.Page, t.subjects()))...)
	d.Add("Every subject in every scenario", 0, t.matrix()...)
	d.Add("Failovers", document.Markdown, t.failovers()...)
	if len(t.Claims) > 0 {
		d.Add("What is claimed, and what was measured", 0, document.For(document.Terminal, t.claimList()), document.For(document.Written, t.claims()...))
	}
	if all := t.doubts(); len(all) > 0 {
		d.Add("What is not decided", document.Terminal, reasonList(all))
	}
	if len(t.Worlds) > 1 {
		d.Add("Where the worlds differ", 0, t.differences()...)
	}
	if broken := t.broken(); len(broken.Rows) > 0 {
		d.Add("What broke", document.Written, broken)
	}
	if t.Repro != "" {
		d.Add("Repeat the trial", document.Written, document.Command{Lines: t.Repro})
	}
	return d
}

// TrialTable returns the small table in Markdown: a row for each subject. The
// same trial gives the same bytes, wherever its files lie.
func TrialTable(t *Trial) []byte { return document.MarkdownOf(t.table()...) }

// TrialMatrix returns the whole table in Markdown: a row for each scenario, a
// column for each subject, and what the cells mean.
func TrialMatrix(t *Trial) []byte { return document.MarkdownOf(t.matrix()...) }

// TrialFailovers returns the failovers in Markdown: the median and the worst of
// the total, and in brackets of the excess, in milliseconds.
func TrialFailovers(t *Trial) []byte { return document.MarkdownOf(t.failovers()...) }

// TrialClaims returns the claims in Markdown, each beside what was measured.
func TrialClaims(t *Trial) []byte { return document.MarkdownOf(t.claims()...) }

// TrialDifferences returns in Markdown what the worlds do not agree about.
func TrialDifferences(t *Trial) []byte {
	if len(t.Worlds) < 2 {
		return document.MarkdownOf(document.Para("Only one world was looked at."))
	}
	return document.MarkdownOf(t.differences()...)
}

// table is the small table, with what it counts.
func (t *Trial) table() []document.Block {
	small := document.Table{Look: "suite", Columns: append(
		document.Left("subject", "scenarios in which a promise broke", "two leaders at once", "stale writes accepted", "a leader returns"),
		document.Right("worst failover after a crash", "worst failover")...)}
	if len(t.Worlds) > 1 {
		small.Columns = append(small.Columns, document.Column{Head: "worlds differ", Number: true, In: document.Page})
	}
	for _, s := range t.Subjects {
		r := t.summary(s.Name)
		small.Rows = append(small.Rows, document.Cells(s.Name, r.Broken, r.Two, r.Stale, r.Returns, r.Crash, r.Worst, r.Differs))
	}
	return []document.Block{small, document.For(document.Written, document.Para("Counted in scenarios; "+t.about()+"."))}
}

// subjects say which electors they are.
func (t *Trial) subjects() (all document.List) {
	for _, s := range t.Subjects {
		text := ": " + s.Summary
		if s.Source != "" {
			text += " (" + s.Source + ")"
		}
		all = append(all, document.Text{{Words: s.Name, Mark: document.Strong}, {Words: text}})
	}
	return all
}

// matrix is every subject in every scenario. The cells of the page say more.
func (t *Trial) matrix() []document.Block {
	rich := t.crossed((*joint).rich)
	rich.Look, rich.Caption = "trial", "A broken cell names the promise that mostly breaks first; the link leads to the shortest history that shows it"
	brief := t.crossed(func(j *joint) document.Text {
		if j.failed > 0 || j.applies() && j.verdict() == checker.Pass {
			return document.Text{document.Judged(j.verdict(), j.brief())}
		}
		return document.Words(j.brief())
	})
	blocks := []document.Block{document.For(document.Page, rich), document.For(document.Terminal|document.Markdown, brief, document.Points(trialLegend()))}
	if all := t.reasons(); len(all) > 0 {
		blocks = append(blocks, document.For(document.Written, document.Details{Title: "Does not apply", Blocks: []document.Block{reasonList(all)}}))
	}
	if all := t.doubts(); len(all) > 0 {
		blocks = append(blocks, document.For(document.Written, document.Details{Title: "Not decided", Blocks: []document.Block{reasonList(all)}}))
	}
	return blocks
}

// crossed is a table of scenarios and subjects.
func (t *Trial) crossed(cell func(*joint) document.Text) document.Table {
	table := document.Table{Columns: document.Left("scenario")}
	for _, s := range t.Subjects {
		table.Columns = append(table.Columns, document.Left(s.Name)...)
	}
	for _, scenario := range t.Scenarios {
		row := document.Cells(document.Span{Words: scenario.Name, Title: scenario.Summary})
		for _, s := range t.Subjects {
			j := t.joint(s.Name, scenario.Name)
			row.Cells = append(row.Cells, cell(&j))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// rich is a cell of the page.
func (j *joint) rich() document.Text {
	if !j.applies() {
		return document.Text{{Words: "does not apply", Mark: document.Quiet, Title: strings.Join(j.whys, " ")}}
	}
	text := document.Text{document.Judged(j.verdict(), verdictWord(j.verdict()))}
	if j.first != "" {
		text = append(text, document.Span{Words: " "}, document.Span{Words: string(j.first), Mark: document.Strong})
	}
	line := func(words string) { text = append(text, document.Span{Words: words, Mark: document.Line}) }
	for _, c := range j.cells {
		if e := c.Evidence; e == nil {
			line(c.World + ": " + c.share())
		} else {
			line(c.World + ": ")
			text = append(text, document.Span{Words: c.share(), Mark: document.Quiet, Link: e.Link()}, document.Span{Words: ", " + e.size(), Mark: document.Quiet})
		}
	}
	if longest := j.twoLed(); longest > 0 {
		line("two led for " + ms(longest) + " ms")
	}
	if i := slices.IndexFunc(j.cells, func(c *TrialCell) bool { return c.Failovers > 0 }); i >= 0 {
		c := j.cells[i]
		line(fmt.Sprintf("failover %s, worst %s ms", middle(c.FailoverP50), ms(c.FailoverMax)))
		line(fmt.Sprintf("excess %s, worst %s ms", middle(c.ExcessP50), ms(c.ExcessMax)))
	}
	if j.differs {
		line("≠ the worlds differ")
	}
	return text
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

// failovers are those of each cell.
func (t *Trial) failovers() []document.Block {
	return []document.Block{
		document.Para("Milliseconds: median / worst total, and in brackets the excess, what is left after the wait that no elector may skip. Where both worlds have failovers the live ones come first."),
		t.crossed(func(j *joint) document.Text {
			var parts []string
			for _, c := range j.cells {
				if c.Failovers > 0 {
					parts = append(parts, fmt.Sprintf("%s / %s (%s / %s)", middle(c.FailoverP50), ms(c.FailoverMax), middle(c.ExcessP50), ms(c.ExcessMax)))
				}
			}
			return document.Words(strings.Join(parts, "; "))
		}),
	}
}

// middle is a median, or a dash where there are too few to tell.
func middle(p50 float64) string {
	if p50 == 0 {
		return "–"
	}
	return ms(p50)
}

// claims is every claim beside what was measured.
func (t *Trial) claims() []document.Block {
	if len(t.Claims) == 0 {
		return []document.Block{document.Para("None of these subjects has documented claims.")}
	}
	columns := document.Left("subject", "claim", "at most", "world", "measured", "verdict")
	columns[2].Number = true
	table := document.Table{Look: "suite", Columns: columns}
	for i := range t.Claims {
		c := &t.Claims[i]
		row := document.Cells(c.Subject, c.Claim, c.limit(), c.World, c.measured(), document.Judged(c.Verdict, c.holds()))
		row.Class = c.Verdict.String()
		table.Rows = append(table.Rows, row)
	}
	return []document.Block{table}
}

// claimList says so in sentences.
func (t *Trial) claimList() (all document.List) {
	for i := range t.Claims {
		c := &t.Claims[i]
		all = append(all, document.Text{{Words: fmt.Sprintf("%s, %s: %s: ", c.Subject, c.World, c.Claim)}, document.Judged(c.Verdict, c.holds()), {Words: fmt.Sprintf(", at most %s: %s", c.limit(), c.measured())}})
	}
	return all
}

// differences are what the worlds do not agree about.
func (t *Trial) differences() []document.Block {
	blocks := []document.Block{document.For(document.Written, document.Para(upper(t.differ())+"."))}
	var all document.List
	for i := range t.Differences {
		all = append(all, document.Words(t.Differences[i].sentence()))
	}
	if len(all) > 0 {
		blocks = append(blocks, all)
	}
	return blocks
}

// broken lists the broken cells with a link to what shows it, and how to repeat it.
func (t *Trial) broken() document.Table {
	table := document.Table{Look: "suite", Columns: document.Left("subject", "scenario", "world", "what broke", "in", "shortest history", "repeat")}
	table.Columns[6].In = document.Page
	for i := range t.Cells {
		c := &t.Cells[i]
		if c.Verdict != checker.Fail {
			continue
		}
		link, again := document.Span{Words: "–"}, c.Repro
		if e := c.Evidence; e != nil {
			link, again = document.Span{Words: e.size(), Link: e.Link()}, e.Command
		}
		table.Rows = append(table.Rows, document.Cells(c.Subject, c.Scenario, c.World, c.reasons(), fmt.Sprintf("%d of %d", c.Failed, c.Runs), link, document.Span{Words: again, Mark: document.Code}))
	}
	return table
}

// size says how long the evidence is.
func (e *TrialEvidence) size() string {
	text := thousands(e.Events) + " events"
	if e.Of > 0 {
		text += " of " + thousands(e.Of)
	}
	return text
}

// reasons says what broke in a cell, in sentences.
func (c *TrialCell) reasons() string {
	parts := make([]string, len(c.Broken))
	for i, b := range c.Broken {
		parts[i] = fmt.Sprintf("%s (%d): %s", b.Name, b.Runs, sentence(b.Reason))
	}
	return strings.Join(parts, " ")
}

// reason is why something does not apply, and where.
type reason struct {
	Subject, World, Why string
	Scenarios           []string
}

// reasons are why cells do not apply, each once with its scenarios.
func (t *Trial) reasons() []reason {
	return t.grouped(func(c *TrialCell) string { return c.NotApplicable })
}

// doubts are why cells are not decided, or not wholly.
func (t *Trial) doubts() []reason {
	return t.grouped(func(c *TrialCell) string {
		if c.UndecidedRuns == c.Runs {
			return c.Undecided
		}
		return c.Undecided + partly(c)
	})
}

// partly says how many runs are undecided where some are decided.
func partly(c *TrialCell) string {
	if c.Undecided == "" {
		return ""
	}
	return fmt.Sprintf(" (%d of %s)", c.UndecidedRuns, plural(c.Runs, "run"))
}

// grouped puts the scenarios together that have the same to be said.
func (t *Trial) grouped(why func(*TrialCell) string) []reason {
	var all []reason
	at := map[reasonKey]int{}
	for i := range t.Cells {
		c := &t.Cells[i]
		text := why(c)
		if text == "" {
			continue
		}
		key := reasonKey{c.Subject, c.World, text}
		n, known := at[key]
		if !known {
			n = len(all)
			at[key] = n
			all = append(all, reason{Subject: c.Subject, World: c.World, Why: text})
		}
		all[n].Scenarios = append(all[n].Scenarios, c.Scenario)
	}
	for i := range all {
		if len(t.Scenarios) > 1 && len(all[i].Scenarios) == len(t.Scenarios) {
			all[i].Scenarios = []string{"all scenarios"}
		}
	}
	return all
}

type reasonKey struct{ subject, world, why string }

// String is a reason in a line.
func (r reason) String() string {
	return fmt.Sprintf("%s, %s world: %s: %s", r.Subject, r.World, strings.Join(r.Scenarios, ", "), r.Why)
}

func reasonList(all []reason) (list document.List) {
	for _, r := range all {
		list = append(list, document.Words(r.String()))
	}
	return list
}
