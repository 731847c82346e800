package recount_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/recount-io/recount/internal/race"
)

const (
	fileLines     = 500 // of a file that is no test
	functionLines = 70  // of a function
	testLines     = 90  // of a function in a test: its table counts as well
)

// exceptions are the places that are longer than the limits: a file, or a file
// and a function ("checker/run.go judge"), with its lines. It is a ratchet: a
// number must be exactly what is there, so it can only shrink. Do not add one:
// find the second noun in the file and move it out.
var exceptions = map[string]int{}

// rootFiles are what the root holds besides one folder per package.
var rootFiles = []string{
	"README.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "go.mod", "go.sum", "go.work", "go.work.sum", "Makefile", "imports_test.go", "modules_test.go", "published_test.go", "style_test.go", "features_test.go", "documents_test.go",
	".golangci.yml", ".gitignore", ".gitattributes", ".git", ".github", ".ci", "docs",
}

// The house rules that a machine can check hold for every file.
func TestStyle(t *testing.T) {
	if race.Enabled {
		t.Skip("it reads files, and does so without the race detector")
	}
	h := house{root: os.DirFS("."), exceptions: exceptions, machine: machinePaths(t)}
	complaints, err := h.inspect()
	if err != nil {
		t.Fatal(err)
	}
	if len(h.files) < 20 {
		t.Fatalf("only %d files were found: the test runs in the wrong folder, or skips too much", len(h.files))
	}
	for _, complaint := range complaints {
		t.Error(complaint)
	}
}

// machinePaths are places of the machine that this runs on, which mean nothing
// on another one: the checkout, the folder that it is in, and the user's home.
func machinePaths(t *testing.T) []string {
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	list := []string{here}
	// A folder that every machine has says nothing about this one.
	everywhere := []string{"/", "/tmp", "/var/tmp", "/home", "/data", "/src", "/app", "/build", "/usr/src", "/opt", "/srv", "/mnt"}
	for _, place := range []string{filepath.Dir(here), os.Getenv("HOME")} {
		if place != "" && !slices.Contains(everywhere, filepath.ToSlash(place)) {
			list = append(list, place)
		}
	}
	return list
}

