package source_test

import (
	"flag"
	"go/parser"
	"go/token"
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
	hunted = flag.String("hunt", "", "which bugs to hunt: names with commas between, a kind, all, or clean for the source without any")
	budget = flag.Duration("budget", 2*time.Minute, "for each world")
	every  = flag.Bool("every", false, "go on to the other worlds when one has found the bug")
	units  = flag.Bool("units", false, "run the tests of the bug's own package, too")
	update = flag.String("update", "", "the page whose table gets what was found")
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
	h := source.Hunt{Root: absolute, Budget: *budget, Every: *every, Units: *units, Tell: t.Logf}
	if *hunted == "clean" {
		all, err := h.Clean(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.Found {
				t.Errorf("nothing is planted, and %s found %s: %s", s.World, s.Promise, s.Words)
			}
		}
		return
	}
	for _, b := range source.Bugs() {
		if !slices.ContainsFunc(strings.Split(*hunted, ","), func(w string) bool { return w == "all" || w == b.Name || w == string(b.Kind) }) {
			continue
		}
		t.Logf("%s: %s", b.Name, b.What)
		r, err := h.Find(t.Context(), b)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(r.Units) > 0 {
			t.Logf("  its own tests: %s", strings.Join(r.Units, ", "))
		}
		if _, found := r.Found(); found == (b.Unseen != "") {
			t.Errorf("%s: found: %v; why it is not: %q", b.Name, found, b.Unseen)
		}
	}
	_ = update
}
