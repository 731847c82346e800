package source_test

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/gopher-lua/parse"

	"github.com/recount-io/recount/scenarios/campaign"
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
	out      = flag.String("out", "", "with -shard: the folder for its file, from the root of the module")
	shard    campaign.Shard
)

func TestMain(m *testing.M) {
	flag.Var(&shard, "shard", "hunt only the i-th of n parts of the bugs, and write a file for chaos merge")
	os.Exit(m.Run())
}

// chosen are the bugs that -hunt names, or the shard's part of them.
func chosen() []source.Bug {
	all := slices.DeleteFunc(source.Bugs(), func(b source.Bug) bool {
		return !slices.ContainsFunc(strings.Split(*hunted, ","), func(w string) bool { return w == "all" || w == b.Name || w == string(b.Kind) })
	})
	var some []source.Bug
	for i, b := range all {
		if shard.Takes(i) {
			some = append(some, b)
		}
	}
	return some
}

// keep writes what the shard came to.
func keep(t *testing.T, results []source.Result) {
	t.Helper()
	kept, measured, seconds := []source.Kept{}, map[string]source.Measured{}, 0.
	for i := range results {
		k, m := results[i].Keep()
		kept, measured[k.Name], seconds = append(kept, k), m, seconds+m.Seconds
	}
	command := fmt.Sprintf("go test ./scenarios/league/source -run Hunt -hunt %s -budget %v", *hunted, *budget)
	settings := map[string]any{"hunt": *hunted, "budget": budget.String(), "every": *every, "in": *within}
	plan := campaign.Plan{Kind: campaign.Planted, Command: command, Program: commit()}
	file, err := campaign.New(plan, shard, settings, kept, measured, seconds)
	if err != nil {
		t.Fatal(err)
	}
	text, err := file.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, *out)
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // everybody may read it
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, shard.Name()), text, 0o644); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
}

// commit is the version of the source, as far as git knows it.
func commit() string {
	text, err := exec.Command("git", "-C", root, "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

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
	var results []source.Result
	for _, b := range chosen() {
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
		results = append(results, r)
		note(t, func(page string) (string, error) { return source.Rewrite(page, []source.Result{r}) })
		if len(r.Units) > 0 {
			t.Logf("  its own tests: %s", strings.Join(r.Units, ", "))
		}
		if _, found := r.Found(); found == (b.Unseen != "") {
			t.Errorf("%s: found: %v; why it is not: %q", b.Name, found, b.Unseen)
		}
	}
	if shard.Given() {
		keep(t, results)
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