// Each rule is seen to be broken by a small file that breaks it, and by no
// file that keeps it.
func TestStyleIsSeen(t *testing.T) {
	long := func(lines int) string { return "// Package p is.\npackage p\n" + strings.Repeat("\n", lines-2) }
	function := func(lines int) string { return doc + "func f() {\n" + strings.Repeat("\n", lines-2) + "}\n" }
	tests := []struct{ name, content, want string }{
		{"p/p.go", doc, ""},
		{"p/p.go", "package p\n", "no comment says what package p is"},
		{"p/long.go", long(500), ""},
		{"p/long.go", long(501), "p/long.go has 501 lines"},
		{"p/long_test.go", strings.Replace(long(501), "package p", "package p_test", 1), ""},
		{"p/long.go", function(70), ""},
		{"p/long.go", function(71), "p/long.go f has 71 lines"},
		{"p/long_test.go", function(90), ""},
		{"p/long_test.go", function(91), "p/long_test.go f has 91 lines"},
		{"p/p.go", doc + "func F() {}\n", "F is exported"},
		{"p/p.go", doc + "// F is.\nfunc F() {}\n", ""},
		{"p/p.go", doc + "// T is.\ntype T int\nfunc (t *T) M() {}\n", "M is exported"},
		{"p/p.go", doc + "type t[K any] int\nfunc (t[K]) M() {}\n", ""},
		{"p/p.go", doc + "// T is.\ntype T[K any] int\nfunc (T[K]) M() {}\n", "M is exported"},
		{"p/p.go", doc + "// T is.\ntype T int\nfunc (T) String() string { return \"\" }\n", ""},
		{"p/p.go", doc + "type T int\n", "T is exported"},
		{"p/p.go", doc + "const A = 1\n", "A is exported"},
		{"p/p.go", doc + "// The letters.\nconst (\n\tA = 1\n\tB = 2\n)\n", ""},
		{"p/p.go", doc + "var (\n\tA = 1 // one\n\tB = 2\n)\n", "B is exported"},
		{"p/p.go", doc + "func init() {}\n", "init"},
		{"p/p.go", doc + "// TO" + "DO: more\n", "unfinished"},
		{"p/p.go", doc + "// see run.go:17\n", "cites a line"},
		{"p/p_test.go", "package p\nfunc TestA(t *testing.T) {}\n", "TestA does not say what it shows"},
		{"p/p_test.go", "package p\n// A is.\nfunc TestA(t *testing.T) {}\n", ""},
		{"p/p_test.go", "package p\nfunc TestMain(m *testing.M) {}\nfunc Testing() {}\n", ""},
		{"p/p_test.go", "package p\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", "sleeps"},
		{"p/p_test.go", "package p\nimport (\n\"time\"\n\"testing/synctest\")\nfunc f() { time.Sleep(1); synctest.Wait() }\n", ""},
		{"p/testdata/p.go", "func", ""},
		{"docs/p.sh", "# FIX" + "ME\n", "unfinished"},
		{"docs/p.sh", "cd /machine/checkout\n", "/machine/checkout"},
		{"docs/p.sh", "cd $x/machine/checkout /machine/checkouts\n", ""},
		{"docs/a.md", "[b](b.md) [web](https://example.org/x.md) `[c](c.md)`\n```\n[d](d.md)\n```\n", `docs/a.md links to "b.md"`},
		{"docs/a.md", "![b](../p.svg \"title\")\n", `"../p.svg"`},
		{"docs/a.md", "<img src=\"b.svg\">\n", `"b.svg"`},
		{"docs/a.md", "[b]: b.md\n", `"b.md"`},
		{"docs/a.md", "[up](../) [me](a.md) [above](#a-b)\n# A `b`!\n", ""},
		{"docs/a.md", "[above](#a-c)\n# A b\n", `"#a-c"`},
		{"docs/a.md", "The Warden ends it.\n", `write "supervisor"`},
		{"p/p.go", doc + "func f() { startWarden() }\n", `write "supervisor"`},
		{"p/p.go", doc + "var lossHeeded int\n", `write "StepsDownOnLoss"`},
		{"p/p.go", doc + "// f is told of it.\nfunc f() {}\n", ""},
		{"p/p.go", doc + "type t struct{ notTold bool }\n", "notTold"},
		{"p/p.go", doc + "// f ends whoever asks.\nfunc f() {}\n", `"whoever"`},
		{"reports/report_test.go", "package reports\nvar old = \"LossHeeded\"\n", ""},
		{"p/p.go", doc + "// f tells whether it is so.\nfunc f() {}\n", `write "reports whether"`},
		{"notes.txt", "", "notes.txt"},
		{"runs/notes.txt", "TO" + "DO", ""},
	}
	for _, test := range tests {
		files := fstest.MapFS{test.name: {Data: []byte(test.content)}, ".gitignore": {Data: []byte("/runs/\n")}}
		h := house{root: files, machine: []string{"/machine/checkout"}}
		got, err := h.inspect()
		if err != nil {
			t.Fatalf("%s: %v\n%s", test.name, err, test.content)
		}
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
			t.Errorf("%s: complaints: %q, want %q; the file:\n%s", test.name, got, test.want, test.content)
		}
	}
}

const doc = "// Package p is.\npackage p\n"

// An exception holds for exactly the length that it names.
func TestExceptionsOnlyShrink(t *testing.T) {
	files := fstest.MapFS{"p/p.go": {Data: []byte(doc + strings.Repeat("\n", 600))}}
	for _, test := range []struct {
		name  string
		lines int
		want  string
	}{
		{"p/p.go", 602, ""},
		{"p/p.go", 601, "602 lines"},
		{"p/p.go", 603, "lower"},
		{"p/gone.go", 600, "remove"},
	} {
		h := house{root: files, exceptions: map[string]int{test.name: test.lines}}
		got, err := h.inspect()
		if err != nil || !strings.Contains(strings.Join(got, "\n"), test.want) || test.want == "" && len(got) > 0 {
			t.Errorf("%s may have %d lines: complaints %q, %v; want %q", test.name, test.lines, got, err, test.want)
		}
	}
}

// house is the tree, and what is wrong with it.
type house struct {
	root       fs.FS
	exceptions map[string]int
	machine    []string // paths that no file may contain

	files      map[string][]byte
	packages   map[string]string // folder of a package: its comment
	bubbles    map[string]bool   // folders with tests that use testing/synctest
	sleepers   []string          // tests that call time.Sleep
	used       map[string]bool   // exceptions
	complaints []string
}

