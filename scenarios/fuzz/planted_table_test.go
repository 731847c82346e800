package fuzz_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
)

// The document that lists the planted bugs, and the lines between which its
// tables stand.
const (
	tableFile  = "../../docs/planted-bugs.md"
	foundMark  = "<!-- found -->"
	unseenMark = "<!-- unseen -->"
	endMark    = "<!-- end -->"
)

// head is how the row of a bug begins.
func (b *bug) head() string { return fmt.Sprintf("| `%s` | %s | %s |", b.name, b.where, b.what) }

func (b *bug) row(s *sighting) string {
	return fmt.Sprintf("%s %d | %s | %s |", b.head(), s.schedules, s.Case.Failed.Promise, oneLine(&s.Case))
}

func (b *bug) unseenRow() string { return fmt.Sprintf("%s %s |", b.head(), b.unseen) }

// unseenRows are those of the bugs that the fuzzer does not find.
func unseenRows() []string {
	var rows []string
	for _, b := range planted() {
		if b.unseen != "" {
			rows = append(rows, b.unseenRow())
		}
	}
	return rows
}

// tableAt cuts the document at the rows between a mark, with the two lines of
// the heading that follow it, and the end mark.
func tableAt(text, mark string) (before string, rows []string, after string) {
	at := strings.Index(text, mark+"\n")
	if at < 0 {
		return text, nil, ""
	}
	for range 3 {
		at += strings.Index(text[at:], "\n") + 1
	}
	end := at + max(strings.Index(text[at:], endMark), 0)
	return text[:at], strings.Split(strings.TrimSuffix(text[at:end], "\n"), "\n"), text[end:]
}

// rewriteTable puts the rows into the document.
func rewriteTable(t *testing.T, found []string) {
	t.Helper()
	text := readTable(t)
	put := func(mark string, rows []string) {
		before, _, after := tableAt(text, mark)
		if after == "" {
			t.Fatalf("%s has no table after %s", tableFile, mark)
		}
		text = before + strings.Join(rows, "\n") + "\n" + after
	}
	put(foundMark, found)
	put(unseenMark, unseenRows())
	if err := os.WriteFile(tableFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readTable(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The tables in the document list every planted bug as it is, in order, with a
// promise that fits and a number of schedules.
func TestPlantedTable(t *testing.T) {
	text := readTable(t)
	_, rows, _ := tableAt(text, foundMark)
	for _, b := range planted() {
		if b.unseen != "" {
			continue
		}
		if len(rows) == 0 || !strings.HasPrefix(rows[0], b.head()) {
			t.Fatalf("no row for %s where it should be: run go test ./scenarios/fuzz -run TestPlantedBugs -update", b.name)
		}
		cells := strings.Split(strings.TrimPrefix(rows[0], b.head()), " | ")
		if n, err := strconv.Atoi(strings.TrimSpace(cells[0])); err != nil || n < 1 {
			t.Errorf("%s: %q is no number of schedules", b.name, cells[0])
		}
		if !slices.ContainsFunc(b.breaks, func(p checker.Promise) bool { return string(p) == cells[1] }) {
			t.Errorf("%s is about %v, but the table says %s", b.name, b.breaks, cells[1])
		}
		rows = rows[1:]
	}
	if len(rows) > 0 {
		t.Errorf("the table has rows of nothing: %v", rows)
	}
	if _, got, _ := tableAt(text, unseenMark); !slices.Equal(got, unseenRows()) {
		t.Errorf("the bugs that are not found:\n%v\nin the table:\n%v", unseenRows(), got)
	}
}
