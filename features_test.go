package recount_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// What docs/features.md and docs/guarantees.md say of this elector is shown by
// tests, examples, scenarios and mutants that exist, and nothing is left
// empty.
func TestFeaturesAreShown(t *testing.T) {
	root := os.DirFS(".")
	all, err := findEvidence(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.functions) < 500 || len(all.scenarios) < 40 || len(all.bugs) < 40 {
		t.Fatalf("only %d tests, %d scenarios and %d mutants were found: the test looks in the wrong places", len(all.functions), len(all.scenarios), len(all.bugs))
	}
	for name, rows := range map[string]int{"docs/features.md": 90, "docs/guarantees.md": 30} {
		page, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		complaints, seen := all.judge(string(page))
		for _, complaint := range append(complaints, judgeNotes(string(page))...) {
			t.Errorf("%s: %s", name, complaint)
		}
		if seen < rows {
			t.Errorf("%s: only %d rows were judged, of at least %d: the table is not found", name, seen, rows)
		}
	}
}

// Every way in which a page can promise what nothing shows is noticed, and no
// good row is complained of.
func TestFeaturesAreSeen(t *testing.T) {
	const table = "| feature | here | A | shown by |\n| --- | --- | --- | --- |\n"
	tests := []struct{ page, want string }{
		{table + "| f | yes | no | `TestA` |\n", ""},
		{table + "| f | yes | no | `p.TestA`, `p.ExampleT_M`; scenarios `calm`, `storm`; mutant `lazy` |\n", ""},
		{table + "| f | yes 2 | partly 1 | `TestA` |\n", ""},
		{table + "| f | 15 s | 60 s | `TestA` |\n", ""},
		{table + "| f | not yet | yes | not yet |\n", ""},
		{table + "| f | no | yes | – |\n", ""},
		{table + "| f | no 1 | yes | – |\n", ""},
		{"| matter | what | shown by |\n| - | - | - |\n| f | `TestGone` | `TestA` and scenario `calm` |\n", ""},
		{"| other | table |\n| - | - |\n| a |  |\n", ""},
		{table + "| f |  | no | `TestA` |\n", `"f": the column "here" is empty`},
		{table + "| f | yes, perhaps | no | `TestA` |\n", `"f": "yes, perhaps" is neither`},
		{table + "| f | yes |  | `TestA` |\n", `"f": the column "A" is empty`},
		{table + "| f | yes | no |  |\n", `"f": the column "shown by" is empty`},
		{table + "| f | yes | no | by reason |\n", `"f": nothing is named that shows it`},
		{table + "| f | yes | no | not yet |\n", `"f": nothing is named that shows it`},
		{table + "| f | perhaps | no | `TestA` |\n", `"f": "perhaps" is neither`},
		{table + "| f | no | yes | `TestA` |\n", `"f": what is not there`},
		{table + "| f | no | ? | – |\n", `"f": none of the others was looked up`},
		{table + "| f | yes | ? | `TestA` |\n", `"f": none of the others was looked up`},
		{table + "| f | yes | `TestA` |\n", `"f": 3 cells`},
		{table + "| f | yes | no | `TestGone` |\n", `"f": there is no test TestGone`},
		{table + "| f | yes | no | `ExampleGone` |\n", `"f": there is no test ExampleGone`},
		{table + "| f | yes | no | `q.TestA` |\n", `"f": there is no test q.TestA`},
		{table + "| f | yes | no | `TestA`, scenario `gone` |\n", `"f": there is no scenario gone`},
		{table + "| f | yes | no | scenario `lazy` |\n", `"f": there is no scenario lazy`},
		{table + "| f | yes | no | mutants `lazy`, `gone` |\n", `"f": there is no mutant gone`},
		{table + "| f | yes | no | `calm` |\n", `"f": "calm" is named without`},
	}
	files := fstest.MapFS{
		"a/p/p_test.go":           {Data: []byte("package p\nfunc TestA(t *testing.T) {}\nfunc ExampleT_M() {}\n")},
		"a/p/testdata/x_test.go":  {Data: []byte("func TestGone(t *testing.T) {}\n")},
		"scenarios/s.go":          {Data: []byte("var x = []S{{Name: \"calm\"}, {Name:   \"storm\"}}\n")},
		"scenarios/s_test.go":     {Data: []byte("var x = S{Name: \"gone\"}\n")},
		"docs/mutants.md":         {Data: []byte("| bug | where |\n| --- | --- |\n| `lazy` | here |\n")},
		"elsewhere/scenario.go":   {Data: []byte("var x = S{Name: \"gone\"}\n")},
		"a/p/not_a_test_file.txt": {Data: []byte("func TestGone() {}\n")},
	}
	all, err := findEvidence(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		got, _ := all.judge(test.page)
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
			t.Errorf("complaints: %q, want %q; the page:\n%s", got, test.want, test.page)
		}
	}
}

