package mutants_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuin/gopher-lua/parse"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios/mutants"
)

// root is the module's folder.
var root = filepath.Join("..", "..")

func catalogue(t *testing.T) []mutants.Mutant {
	t.Helper()
	all, err := mutants.Catalogue(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 200 {
		t.Fatalf("only %d mutants were found", len(all))
	}
	return all
}

// Every mutant still applies, to texts that are there once, and the changed files are
// some that a compiler reads. Whether they compile is seen when it is hunted.
func TestMutantsApply(t *testing.T) {
	names := map[string]bool{}
	for _, m := range catalogue(t) {
		changed, err := m.Apply(root)
		if err != nil {
			t.Error(err)
			continue
		}
		for file, content := range changed {
			switch path.Ext(file) {
			case ".go":
				_, err = parser.ParseFile(token.NewFileSet(), file, content, parser.SkipObjectResolution)
			case ".lua":
				_, err = parse.Parse(strings.NewReader(content), file)
			}
			if err != nil {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
		for _, e := range m.Edits {
			if e.Old == e.New {
				t.Errorf("%s changes nothing", m.Name)
			}
		}
		if names[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		names[m.Name] = true
	}
}

// A mutant of the day is hunted, another one each day, among those that the virtual
// world finds in seconds.
func TestMutantOfTheDay(t *testing.T) {
	if os.Getenv("CI") == "" || race.Enabled {
		t.Skip("the whole harness is compiled for it, so only CI hunts: CI=true go test -run TestMutantOfTheDay ./scenarios/mutants")
	}
	var quick []mutants.Mutant
	for _, m := range catalogue(t) {
		if m.Kind == mutants.Machine && m.First == "" && m.Unseen == "" {
			quick = append(quick, m)
		}
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	day := int(time.Now().Unix() / (24 * 60 * 60))
	h := mutants.Hunt{Root: absolute, Budget: time.Minute, Tell: t.Logf}
	defer h.Close()
	r, err := h.Find(t.Context(), quick[day%len(quick)])
	if err != nil {
		t.Fatal(err)
	}
	if _, found := r.Found(); !found {
		t.Errorf("%s is not found any more: %s", r.Name, r.What)
	}
}

// A text that its file does not have, or has twice, is refused: it would change nothing,
// or who knows which. Several changes of one file add up.
func TestApply(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.go"), []byte("one two two three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for old, want := range map[string]string{"four": "is 0 times", "two": "is 2 times"} {
		m := mutants.Mutant{Name: "m", Edits: []mutants.Edit{{File: "a.go", Old: old, New: "x"}}}
		if _, err := m.Apply(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", old, err, want)
		}
	}
	m := mutants.Mutant{Name: "m", Edits: []mutants.Edit{{File: "a.go", Old: "one", New: "1"}, {File: "a.go", Old: "three", New: "3"}}}
	if changed, err := m.Apply(folder); err != nil || changed["a.go"] != "1 two two 3\n" {
		t.Errorf("%q, %v", changed, err)
	}
}

// What a mutant's file lacks or has too much is refused with a word on it.
func TestRefused(t *testing.T) {
	const whole = "What: it is wrong\nBreaks: calls\n-- a.go --\nx\n-- becomes --\ny\n"
	for name, test := range map[string]struct{ kind, text, want string }{
		"whole":          {"machine", whole, ""},
		"no words":       {"machine", strings.Replace(whole, "What: it is wrong\n", "", 1), "What it is"},
		"no promise":     {"machine", strings.Replace(whole, "Breaks: calls\n", "", 1), "what it Breaks"},
		"another header": {"machine", "Why: because\n" + whole, `no header is called "Why"`},
		"no new text":    {"machine", strings.Replace(whole, "-- becomes --\ny\n", "", 1), `no section "becomes"`},
		"unknown kind":   {"mystery", whole, `no kind of mutants is called "mystery"`},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			in := filepath.Join(folder, "scenarios", "mutants", "catalogue", test.kind)
			if err := os.MkdirAll(in, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(in, "one.txt"), []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			all, err := mutants.Catalogue(folder)
			if test.want == "" && (err != nil || len(all) != 1 || all[0].Name != "one" || all[0].Edits[0] != mutants.Edit{File: "a.go", Old: "x", New: "y"}) {
				t.Errorf("%+v, %v", all, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v says nothing of %q", err, test.want)
			}
		})
	}
	if _, err := mutants.Root(t.TempDir()); !errors.Is(err, mutants.ErrNoSource) {
		t.Errorf("a folder without our source: %v", err)
	}
}

// The page has a row for every mutant, with the words that the catalogue has, and none
// for another one.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "mutants.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := catalogue(t)
	for _, m := range all {
		if row := fmt.Sprintf("| `%s` | %s | %s |", m.Name, m.Kind, m.What); !strings.Contains(string(page), row) {
			t.Errorf("the page has no row %q: chaos mutants hunt --update docs/mutants.md", row)
		}
	}
	if n := strings.Count(string(page), "\n| `"); n != len(all) {
		t.Errorf("the page has %d rows for %d mutants", n, len(all))
	}
}
