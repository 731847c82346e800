package source

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// The lines of a document between which its tables stand.
const (
	foundMark = "<!-- planted -->\n"
	cleanMark = "<!-- clean -->\n"
	endMark   = "<!-- end -->"
)

const (
	foundHead = "| bug | in | what it is | found in | by | cases | seconds | own tests that fail |\n| --- | --- | --- | --- | --- | ---: | ---: | --- |\n"
	cleanHead = "| world | cases | seconds |\n| --- | ---: | ---: |\n"
)

// head is how the bug's row begins.
func (b *Bug) head() string { return fmt.Sprintf("| `%s` | %s | %s |", b.Name, b.Kind, b.What) }

// row is the bug's row. What other worlds made in vain before is not told.
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

// unhunted is the row of a bug that nobody has hunted yet.
func (b *Bug) unhunted() string { return b.head() + " not hunted yet | – | – | – | – |\n" }

// Rewrite puts what became of bugs into the table of a document. The row of a bug
// that was not hunted stays as it is, as long as there is that bug.
func Rewrite(document string, results []Result) (string, error) {
	before, table, after, err := cut(document, foundMark)
	if err != nil {
		return "", err
	}
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "`"); len(cells) > 2 {
			rows[cells[1]] = line
		}
	}
	for _, r := range results {
		rows[r.Name] = r.row()
	}
	table = foundHead
	for _, b := range Bugs() {
		table += cmp.Or(rows[b.Name], b.unhunted())
	}
	return before + table + after, nil
}

// RewriteClean puts what the worlds made of the source without a bug into the other
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
		return "", "", "", fmt.Errorf("source: the document has no part between %q and %q", strings.TrimSpace(mark), endMark)
	}
	return before + mark, part, endMark + after, nil
}
