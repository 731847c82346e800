package recount_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestDocumentsNameWhatExists finds each name of our packages, each file and each block of Go
// that a page shows among those that there are.
func TestDocumentsNameWhatExists(t *testing.T) {
	root := os.DirFS(".")
	there, err := findSource(root)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for name, page := range there.pages {
		if name == "CHANGELOG.md" {
			continue // it names what has gone
		}
		complaints, n := there.judge(root, page)
		for _, c := range complaints {
			t.Errorf("%s: %s", name, c)
		}
		named += n
	}
	if named < 300 {
		t.Errorf("the pages name %d things; there are more", named)
	}
}

// TestDocumentsAreRead gives pages that name things, and what is wrong with them.
func TestDocumentsAreRead(t *testing.T) {
	for page, want := range map[string]string{
		"See `a.Thing` and `a.Thing.Do`, `a.Thing.Size` and `a.New(x)`.\n": "",
		"See `a.Nothing`.\n":                         "a.Nothing",
		"See `a.Thing.Undone`.\n":                    "a.Thing.Undone",
		"See `other.Nothing`.\n":                     "",
		"See `pkg/a/a.go`.\n":                        "",
		"See `pkg/a/b.go`.\n":                        "pkg/a/b.go",
		"See `pkg/NAME/b.go`.\n":                     "",
		"```go\nreturn Thing{}\n```":                 "",
		"```go\nfunc New(int) Thing {\n// …\n}\n```": "",
		"```go\n// before\nreturn 7\n```":            "",
		"```go\nreturn 7\n```":                       "return 7",
	} {
		root := fstest.MapFS{
			"pkg/a/a.go": {Data: []byte("package a\n\ntype Thing struct{ Size int }\n\nfunc (Thing) Do() {}\n\nfunc New(int) Thing {\n\treturn Thing{}\n}\n")},
			"docs/a.md":  {Data: []byte(page)},
		}
		there, err := findSource(root)
		if err != nil {
			t.Fatal(err)
		}
		complaints, _ := there.judge(root, there.pages["docs/a.md"])
		if got := strings.Join(complaints, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}

// source is what pages may name.
type source struct {
	names map[string]bool // as a.Thing, a.Thing.Do
	ours  map[string]bool // names of packages
	code  []string        // files, their lines without blanks around them
	pages map[string]string
}

func findSource(root fs.FS) (*source, error) {
	s := &source{names: map[string]bool{}, ours: map[string]bool{}, pages: map[string]string{}}
	wanted := func(name string) bool { return path.Ext(name) == ".go" || path.Ext(name) == ".md" }
	return s, eachFile(root, wanted, func(name string, text []byte) error {
		if path.Ext(name) == ".md" {
			s.pages[name] = string(text)
			return nil
		}
		s.code = append(s.code, "\n"+trimmed(string(text)))
		return s.declared(name, text)
	})
}

// eachFile calls see with each file that is wanted, but for what commands and tests write.
func eachFile(root fs.FS, wanted func(name string) bool, see func(name string, text []byte) error) error {
	return fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "testdata", "bin", "runs", "recount-runs"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !wanted(name):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return see(name, text)
	})
}

// declared takes in what a file declares.
func (s *source) declared(name string, text []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	of := strings.TrimSuffix(file.Name.Name, "_test")
	if of == "main" {
		of = path.Base(path.Dir(name))
	}
	if !strings.HasPrefix(name, "examples/") { // which are called like the libraries that they show
		s.ours[of] = true
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			if f.Recv == nil {
				s.names[of+"."+f.Name.Name] = true
			} else {
				s.names[of+"."+receiver(f).Name+"."+f.Name.Name] = true
			}
			continue
		}
		for _, spec := range decl.(*ast.GenDecl).Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					s.names[of+"."+n.Name] = true
				}
			case *ast.TypeSpec:
				s.names[of+"."+spec.Name.Name] = true
				ast.Inspect(spec, func(n ast.Node) bool {
					if field, ok := n.(*ast.Field); ok {
						for _, f := range field.Names {
							s.names[of+"."+spec.Name.Name+"."+f.Name] = true
						}
					}
					return true
				})
			}
		}
	}
	return nil
}

var (
	blockOfGo  = regexp.MustCompile("(?ms)^ *```go\n(.*?)^ *```")
	blockOfAny = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	namedInGo  = regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w*(?:\\.[A-Z]\\w*)?)(?:\\([^`]*\\)|{[^`]*})?`")
	namedFile  = regexp.MustCompile("`((?:[.a-z][a-z0-9._-]*/)+[a-z][a-zA-Z0-9._-]*)`")
)

// judge says what the page names and is not there, and how many things it names.
func (s *source) judge(root fs.FS, page string) (complaints []string, named int) {
	for _, m := range blockOfGo.FindAllStringSubmatch(page, -1) {
		if named++; strings.HasPrefix(m[1], "// before\n") {
			continue // the reader's own, of another library
		}
		for _, part := range regexp.MustCompile(`(?m)^\s*// …$\n?`).Split(m[1], -1) {
			if want := trimmed(part); !slices.ContainsFunc(s.code, func(file string) bool { return strings.Contains(file, "\n"+want) }) {
				complaints = append(complaints, "this code is in no file, line by line:\n"+part)
			}
		}
	}
	page = blockOfAny.ReplaceAllString(page, "")
	for _, m := range namedInGo.FindAllStringSubmatch(page, -1) {
		if named++; s.ours[m[1]] && !s.names[m[1]+"."+m[2]] {
			complaints = append(complaints, "there is no "+m[1]+"."+m[2])
		}
	}
	for _, m := range namedFile.FindAllStringSubmatch(page, -1) {
		top, _, _ := strings.Cut(m[1], "/")
		if _, err := fs.Stat(root, top); err != nil {
			continue // of another project
		}
		if named++; !regexp.MustCompile(`/v\d`).MatchString(m[1]) {
			if _, err := fs.Stat(root, m[1]); err != nil {
				complaints = append(complaints, "there is no file "+m[1])
			}
		}
	}
	return complaints, named
}

// trimmed are the lines without blanks around them, and without empty ones.
func trimmed(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		if line = strings.Join(strings.Fields(line), " "); line != "" { // comments need not be aligned
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
