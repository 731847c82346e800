package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recount-io/recount/checker"
)

// Terminal says for what terminal Summary writes, and what only the caller
// knows.
type Terminal struct {
	Width int    // columns; 0 means 80, and fewer than 40 are taken as 40
	Color bool   // ANSI colours; without them the output is plain
	Where string // where the report lies; "" leaves the line out
	Again string // the command that repeats all of it; "" leaves the line out

	_ struct{}
}

// Summary writes what a person wants to see when the runs have ended: a line
// for every run, what was broken and by which events, where the report lies,
// how to repeat it, and at the very end the overall verdict. No line of a
// table is wider than the terminal; commands and paths are never broken, so
// that they can be copied.
func Summary(w io.Writer, runs []*Report, t Terminal) error {
	s := newSummary(t)
	s.table(runs)
	for i, text := range repeated(runs) {
		if i == 0 {
			s.line("")
		}
		s.wrap("", plain(text))
	}
	for _, r := range runs {
		if r.Verdict != checker.Pass {
			s.trouble(r)
		}
	}
	for _, r := range runs {
		s.usage(r)
	}
	if t.Where != "" || t.Again != "" {
		s.line("")
	}
	s.pointers()
	overall := Overall(runs)
	s.line(s.paint(overall, strings.ToUpper(overall.String())) + "  " + plural(len(runs), "run") + ": " + suiteLine(runs))
	return s.print(w)
}

type summary struct {
	Terminal
	out strings.Builder
}

func newSummary(t Terminal) *summary {
	if t.Width == 0 {
		t.Width = 80
	}
	t.Width = max(t.Width, 40)
	return &summary{Terminal: t}
}

// pointers are the lines that say where the report lies and how to repeat it,
// and the blank one before the verdict.
func (s *summary) pointers() {
	if s.Where != "" {
		s.line("Report: " + plain(s.Where))
	}
	if s.Again != "" {
		s.line("Repeat: " + plain(Redact(s.Again)))
	}
	s.line("")
}

// print writes all of it.
func (s *summary) print(w io.Writer) error {
	if _, err := io.WriteString(w, s.out.String()); err != nil {
		return fmt.Errorf("reports: summary: %w", err)
	}
	return nil
}

func (s *summary) line(text string) {
	s.out.WriteString(strings.TrimRight(text, " "))
	s.out.WriteByte('\n')
}

// columnSpace stands between two columns.
const columnSpace = "  "

// columns writes a table whose columns are as wide as their widest text; the first row is its
// head. If it is wider than the terminal, the texts of the column names are shortened. Those of
// the column number are to the right.
func (s *summary) columns(rows [][]string, names, number int) {
	widths := make([]int, len(rows[0]))
	total := -len(columnSpace)
	for k := range widths {
		for _, row := range rows {
			widths[k] = max(widths[k], width(row[k]))
		}
		total += widths[k] + len(columnSpace)
	}
	if total > s.Width {
		var all []string
		for _, row := range rows[1:] {
			all = append(all, row[names])
		}
		head := width(rows[0][names])
		short := shortened(all, max(s.Width-total+widths[names], head))
		widths[names] = head
		for i, text := range short {
			rows[i+1][names] = text
			widths[names] = max(widths[names], width(text))
		}
	}
	for _, row := range rows {
		var line []string
		for k, text := range row {
			space := strings.Repeat(" ", widths[k]-width(text))
			if k == number {
				line = append(line, space+text)
			} else {
				line = append(line, text+space)
			}
		}
		s.line(strings.Join(line, columnSpace))
	}
}

// shortened are the texts in no more than so many columns, cut in the middle. Texts that differ
// still do: where the cut would take what differs, they get more columns.
func shortened(texts []string, most int) []string {
	for ; ; most++ {
		for tail := most / 2; tail >= 0; tail-- {
			short, of := make([]string, len(texts)), map[string]string{}
			same := false
			for i, text := range texts {
				if runes := []rune(text); len(runes) > most {
					text = string(runes[:most-1-tail]) + "…" + string(runes[len(runes)-tail:])
				}
				was, seen := of[text]
				same = same || seen && was != texts[i]
				short[i], of[text] = text, texts[i]
			}
			if !same {
				return short
			}
		}
	}
}

