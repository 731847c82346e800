package league

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/recount-io/recount/checker"
)

// DefaultLimit is how many schedules a mutant gets from one seed until it counts
// as not found: some twenty times as many as the rarest one takes.
const DefaultLimit = 1_000_000

// Entry is a line of the table: what hunts from several seeds came to.
type Entry struct {
	Mutant
	Sightings []Sighting // one for each seed, up to the first in vain; the first is shrunk
}

// Measure hunts the mutant from so many seeds.
func (m *Mutant) Measure(ctx context.Context, seed uint64, seeds int) (Entry, error) {
	e := Entry{Mutant: *m}
	for i := range seeds {
		s, err := m.Find(ctx, Hunt{Seed: SeedOf(seed, i), Limit: DefaultLimit, Shrink: i == 0})
		if err != nil {
			return e, err
		}
		e.Sightings = append(e.Sightings, s)
		if !s.Found {
			break
		}
	}
	return e, nil
}

// SeedOf is the i-th of several seeds: far enough from the others that the runs
// of a scenario, which have one seed after the other, are not made twice.
func SeedOf(seed uint64, i int) uint64 { return seed + uint64(i)*10_000_000 }

// Found tells whether every hunt found the mutant.
func (e *Entry) Found() bool {
	return len(e.Sightings) > 0 && !slices.ContainsFunc(e.Sightings, func(s Sighting) bool { return !s.Found })
}

// First is what the first seed came to.
func (e *Entry) First() Sighting { return e.Sightings[0] }

// Schedules is how many it took: the median, and the most.
func (e *Entry) Schedules() (median, most int) {
	all := make([]int, len(e.Sightings))
	for i, s := range e.Sightings {
		all[i] = s.Schedules
	}
	slices.Sort(all)
	return all[(len(all)-1)/2], all[len(all)-1]
}

// Seconds is how long it took: the median.
func (e *Entry) Seconds() float64 {
	all := make([]float64, len(e.Sightings))
	for i, s := range e.Sightings {
		all[i] = s.Seconds
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// Promises are those by which it was found, the most frequent first.
func (e *Entry) Promises() (all []checker.Promise) {
	count := map[checker.Promise]int{}
	for _, s := range e.Sightings {
		if p := s.Failed.Promise; s.Found {
			if count[p]++; count[p] == 1 {
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b checker.Promise) int { return count[b] - count[a] })
	return all
}

// The lines of a document between which its parts stand that are made.
const (
	foundMark = "<!-- league -->"
	cleanMark = "<!-- clean -->"
	endMark   = "<!-- end -->"
)

const foundHead = "| bug | where | what it is | hunted by | promise | seeds | schedules | at most | seconds | faults | shrunk to |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"

// head is how the mutant's row begins.
func (m *Mutant) head() string { return fmt.Sprintf("| `%s` | %s | %s |", m.Name, m.Where, m.What) }

func (e *Entry) row() string {
	s := e.First()
	var promises []string
	for _, p := range e.Promises() {
		promises = append(promises, string(p))
	}
	median, most := e.Schedules()
	return fmt.Sprintf("%s %s | %s | %d | %d | %d | %.1f | %d | %s |",
		e.head(), e.By(), strings.Join(promises, ", "), len(e.Sightings), median, most, e.Seconds(), s.Faults, s.Text)
}

// Table is what the league came to.
type Table struct {
	Entries []Entry
	Clean   Clean
}

// Rewrite puts the table into a document between its marks. What was not done
// stays as it is there: the row of a mutant that was not hunted, too.
func (t *Table) Rewrite(document string) (string, error) {
	_, before, _, ok := cut(document, foundMark)
	if !ok {
		return "", unmarked(foundMark)
	}
	rows := map[string]string{}
	for line := range strings.Lines(before) {
		if name := nameOf(line); name != "" {
			rows[name] = line
		}
	}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Found() {
			rows[e.Name] = e.row() + "\n"
		} else {
			delete(rows, e.Name)
		}
	}
	found := foundHead
	for _, m := range Mutants() {
		found += rows[m.Name]
	}
	parts := []struct {
		mark, text string
		done       bool
	}{
		{foundMark, found, len(t.Entries) > 0}, {cleanMark, t.Clean.Sentence() + "\n", t.Clean.Schedules > 0},
	}
	for _, part := range parts {
		if !part.done {
			continue
		}
		before, _, after, ok := cut(document, part.mark)
		if !ok {
			return "", unmarked(part.mark)
		}
		document = before + part.text + after
	}
	return document, nil
}

func unmarked(mark string) error {
	return fmt.Errorf("league: the document has no part between %q and %q", mark, endMark)
}

// cut cuts a document at the part after a mark: what is before it, the part,
// and what follows.
func cut(document, mark string) (before, part, after string, ok bool) {
	i := strings.Index(document, mark+"\n")
	if i < 0 {
		return document, "", "", false
	}
	i += len(mark) + 1
	n := strings.Index(document[i:], endMark)
	if n < 0 {
		return document, "", "", false
	}
	return document[:i], document[i : i+n], document[i+n:], true
}

// Record is what a document says of a mutant that was found.
type Record struct {
	Name      string
	Seeds     int // from so many it was hunted
	Schedules int // the median
}

// Records reads the table of a document: those that were found.
func Records(document string) (found []Record, err error) {
	_, rows, _, ok := cut(document, foundMark)
	if !ok {
		return nil, errors.New("league: the document has no table")
	}
	for _, cells := range cellsOf(rows) {
		var r Record
		if len(cells) < 7 {
			return nil, fmt.Errorf("league: the row of %s has %d cells", cells[0], len(cells))
		}
		r.Name = cells[0]
		if r.Seeds, err = strconv.Atoi(cells[5]); err != nil {
			return nil, fmt.Errorf("league: %s: %q is no number of seeds", r.Name, cells[5])
		}
		if r.Schedules, err = strconv.Atoi(cells[6]); err != nil {
			return nil, fmt.Errorf("league: %s: %q is no number of schedules", r.Name, cells[6])
		}
		found = append(found, r)
	}
	return found, nil
}

// cellsOf are the cells of a table's rows, without its head.
func cellsOf(table string) (rows [][]string) {
	for line := range strings.Lines(table) {
		if name := nameOf(line); name != "" {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			cells[0] = name
			rows = append(rows, cells)
		}
	}
	return rows
}

// nameOf is the mutant whose row a line is; "" if it is none.
func nameOf(line string) string {
	rest, is := strings.CutPrefix(line, "| `")
	name, _, closed := strings.Cut(rest, "` |")
	if !is || !closed {
		return ""
	}
	return name
}