// A number in a table is that of a note under it, and each note is pointed to.
func TestNotesAreSeen(t *testing.T) {
	const head = "## A\n| feature | here | B |\n| --- | --- | --- |\n"
	tests := []struct{ page, want string }{
		{head + "| f | yes 1 | partly 2 |\n| g | no 2 | 15 s |\n\n1. because\n2. but\n", ""},
		{head + "| f | yes | no |\n## B\n1. a list of its own\n", ""},
		{head + "| f | yes 1 | no |\n", `"A": there is no note 1`},
		{head + "| f | yes 1 | no |\n\n1. because\n2. but\n", `"A": nothing points to note 2`},
		{head + "| f | yes 1 | no |\n## B\n1. because\n", `"A": there is no note 1`},
	}
	for _, test := range tests {
		got := judgeNotes(test.page)
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
			t.Errorf("complaints: %q, want %q; the page:\n%s", got, test.want, test.page)
		}
	}
}

// evidence is what a page may name.
type evidence struct {
	functions map[string]bool // with and without the folder that they are in
	scenarios map[string]bool
	bugs      map[string]bool
}

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	scenarioName = regexp.MustCompile(`\bName:\s*"([^"]+)"`)
	mutantRow    = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|")
)

func findEvidence(root fs.FS) (evidence, error) {
	all := evidence{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	wanted := func(name string) bool {
		return strings.HasSuffix(name, "_test.go") || path.Dir(name) == "scenarios" && path.Ext(name) == ".go" || name == "docs/mutants.md"
	}
	err := eachFile(root, wanted, func(name string, content []byte) error {
		test, folder := strings.HasSuffix(name, "_test.go"), path.Dir(name)
		pattern, found, of := scenarioName, all.scenarios, ""
		switch {
		case test && folder == ".":
			pattern, found, of = testFunction, all.functions, "recount."
		case test:
			pattern, found, of = testFunction, all.functions, path.Base(folder)+"."
		case path.Ext(name) == ".md":
			pattern, found = mutantRow, all.bugs
		}
		for _, match := range pattern.FindAllSubmatch(content, -1) {
			found[string(match[1])] = true
			found[of+string(match[1])] = true
		}
		return nil
	})
	return all, err
}

// judge goes through the tables that have a column "shown by", and says how
// many rows they have.
func (e evidence) judge(page string) (complaints []string, rows int) {
	var columns []string
	for line := range strings.Lines(page) {
		cells := cellsOf(line)
		switch {
		case cells == nil:
			columns = nil
		case columns == nil:
			columns = cells
		case slices.Contains(columns, "shown by") && strings.Trim(strings.Join(cells, ""), "-: ") != "":
			rows++
			for _, complaint := range e.judgeRow(columns, cells) {
				complaints = append(complaints, fmt.Sprintf("%q: %s", cells[0], complaint))
			}
		}
	}
	return complaints, rows
}

func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

var (
	noteNumber = regexp.MustCompile(`^(?:yes|no|partly) ([0-9]+)$`)
	note       = regexp.MustCompile(`(?m)^([0-9]+)\. `)
)

// judgeNotes compares the numbers in the tables of each section with its notes.
func judgeNotes(page string) []string {
	var complaints []string
	for _, section := range strings.Split(page, "\n## ") {
		pointed, there := map[string]bool{}, map[string]bool{}
		for line := range strings.Lines(section) {
			for _, cell := range cellsOf(line) {
				if match := noteNumber.FindStringSubmatch(cell); match != nil {
					pointed[match[1]] = true
				}
			}
		}
		for _, match := range note.FindAllStringSubmatch(section, -1) {
			there[match[1]] = true
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(section, "## "), "\n")
		for number := range pointed {
			if !there[number] {
				complaints = append(complaints, fmt.Sprintf("%q: there is no note %s", title, number))
			}
		}
		for number := range there {
			if len(pointed) > 0 && !pointed[number] {
				complaints = append(complaints, fmt.Sprintf("%q: nothing points to note %s", title, number))
			}
		}
	}
	slices.Sort(complaints)
	return complaints
}

// ownCell is what our own column may say, with or without the number of a note.
var ownCell = regexp.MustCompile(`^(not yet|at once|[0-9]+ (ms|s)|(yes|no|partly)( [0-9]+)?)$`)

func (e evidence) judgeRow(columns, cells []string) []string {
	if len(cells) != len(columns) {
		return []string{fmt.Sprintf("%d cells in a table of %d columns", len(cells), len(columns))}
	}
	var complaints []string
	here, others, unknown := "", 0, 0 // here: the first word of our own answer
	for i, column := range columns {
		switch {
		case cells[i] == "":
			complaints = append(complaints, fmt.Sprintf("the column %q is empty", column))
		case column == "here":
			here, _, _ = strings.Cut(cells[i], " ")
			if !ownCell.MatchString(cells[i]) {
				complaints = append(complaints, fmt.Sprintf("%q is neither yes, no nor partly, nor a time, nor \"not yet\"", cells[i]))
			}
		case column == "shown by" && here == "no":
			if cells[i] != "–" {
				complaints = append(complaints, "what is not there is shown by –, not by "+cells[i])
			}
		case column == "shown by" && (here != "not" || cells[i] != "not yet"):
			complaints = append(complaints, e.judgeNames(cells[i])...)
		case here != "" && column != "shown by":
			others++
			if cells[i] == "?" {
				unknown++
			}
		}
	}
	if others > 0 && unknown == others {
		complaints = append(complaints, "none of the others was looked up")
	}
	return complaints
}

var (
	nameOrKind = regexp.MustCompile("`([^`]+)`|\\b(scenario|mutant)s?\\b")
	testNamed  = regexp.MustCompile(`^(\w+\.)?(Test|Fuzz|Benchmark|Example)([^a-z]\w*)?$`)
)

// judgeNames looks for everything that is named in backquotes: a test by its
// name, with or without its package, and the others after their kind.
func (e evidence) judgeNames(cell string) []string {
	var complaints []string
	kind, named := "", 0
	for _, match := range nameOrKind.FindAllStringSubmatch(cell, -1) {
		name := match[1]
		if name == "" {
			kind = match[2]
			continue
		}
		named++
		switch {
		case testNamed.MatchString(name):
			if !e.functions[name] {
				complaints = append(complaints, "there is no test "+name)
			}
		case kind == "":
			complaints = append(complaints, fmt.Sprintf("%q is named without saying what it is: a scenario or a mutant", name))
		case kind == "scenario" && !e.scenarios[name], kind == "mutant" && !e.bugs[name]:
			complaints = append(complaints, fmt.Sprintf("there is no %s %s", kind, name))
		}
	}
	if named == 0 {
		complaints = append(complaints, "nothing is named that shows it")
	}
	return complaints
}

// The elector's documentation opens with what it guarantees, what it does not,
// and what its caller must do.
func TestElectorSaysWhatItGuarantees(t *testing.T) {
	text, err := os.ReadFile("elector/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var headings []string
	for _, match := range regexp.MustCompile(`(?m)^// # (.*)$`).FindAllSubmatch(text, -1) {
		headings = append(headings, string(match[1]))
	}
	want := []string{"What is guaranteed", "What is not guaranteed", "What the caller must do"}
	if len(headings) < len(want) || !slices.Equal(headings[:len(want)], want) {
		t.Errorf("package elector's documentation has the headings %q; it must open with %q", headings, want)
	}
}

// A user of the elector has one page of names to read. What only a writer of stores needs, or a
// tool, is not on it: see elector/store and elector/event.
func TestElectorHasFewNames(t *testing.T) {
	const most = 90
	names, err := exportedNames("elector")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) > most || !slices.Contains(names, "Term.Check") || !slices.Contains(names, "Config.Lease") || !slices.Contains(names, "ErrActive") {
		t.Errorf("package elector has %d names, and may have %d: %q", len(names), most, names)
	}
}

// exportedNames are those of a package, with its types' methods and fields.
func exportedNames(folder string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.FileExports(file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if prefix := receiverPrefix(n); prefix == "" || ast.IsExported(prefix) {
					names = append(names, prefix+n.Name.Name)
				}
				return false
			case *ast.ValueSpec:
				for _, id := range n.Names {
					names = append(names, id.Name)
				}
				return false
			case *ast.TypeSpec:
				names = append(names, n.Name.Name)
				for _, member := range members(n.Type) {
					names = append(names, n.Name.Name+"."+member)
				}
				return false
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names), nil // a constructor for each system is one
}

func receiverPrefix(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	return fmt.Sprint(t, ".")
}

// members are the named fields of a struct, or the methods of an interface.
func members(t ast.Expr) (names []string) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
	}
	return names
}
