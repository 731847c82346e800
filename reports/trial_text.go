package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/recount-io/recount/checker"
)

// TrialSummary writes what a person wants to see of a trial: the small table,
// the matrix, the claims, what the worlds do not agree about, and the overall
// verdict at the very end. No line of a table is wider than the terminal.
func TrialSummary(w io.Writer, t *Trial, terminal Terminal) error {
	s := newSummary(terminal)
	s.trialTable(t)
	s.trialMatrix(t)
	s.trialClaims(t)
	if all := t.doubts(); len(all) > 0 {
		s.line("")
		s.line("What is not decided")
		for _, r := range all {
			s.wrap("  ", plain(r.String()))
		}
	}
	if len(t.Differences) > 0 {
		s.line("")
		s.line("Where the worlds differ")
		for i := range t.Differences {
			s.wrap("  ", plain(t.Differences[i].sentence()))
		}
	}
	if terminal.Where != "" || terminal.Again != "" {
		s.line("")
	}
	s.pointers()
	s.wrap("", s.paint(t.Verdict, strings.ToUpper(t.Verdict.String()))+"  "+t.line())
	return s.print(w)
}

// trialTable is two lines for each subject, one in either half.
func (s *summary) trialTable(t *Trial) {
	s.line(cut("subject               broken    two led at once           leads again", s.Width))
	for _, r := range t.summaries() {
		s.line(cut(fmt.Sprintf("%s  %-8s  %-24s  %s", pad(r.Subject, 20), r.Broken, r.Two, r.Returns), s.Width))
	}
	s.line("")
	s.line(cut("subject               worst failover  after a crash  stale writes accepted", s.Width))
	for _, r := range t.summaries() {
		s.line(cut(fmt.Sprintf("%s  %-14s  %-13s  %s", pad(r.Subject, 20), r.Worst, r.Crash, r.Stale), s.Width))
	}
}

// Columns of the matrix.
const (
	nameColumns = 20 // of a scenario's name
	cellColumns = 11 // of a cell
)

// trialMatrix is one line for each scenario. Subjects that do not fit beside
// each other stand in further blocks.
func (s *summary) trialMatrix(t *Trial) {
	fit := max((s.Width-nameColumns)/(cellColumns+1), 1)
	for begin := 0; begin < len(t.Subjects); begin += fit {
		block := t.Subjects[begin:min(begin+fit, len(t.Subjects))]
		s.line("")
		upper, lower := strings.Repeat(" ", nameColumns), pad("scenario", nameColumns)
		for _, subject := range block {
			a, b := inTwo(subject.Name)
			upper, lower = upper+" "+pad(a, cellColumns), lower+" "+pad(b, cellColumns)
		}
		if strings.TrimSpace(upper) != "" {
			s.line(upper)
		}
		s.line(lower)
		for _, scenario := range t.Scenarios {
			line := pad(scenario.Name, nameColumns)
			for _, subject := range block {
				j := t.joint(subject.Name, scenario.Name)
				text := pad(j.brief(), cellColumns)
				if j.applies() {
					text = s.paint(j.verdict(), text)
				}
				line += " " + text
			}
			s.line(line)
		}
	}
	s.line("")
	for _, text := range trialLegend() {
		s.wrap("", text)
	}
}

// inTwo breaks a name that is too long for a column in two, best at a hyphen.
func inTwo(name string) (upper, lower string) {
	if width(name) <= cellColumns {
		return "", name
	}
	for i := min(cellColumns, len(name)) - 1; i > 0; i-- {
		if name[i] == '-' {
			return name[:i+1], name[i+1:]
		}
	}
	letters := []rune(name)
	return string(letters[:cellColumns]), string(letters[cellColumns:])
}

// trialClaims is every claim beside what was measured.
func (s *summary) trialClaims(t *Trial) {
	if len(t.Claims) == 0 {
		return
	}
	s.line("")
	s.line("What is claimed, and what was measured")
	for i := range t.Claims {
		c := &t.Claims[i]
		s.wrap("  ", fmt.Sprintf("%s, %s: %s: %s, at most %s: %s", plain(c.Subject), c.World, plain(c.Claim), s.paint(c.Verdict, c.holds()), c.limit(), plain(c.measured())))
	}
}

// TrialMarkdown returns trial.md: everything, with links to the evidence that
// lies beside it.
func TrialMarkdown(t *Trial) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Trial: %s\n\n**%s**\n\n", t.Verdict, cell(upper(t.line())+"."))
	b.Write(TrialTable(t))
	fmt.Fprintf(&b, "\n## Every subject in every scenario\n\n")
	b.Write(TrialMatrix(t))
	fmt.Fprintf(&b, "\n## Failovers\n\n")
	b.Write(TrialFailovers(t))
	if len(t.Claims) > 0 {
		fmt.Fprintf(&b, "\n## What is claimed, and what was measured\n\n")
		b.Write(TrialClaims(t))
	}
	if len(t.Worlds) > 1 {
		fmt.Fprintf(&b, "\n## Where the worlds differ\n\n")
		b.Write(TrialDifferences(t))
	}
	markdownEvidence(&b, t)
	if t.Repro != "" {
		fmt.Fprintf(&b, "\n## Repeat the trial\n\n%s", fenced(t.Repro))
	}
	return b.Bytes()
}

