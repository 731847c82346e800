package source_test

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/gopher-lua/parse"

	"github.com/recount-io/recount/scenarios/league/source"
)

// root is the module's folder.
var root = filepath.Join("..", "..", "..")

// Every bug still applies, to a text that is there once, and the changed file is
// one that a compiler reads. Whether it compiles is seen when it is hunted.
func TestBugsApply(t *testing.T) {
	names := map[string]bool{}
	for _, b := range source.Bugs() {
		content, err := b.Apply(root)
		if err != nil {
			t.Error(err)
			continue
		}
		switch path.Ext(b.File) {
		case ".go":
			_, err = parser.ParseFile(token.NewFileSet(), b.File, content, parser.SkipObjectResolution)
		case ".lua":
			_, err = parse.Parse(strings.NewReader(string(content)), b.File)
		}
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if b.What == "" || len(b.Breaks) == 0 || b.Old == b.New || names[b.Name] {
			t.Errorf("%s: no name of its own, no word on what it is, nothing that it breaks, or no change", b.Name)
		}
		names[b.Name] = true
	}
}

var (
	hunted   = flag.String("hunt", "", "which bugs to hunt: names with commas between, a kind, all, or clean for the source without any")
	budget   = flag.Duration("budget", 2*time.Minute, "for each world")
	every    = flag.Bool("every", false, "go on to the other worlds when one has found the bug")
	within   = flag.String("in", "", "hunt only in worlds whose name has that in it")
	units    = flag.Bool("units", false, "run the tests of the bug's own package, too")
	compiled = flag.Bool("compile", false, "compile the package of each bug that is hunted, and no more")
	update   = flag.String("update", "", "the page whose table gets what was found, from the root of the module")
)

// Every bug that is hunted is found, unless it is said why not; and nothing is
// found where none is planted. Without -hunt nothing is done.
func TestHunt(t *testing.T) {
	if *hunted == "" {
		t.Skip("a campaign of hours: make planted")
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	h := source.Hunt{Root: absolute, Budget: *budget, Every: *every, In: *within, Units: *units, Tell: t.Logf}
	defer h.Close()
	if *hunted == "clean" {
		all, err := h.Clean(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		note(t, func(page string) (string, error) { return source.RewriteClean(page, all) })
		for _, s := range all {
			if s.Found {
				t.Errorf("nothing is planted, and %s found %s: %s", s.World, s.Promise, s.Words)
			}
		}
		return
	}
	note(t, func(page string) (string, error) { return source.Rewrite(page, nil) }) // rows for all
	for _, b := range source.Bugs() {
		if !slices.ContainsFunc(strings.Split(*hunted, ","), func(w string) bool { return w == "all" || w == b.Name || w == string(b.Kind) }) {
			continue
		}
		if *compiled {
			if err := h.Compile(t.Context(), b); err != nil {
				t.Error(err)
			}
			continue
		}
		t.Logf("%s: %s", b.Name, b.What)
		r, err := h.Find(t.Context(), b)
		if err != nil {
			t.Error(err)
			continue
		}
		note(t, func(page string) (string, error) { return source.Rewrite(page, []source.Result{r}) })
		if len(r.Units) > 0 {
			t.Logf("  its own tests: %s", strings.Join(r.Units, ", "))
		}
		if _, found := r.Found(); found == (b.Unseen != "") {
			t.Errorf("%s: found: %v; why it is not: %q", b.Name, found, b.Unseen)
		}
	}
}

// note writes what was found into the page, if one is to be updated.
func note(t *testing.T, rewrite func(string) (string, error)) {
	t.Helper()
	if *update == "" {
		return
	}
	path := filepath.Join(root, *update)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := rewrite(string(page))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a page that everybody may read
		t.Fatal(err)
	}
}

// The page has a row for every bug, with the words that the table of bugs has, and
// none for another one.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "planted.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, b := range source.Bugs() {
		if row := fmt.Sprintf("| `%s` | %s | %s |", b.Name, b.Kind, b.What); !strings.Contains(string(page), row) {
			t.Errorf("the page has no row %q: hunt it with -update docs/planted.md", row)
		}
		rows++
	}
	if n := strings.Count(string(page), "\n| `"); n != rows {
		t.Errorf("the page has %d rows for %d bugs", n, rows)
	}
}