func (h *house) complain(format string, arguments ...any) {
	h.complaints = append(h.complaints, fmt.Sprintf(format, arguments...))
}

// inspect reads everything that git does not ignore.
func (h *house) inspect() ([]string, error) {
	h.files, h.packages, h.bubbles, h.used = map[string][]byte{}, map[string]string{}, map[string]bool{}, map[string]bool{}
	if err := h.read(); err != nil {
		return nil, err
	}
	for name, content := range h.files {
		if path.Ext(name) == ".go" && !strings.Contains(name, "testdata/") {
			if err := h.inspectGo(name, content); err != nil {
				return nil, err
			}
		} else if unfinished.Match(content) {
			h.complain("%s marks something unfinished: finish it, or say in plain words what is not there", name)
		}
		if path.Ext(name) == ".md" {
			h.inspectLinks(name)
		}
		h.inspectPaths(name, content)
		if named := name == "CHANGELOG.md" || name == "style_test.go"; !named && (path.Ext(name) == ".go" || path.Ext(name) == ".md") {
			h.inspectWords(name, content)
		}
	}
	for folder, comment := range h.packages {
		if comment == "" {
			h.complain("no comment says what package %s is", folder)
		}
	}
	for _, name := range h.sleepers {
		if !h.bubbles[path.Dir(name)] {
			h.complain("%s sleeps: a test waits for the event itself, or runs in a bubble of testing/synctest", name)
		}
	}
	for name := range h.exceptions {
		if !h.used[name] {
			h.complain("%s is within the limits or gone: remove it from the exceptions", name)
		}
	}
	h.inspectRoot()
	slices.Sort(h.complaints)
	return h.complaints, nil
}

// plain are words that only this project had, or that Go's documents do not use, and what to
// write in their place.
var plain = map[string]string{
	"warden": "supervisor", "misuse": "usage error", "raced": "with the race detector", "league": "mutants", "planted bug": "mutant",
	"foreign elector": "external elector", "tells whether": "reports whether", "curtain": "end of the run",
	"loss heeded": "StepsDownOnLoss", "heir": "successor", "manners": "behavior", "stranger": "foreign", "sights": "observations",
	"guest": "program or limited", "crowd": "calls, processes or watches", "unheld": "inconclusive or free", "shy": "limited",
	"roster": "candidates", "chronicle": "past terms", "inspector": "preflighter",
	"whoever": "the caller, or who it is", "stray": "late or forgotten",
}

// plainNames are words that names in Go must not have, though sentences may.
var plainNames = map[string]string{"told": "what it holds: reported, announced, named", "untold": "what it lacks"}

// readable are the files that may hold a word of plain: they read or describe what earlier
// versions wrote.
var readable = map[string][]string{
	"loss heeded": {
		"checker/internal/finding/finding.go", "checker/promises_test.go", "cmd/chaos/old_files_test.go", "reports/report_test.go",
		"scenarios/fuzz/format_test.go", "scenarios/search/search_test.go",
	},
	"roster": {"docs/migration.md", "elector/redisstore/scripts/scripts.go"}, "chronicle": {"docs/migration.md"}, "inspector": {"docs/migration.md"},
	"whoever": {"faults/invalid_test.go", "faults/target.go"},
	"stray": { // event.ErrStray, and what metrics call it
		"docs/migration.md", "docs/operations.md", "elector/event/event.go", "elector/health/instrument/instrument_test.go", "elector/health/instrument/names.go", "elector/repeats.go",
		"internal/machine/bid.go", "internal/machine/candidate.go", "internal/machine/candidate_test.go", "internal/machine/print_test.go", "internal/machine/values.go",
		"sim/bubble/calls/journal.go", "sim/bubble/calls/obligations.go", "sim/explore/planted_test.go", "sim/explore/step.go",
	},
	"stranger": {"docs/history-format.md", "history/event.go"},
	"heir":     {"scenarios/search/file.go", "scenarios/search/search_test.go"},
}

// plainWords matches the words of plain, one or several of each.
var plainWords = regexp.MustCompile(`\b(` + strings.Join(slices.Collect(maps.Keys(plain)), "|") + `)s?\b`)

