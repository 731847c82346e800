package mutants

import (
	"fmt"
	"strings"
	"time"
)

// The lines of a document between which its tables stand.
const (
	foundMark = "<!-- mutants -->\n"
	cleanMark = "<!-- clean -->\n"
	endMark   = "<!-- end -->"
)

const (
	foundHead = "| mutant | in | what it is | found in | by | cases | seconds | own tests that fail |\n| --- | --- | --- | --- | --- | ---: | ---: | --- |\n"
	cleanHead = "| world | cases | seconds |\n| --- | ---: | ---: |\n"
)

// head is how the mutant's row begins.
func (m *Mutant) head() string { return fmt.Sprintf("| `%s` | %s | %s |", m.Name, m.Kind, m.What) }

// row is the mutant's row. What other worlds made in vain before is not told.
func (r *Result) row() string {
	units := strings.Join(r.Units, ", ")
	if units == "" {
		units = "–"
	}
	if s, found := r.Found(); found {
		return fmt.Sprintf("%s %s | %s | %d | %.1f | %s |\n", r.head(), s.World, s.Promise, s.Cases, s.Busy.Seconds(), units)
	}
	why := r.Unseen
	if why == "" {
		why = "not known yet"
	}
	var took time.Duration
	for _, s := range r.Sightings {
		took += s.Busy
	}
	return fmt.Sprintf("%s not found | %s | – | %.1f | %s |\n", r.head(), why, took.Seconds(), units)
}

// unhunted is the row of a mutant that nobody has hunted yet.
func (m *Mutant) unhunted() string { return m.head() + " not hunted yet | – | – | – | – |\n" }

// Rewrite puts what became of mutants into the table of a document. The row of one
// that was not hunted stays as it is. With a catalogue the table has a row for each
// mutant in it, in its order, and no other; without one, those that it had.
func Rewrite(document string, catalogue []Mutant, results []Result) (string, error) {
	before, table, after, err := cut(document, foundMark)
	if err != nil {
		return "", err
	}
	rows := map[string]string{}
	var names []string
	add := func(name, row string) {
		if rows[name] == "" {
			names = append(names, name)
		}
		rows[name] = row
	}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "`"); len(cells) > 2 {
			add(cells[1], line)
		}
	}
	for _, r := range results {
		add(r.Name, r.row())
	}
	if catalogue != nil {
		names = nil
	}
	for _, m := range catalogue {
		names = append(names, m.Name)
		if !strings.HasPrefix(rows[m.Name], m.head()) {
			rows[m.Name] = m.unhunted()
		}
	}
	table = foundHead
	for _, name := range names {
		table += rows[name]
	}
	return before + table + after, nil
}

// RewriteClean puts what the worlds made of the sound source into the other
// table of a document.
func RewriteClean(document string, all []Sighting) (string, error) {
	before, _, after, err := cut(document, cleanMark)
	if err != nil {
		return "", err
	}
	table := cleanHead
	for _, s := range all {
		table += fmt.Sprintf("| %s | %d | %.1f |\n", s.World, s.Cases, s.Busy.Seconds())
	}
	return before + table + after, nil
}

// cut cuts a document at the part after a mark.
func cut(document, mark string) (before, part, after string, err error) {
	before, rest, ok := strings.Cut(document, mark)
	part, after, ended := strings.Cut(rest, endMark)
	if !ok || !ended {
		return "", "", "", fmt.Errorf("mutants: the document has no part between %q and %q", strings.TrimSpace(mark), endMark)
	}
	return before + mark, part, endMark + after, nil
}