// TrialTable returns the small table in Markdown: a row for each subject. The
// same trial gives the same bytes, wherever its files lie.
func TrialTable(t *Trial) []byte {
	var b bytes.Buffer
	b.WriteString("| subject | scenarios in which a promise broke | two leaders at once | stale writes accepted | a leader returns | worst failover after a crash | worst failover |\n")
	b.WriteString("| --- | --- | --- | --- | --- | ---: | ---: |\n")
	for _, r := range t.summaries() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", cell(r.Subject), cell(r.Broken), cell(r.Two), cell(r.Stale), cell(r.Returns), cell(r.Crash), cell(r.Worst))
	}
	fmt.Fprintf(&b, "\nCounted in scenarios; %s.\n", cell(t.about()))
	return b.Bytes()
}

// TrialMatrix returns the whole table in Markdown: a row for each scenario, a
// column for each subject, and what the cells mean.
func TrialMatrix(t *Trial) []byte {
	var b bytes.Buffer
	t.markdownTable(&b, func(j *joint) string {
		if j.failed > 0 {
			return "**" + cell(j.brief()) + "**"
		}
		return cell(j.brief())
	})
	b.WriteString("\n")
	for _, text := range trialLegend() {
		fmt.Fprintf(&b, "- %s\n", cell(text))
	}
	if all := t.reasons(); len(all) > 0 {
		b.WriteString("\nDoes not apply:\n\n" + markdownReasons(all))
	}
	if all := t.doubts(); len(all) > 0 {
		b.WriteString("\nNot decided:\n\n" + markdownReasons(all))
	}
	return b.Bytes()
}

// markdownTable is a table of scenarios and subjects.
func (t *Trial) markdownTable(b *bytes.Buffer, text func(j *joint) string) {
	b.WriteString("| scenario |")
	for _, s := range t.Subjects {
		fmt.Fprintf(b, " %s |", cell(s.Name))
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(t.Subjects)) + "\n")
	for _, scenario := range t.Scenarios {
		fmt.Fprintf(b, "| %s |", cell(scenario.Name))
		for _, s := range t.Subjects {
			j := t.joint(s.Name, scenario.Name)
			fmt.Fprintf(b, " %s |", text(&j))
		}
		b.WriteString("\n")
	}
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

func markdownReasons(all []reason) string {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "- %s\n", cell(r.String()))
	}
	return b.String()
}

// TrialFailovers returns the failovers in Markdown: the median and the worst of
// the total, and in brackets of the excess, in milliseconds.
func TrialFailovers(t *Trial) []byte {
	var b bytes.Buffer
	b.WriteString("Milliseconds: median / worst total, and in brackets the excess, what is left after the wait that no elector may skip. ")
	b.WriteString("Where both worlds have failovers the live ones come first.\n\n")
	t.markdownTable(&b, func(j *joint) string {
		var parts []string
		for _, c := range j.cells {
			if c.Failovers > 0 {
				parts = append(parts, c.failovers())
			}
		}
		return cell(strings.Join(parts, "; "))
	})
	return b.Bytes()
}

// failovers are a cell's failovers in a few figures.
func (c *TrialCell) failovers() string {
	return fmt.Sprintf("%s / %s (%s / %s)", middle(c.FailoverP50), ms(c.FailoverMax), middle(c.ExcessP50), ms(c.ExcessMax))
}

// middle is a median, or a dash where there are too few to tell.
func middle(p50 float64) string {
	if p50 == 0 {
		return "–"
	}
	return ms(p50)
}

// TrialClaims returns the claims in Markdown, each beside what was measured.
func TrialClaims(t *Trial) []byte {
	if len(t.Claims) == 0 {
		return []byte("None of these subjects has documented claims.\n")
	}
	var b bytes.Buffer
	b.WriteString("| subject | claim | at most | world | measured | verdict |\n| --- | --- | ---: | --- | --- | --- |\n")
	for i := range t.Claims {
		c := &t.Claims[i]
		holds := c.holds()
		if c.Verdict != checker.Pass {
			holds = "**" + holds + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", cell(c.Subject), cell(c.Claim), cell(c.limit()), c.World, cell(c.measured()), holds)
	}
	return b.Bytes()
}

// TrialDifferences returns in Markdown what the worlds do not agree about.
func TrialDifferences(t *Trial) []byte {
	var b bytes.Buffer
	if len(t.Worlds) < 2 {
		b.WriteString("Only one world was looked at.\n")
		return b.Bytes()
	}
	fmt.Fprintf(&b, "%s.\n", upper(t.differ()))
	for i := range t.Differences {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", cell(t.Differences[i].sentence()))
	}
	return b.Bytes()
}

// markdownEvidence lists the broken cells with a link to what shows it.
func markdownEvidence(b *bytes.Buffer, t *Trial) {
	head := false
	for i := range t.Cells {
		c := &t.Cells[i]
		if c.Verdict != checker.Fail {
			continue
		}
		if !head {
			b.WriteString("\n## What broke\n\n| subject | scenario | world | what broke | in | shortest history |\n| --- | --- | --- | --- | --- | --- |\n")
			head = true
		}
		link := "–"
		if e := c.Evidence; e != nil {
			link = fmt.Sprintf("[%s](%s)", e.size(), relative(e.Link()))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d of %d | %s |\n", cell(c.Subject), cell(c.Scenario), c.World, cell(c.reasons()), c.Failed, c.Runs, link)
	}
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