// partsOfNames are the places at which a name in camel case goes on with its next word.
var partsOfNames = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// inspectWords finds words that have a plain one, in names too.
func (h *house) inspectWords(name string, content []byte) {
	text := words(string(content))
	found := map[string]bool{}
	for _, match := range plainWords.FindAllStringSubmatch(text, -1) {
		if word := match[1]; !found[word] && !slices.Contains(readable[word], name) {
			h.complain("%s says %q: write %q", name, word, plain[word])
			found[word] = true
		}
	}
}

// words are those of names in camel case, in small letters.
func words(name string) string {
	return strings.ToLower(partsOfNames.ReplaceAllString(name, "$1 $2"))
}

// sources counts the files of a package, without tests.
func (h *house) sources(folder string) (n int) {
	for name := range h.files {
		if path.Dir(name) == folder && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			n++
		}
	}
	return n
}

// inspectNames finds names that have a word of plainNames.
func (h *house) inspectNames(name string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is {
			for _, word := range strings.Fields(words(id.Name)) {
				if better, private := plainNames[word]; private {
					h.complain("%s has the name %s: call it %s", name, id.Name, better)
				}
			}
		}
		return true
	})
}

func (h *house) read() error {
	ignored, err := ignoredFiles(h.root)
	if err != nil {
		return err
	}
	return fs.WalkDir(h.root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" || ignored(name):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		content, err := fs.ReadFile(h.root, name)
		if err == nil && !bytes.ContainsRune(content, 0) { // text
			h.files[name] = content
		}
		return err
	})
}

// ignoredFiles understands what our .gitignore uses: names and patterns, from
// the root if they begin with a slash.
func ignoredFiles(root fs.FS) (func(name string) bool, error) {
	content, err := fs.ReadFile(root, ".gitignore")
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	patterns := strings.Fields(string(content))
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			of := path.Base(name)
			if strings.HasPrefix(pattern, "/") {
				of = name
			}
			matched, _ := path.Match(strings.Trim(pattern, "/"), of) // a bad pattern ignores nothing
			return matched
		})
	}, nil
}

var (
	unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	lineCited  = regexp.MustCompile(`\.go:[0-9]+|#L[0-9]+`)
	testName   = regexp.MustCompile(`^(Test|Fuzz)([^a-z]|$)`)
)

// inspectGo inspects one Go file.
func (h *house) inspectGo(name string, content []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	h.inspectNames(name, file)
	test := strings.HasSuffix(name, "_test.go")
	if !test {
		h.packages[path.Dir(name)] += file.Doc.Text()
		if file.Doc != nil && path.Base(name) != "doc.go" && h.sources(path.Dir(name)) > 1 {
			h.complain("%s says what the package is: move that to doc.go", name)
		}
		h.measure(name, bytes.Count(content, []byte("\n")), fileLines)
	}
	for _, group := range file.Comments {
		if unfinished.MatchString(group.Text()) {
			h.complain("%s marks something unfinished: finish it, or say in plain words what is not there", name)
		}
		if lineCited.MatchString(group.Text()) {
			h.complain("%s: a comment cites a line, which moves: name the function instead", name)
		}
	}
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok {
			limit := functionLines
			if test {
				limit = testLines
			}
			h.measure(name+" "+f.Name.Name, files.Position(f.End()).Line-files.Position(f.Pos()).Line+1, limit)
			h.inspectFunction(name, f, test)
		}
		if d, ok := declaration.(*ast.GenDecl); ok && !test {
			h.inspectDeclaration(name, d)
		}
	}
	if test {
		h.inspectWaits(name, file)
	}
	return nil
}

// measure applies a limit, or the exception from it.
func (h *house) measure(name string, lines, limit int) {
	allowed, excepted := h.exceptions[name]
	switch {
	case lines <= limit:
	case !excepted:
		h.complain("%s has %d lines; the limit is %d: move a part of it out under a name of its own", name, lines, limit)
	case lines > allowed:
		h.complain("%s has %d lines; it was let off with %d and may only shrink", name, lines, allowed)
	case lines < allowed:
		h.complain("%s has only %d lines now: lower its exception from %d", name, lines, allowed)
	}
	h.used[name] = h.used[name] || excepted && lines > limit
}