// paint colours a text by a verdict.
func (s *summary) paint(v checker.Verdict, text string) string {
	if !s.Color {
		return text
	}
	code := "33"
	switch v {
	case checker.Pass:
		code = "32"
	case checker.Fail:
		code = "1;31"
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// table has one line for each run. What does not fit is left out from the
// right of the names, never from the figures.
func (s *summary) table(runs []*Report) {
	figures := make([]string, len(runs))
	verdict, name, who, right := 0, 0, 0, 0
	for i, r := range runs {
		verdict = max(verdict, len(r.Verdict.String()))
		figures[i] = figuresOf(r)
		name = max(name, width(r.Scenario))
		who = max(who, width(subject(r)))
		right = max(right, width(figures[i]))
	}
	room := s.Width - verdict - 2 - 2 - right
	if name+2+who > room {
		who = min(who, max(0, room-name-2))
		if who < 6 {
			who = 0
		}
	}
	if name = min(name, max(8, room)); who > 0 {
		name = min(name, max(8, room-who-2))
	}
	for i, r := range runs {
		line := s.paint(r.Verdict, pad(r.Verdict.String(), verdict)) + "  " + pad(r.Scenario, name)
		if who > 0 {
			line += "  " + pad(subject(r), who)
		}
		if verdict+2+name+2+right <= s.Width {
			line += "  " + figures[i]
		}
		s.line(line)
	}
}

func subject(r *Report) string { return r.Subject + ", " + r.World }

// figuresOf are the few figures of a run's line. Writes that were accepted from
// somebody who did not lead stand there whatever the verdict is.
func figuresOf(r *Report) string {
	text := failoverFigures(r)
	if n := r.Writes.StaleAccepted; n > 0 {
		text += ", " + plural(n, "stale write")
	}
	return text
}

func failoverFigures(r *Report) string {
	if r.FailoverMS.Count == 0 {
		return "no failover"
	}
	return plural(r.FailoverMS.Count, "failover") + ", " + r.FailoverMS.Short()
}

// trouble says what was broken or left undecided in a run.
func (s *summary) trouble(r *Report) {
	s.line("")
	s.wrap("", s.paint(r.Verdict, plain(r.Scenario))+": "+plain(tally(r)))
	for _, p := range append(r.withVerdict(checker.Fail), r.withVerdict(checker.Unknown)...) {
		s.wrap("  ", s.paint(p.Verdict, string(p.Promise))+" is "+verdictWord(p.Verdict)+": "+plain(or(p.Reason, "no reason given")))
		for _, e := range p.Events[:min(2, len(p.Events))] {
			line := fmt.Sprintf("    #%d  %s  %s  %s", e.Seq, atSeconds(e.AtMS), or(plain(e.Node), "-"), e.Kind)
			if e.Token != 0 {
				line += fmt.Sprintf("  token %d", e.Token)
			}
			s.line(cut(line+"  "+plain(e.Text), s.Width))
		}
	}
	if r.Repro != "" && r.Repro != Redact(s.Again) { // else it stands below
		s.line("  repeat: " + plain(r.Repro))
	}
}

// usage says what the processes of a long run consumed.
func (s *summary) usage(r *Report) {
	if r.Usage == nil {
		return
	}
	s.line("")
	s.wrap("", plain(r.Scenario)+":")
	for _, text := range r.Usage.Sentences() {
		s.wrap("  ", text)
	}
}

// wrap breaks a sentence between words; further lines are indented once more.
func (s *summary) wrap(indent, text string) {
	line, empty := indent, true
	for word := range strings.FieldsSeq(text) {
		if !empty && width(line)+1+width(word) > s.Width {
			s.line(line)
			line, empty = indent+"  ", true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	s.line(line)
}

// width counts what takes a column: colours do not.
func width(text string) int {
	n, code := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			code = true
		case code:
			code = r != 'm'
		default:
			n++
		}
	}
	return n
}

// pad makes text exactly n columns wide.
func pad(text string, n int) string {
	text = cut(plain(text), n)
	return text + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(text)))
}

// cut shortens text to n columns.
func cut(text string, n int) string {
	letters := []rune(text)
	if len(letters) <= n {
		return text
	}
	if n < 4 {
		return string(letters[:n])
	}
	return string(letters[:n-3]) + "..."
}

// plain takes out what would steer the terminal: names and notes come from the
// programs under test.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}
