package checker

import (
	"os"
	"strings"
	"testing"
)

// The documents state the promises in the words of the table.
func TestDocumentsHaveTheTable(t *testing.T) {
	text, err := os.ReadFile("../docs/reading-a-report.md")
	if err != nil {
		t.Fatal(err)
	}
	format, err := os.ReadFile("../docs/history-format.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(Table()) != len(Promises) {
		t.Errorf("%d rows, %d names", len(Table()), len(Promises))
	}
	words := map[string]Promise{}
	for i, r := range Table() {
		if r.Name != Promises[i] || r.Word == "" || r.Broken == "" || words[r.Word] != "" {
			t.Errorf("row %d: %+v; the name is %s", i, r, Promises[i])
		}
		words[r.Word] = r.Name
		if row := "\n| `" + string(r.Name) + "` | " + r.Kept; !strings.Contains(string(text), row) {
			t.Errorf("reading-a-report.md lacks the row %q", row)
		}
		if !strings.Contains(string(format), "`"+string(r.Name)+"`") {
			t.Errorf("history-format.md lacks %s", r.Name)
		}
	}
}