func (h *house) inspectFunction(name string, f *ast.FuncDecl, test bool) {
	switch {
	case f.Recv == nil && f.Name.Name == "init":
		h.complain("%s has an init function: nothing happens before main, and nothing registers itself", name)
	case test && f.Recv == nil && testName.MatchString(f.Name.Name) && f.Name.Name != "TestMain" && f.Doc == nil:
		h.complain("%s: %s does not say what it shows: begin it with a comment", name, f.Name.Name)
	case test || !f.Name.IsExported() || f.Doc != nil:
	case f.Recv != nil && (!receiver(f).IsExported() || slices.Contains([]string{"String", "Error", "Unwrap"}, f.Name.Name)):
	default:
		h.complain("%s: %s is exported and has no comment", name, f.Name.Name)
	}
}

// receiver is the name of a method's type.
func receiver(f *ast.FuncDecl) *ast.Ident {
	for node := range ast.Preorder(f.Recv.List[0].Type) {
		if name, ok := node.(*ast.Ident); ok {
			return name
		}
	}
	return ast.NewIdent("")
}

// inspectDeclaration wants a comment on each exported name; that of a group
// will do for all in it.
func (h *house) inspectDeclaration(name string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		var names []*ast.Ident
		var comments bool
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names, comments = []*ast.Ident{s.Name}, s.Doc != nil || s.Comment != nil
		case *ast.ValueSpec:
			names, comments = s.Names, s.Doc != nil || s.Comment != nil
		}
		for _, n := range names {
			if n.IsExported() && !comments && d.Doc == nil {
				h.complain("%s: %s is exported and has no comment", name, n.Name)
			}
		}
	}
}

// inspectWaits notes which tests sleep, and which packages test in bubbles:
// often one helper makes the bubble for all files of a package.
func (h *house) inspectWaits(name string, file *ast.File) {
	for _, spec := range file.Imports {
		switch spec.Path.Value {
		case `"testing/synctest"`:
			h.bubbles[path.Dir(name)] = true
		case `"time"`:
			if slices.Contains(clockUses(file, spec), "time.Sleep") {
				h.sleepers = append(h.sleepers, name)
			}
		}
	}
}

func (h *house) inspectPaths(name string, content []byte) {
	for _, place := range h.machine {
		whole := regexp.MustCompile(`(^|[^\w.~$}/-])` + regexp.QuoteMeta(place) + `($|[^\w.-])`)
		if whole.Match(content) {
			h.complain("%s contains %s, a place of this machine", name, place)
		}
	}
}

// inspectRoot wants nothing at the root but what belongs there.
func (h *house) inspectRoot() {
	roots := map[string]bool{}
	for name := range h.files {
		first, below, nested := strings.Cut(name, "/")
		roots[first] = roots[first] || nested && strings.HasSuffix(below, ".go")
	}
	for name, isPackage := range roots {
		if !isPackage && !slices.Contains(rootFiles, name) {
			h.complain("%s does not belong at the root, which holds one folder per package and what rootFiles names", name)
		}
	}
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	span    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)|(?m:^ *\[[^\]]+\]:\s*(\S+))|(?:src|href|srcset)="([^"\s]+)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*?)\s*$`)
	omitted = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// inspectLinks wants the target of each link that is not to the web.
func (h *house) inspectLinks(name string) {
	prose := span.ReplaceAll(fence.ReplaceAll(h.files[name], nil), nil)
	for _, match := range link.FindAllSubmatch(prose, -1) {
		target := string(bytes.Join(match[1:], nil))
		file, anchor, _ := strings.Cut(target, "#")
		if strings.Contains(target, ":") {
			continue // a scheme
		}
		to := path.Join(path.Dir(name), file)
		if file == "" {
			to = name
		}
		content, found := h.files[to]
		if !found && !h.exists(to) {
			h.complain("%s links to %q, which is not there", name, target)
		}
		if anchor != "" && path.Ext(to) == ".md" && found && !slices.Contains(anchors(content), anchor) {
			h.complain("%s links to %q, and no heading there is called so", name, target)
		}
	}
}

// exists finds also folders, and files that are not text.
func (h *house) exists(name string) bool {
	_, err := fs.Stat(h.root, name)
	return err == nil
}

// anchors are what GitHub calls the headings of a page.
func anchors(page []byte) []string {
	var list []string
	seen := map[string]int{}
	for _, match := range heading.FindAllSubmatch(fence.ReplaceAll(page, nil), -1) {
		anchor := strings.ReplaceAll(omitted.ReplaceAllString(strings.ToLower(string(match[1])), ""), " ", "-")
		if n := seen[anchor]; n > 0 {
			list = append(list, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			list = append(list, anchor)
		}
		seen[anchor]++
	}
	return list
}
