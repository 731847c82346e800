package recount_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"go/version"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/recount-io/recount/internal/race"
)

// oldest is the Go that a user of the elector needs at least, and newest the one that this
// repository is developed with.
const oldest, newest = "1.25.0", "1.26.0"

// moduleRow says which modules one of ours may require, for its tests, too: all
// that stands in its go.mod gets into the build list of every module that requires it.
type moduleRow struct {
	folder string
	goLine string   // the oldest Go that compiles it
	ours   []string // modules of ours, as folders
	others []string // modules of others, as patterns; also what these require
	apart  bool     // it is no part of the workspace, and no concern of the table of imports
	heavy  bool     // it is apart, and published all the same: go.work in its folder replaces our modules, and not go.mod
	why    string
}

// modules are all modules here.
var modules = []moduleRow{
	{
		folder: ".", goLine: newest, ours: []string{"..."}, others: []string{"..."},
		why: "the harness, the commands and the examples need all sorts of things, and are linked by nobody",
	},
	{
		folder: "internal", goLine: oldest, others: slices.Concat(goRedis, []string{"pgregory.net/rapid"}),
		why: "it goes with every elector",
	},
	{
		folder: "elector", goLine: oldest, ours: []string{"internal"},
		others: slices.Concat(goRedis, []string{"golang.org/x/sys", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/alicebob/miniredis/v2", "github.com/yuin/gopher-lua"}),
		why:    "who elects on Redis gets its client, and no other library may be raised by it",
	},
	{
		folder: "elector/pgstore", goLine: oldest, ours: []string{"elector", "internal"},
		others: slices.Concat(goRedis, pgx, []string{"golang.org/x/sys", "go.uber.org/goleak", "pgregory.net/rapid"}),
		why:    "who elects on PostgreSQL gets its driver, and who does not must not",
	},
	{
		folder: "elector/prommetrics", goLine: oldest, ours: []string{"elector", "internal"},
		others: []string{"github.com/prometheus/...", "github.com/beorn7/perks", "github.com/cespare/xxhash/v2", "github.com/klauspost/compress", "github.com/munnerz/goautoneg", "golang.org/x/sys", "google.golang.org/protobuf", "go.uber.org/goleak"},
		why:    "only who asks for metrics gets Prometheus",
	},
	{
		folder: "elector/oteltrace", goLine: oldest, ours: []string{"elector", "internal"},
		others: []string{"go.opentelemetry.io/...", "github.com/cespare/xxhash/v2", "github.com/go-logr/...", "github.com/google/uuid", "golang.org/x/sys", "go.uber.org/goleak"},
		why:    "only who asks for traces gets OpenTelemetry",
	},
	{
		folder: "elector/settings", goLine: oldest, ours: []string{"elector", "elector/pgstore", "internal"},
		others: slices.Concat(goRedis, pgx, []string{"go.yaml.in/yaml/v3", "github.com/google/go-cmp", "golang.org/x/sys"}),
		why:    "settings choose a store by its URL: only who reads settings gets all of them, and YAML",
	},
	{
		folder: "elector/kubelock", goLine: oldest, ours: []string{"elector", "internal"}, apart: true, heavy: true,
		others: slices.Concat(goRedis, kubernetes, []string{"go.uber.org/goleak", "golang.org/x/..."}),
		why:    "who elects in a controller has Kubernetes' client, and nobody else must compile it, not even here",
	},
	{
		folder: "bench", goLine: newest, ours: []string{"elector", "internal"}, others: []string{"..."}, apart: true,
		why: "the libraries that the elector is measured beside must not raise what it is tested with",
	},
	{
		folder: "examples/candidates/go", goLine: newest, others: []string{"..."}, apart: true,
		why: "half of a client of Kubernetes is compiled only for who asks for it",
	},
	{
		folder: "examples/clients", goLine: newest, ours: []string{"elector", "internal"}, others: []string{"..."}, apart: true,
		why: "other Redis clients are for users who have them already, and must not raise the versions that ours are tested with",
	},
	{
		folder: "examples/controller", goLine: newest, ours: []string{"elector", "elector/kubelock", "internal"}, others: []string{"..."}, apart: true,
		why: "Kubernetes' client is compiled only for who asks for it",
	},
	{
		folder: "examples/schedulers", goLine: newest, ours: []string{"elector", "internal"}, others: []string{"..."}, apart: true,
		why: "other people's schedulers must not raise what the elector is tested with",
	},
	{
		folder: "examples/own-elector", goLine: newest, ours: []string{"elector", "elector/...", "internal"}, others: []string{"..."}, apart: true,
		why: "it is built as somebody's own module is, who has nothing of ours but by its name",
	},
	{
		folder: ".ci/release", goLine: "1.26", others: []string{"golang.org/x/mod"}, apart: true,
		why: "a tool of the house is nothing that anybody else needs",
	},
	{
		folder: ".ci/typecheck", goLine: "1.26", others: []string{"golang.org/x/..."}, apart: true,
		why: "a tool of the house is nothing that anybody else needs",
	},
}

// goRedis, pgx and kubernetes are these libraries, with what they require.
var (
	goRedis = []string{"github.com/redis/go-redis/v9", "github.com/cespare/xxhash/v2", "github.com/dgryski/go-rendezvous"}
	pgx     = []string{"github.com/jackc/...", "golang.org/x/crypto", "golang.org/x/sync", "golang.org/x/text"}

	kubernetes = []string{
		"k8s.io/...", "sigs.k8s.io/...", "github.com/go-logr/logr", "github.com/davecgh/go-spew", "github.com/emicklei/go-restful/v3", "github.com/fxamacker/cbor/v2", "github.com/go-openapi/...",
		"github.com/google/...", "github.com/josharian/intern", "github.com/json-iterator/go", "github.com/mailru/easyjson", "github.com/modern-go/...", "github.com/munnerz/goautoneg",
		"github.com/pmezard/go-difflib", "github.com/x448/float16", "go.yaml.in/yaml/...", "google.golang.org/protobuf", "gopkg.in/...",
	}
)

// apart reports whether a folder is a module apart.
func apart(folder string) bool {
	return slices.ContainsFunc(modules, func(m moduleRow) bool { return m.apart && m.folder == folder })
}

// Each module requires what the table allows it, and its files import what it
// requires. In the workspace the go command finds every package, whatever go.mod
// says; a user who imports one of the modules is not so lucky.
func TestModules(t *testing.T) {
	complaints, files, err := inspectModules(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d Go files were read: the test runs in the wrong folder, or skips too much", files)
	}
	for _, complaint := range complaints {
		t.Error(complaint)
	}
}

// Each rule about modules is seen to be broken, by one change of a tree that
// keeps them all.
func TestModulesAreSeen(t *testing.T) {
	f, err := readMod(os.DirFS("."), "elector/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	release := f.requires[module+"/internal"]
	for _, c := range []struct{ name, from, to, want string }{
		{"", "", "", ""},
		{"elector/redisstore/go.mod", "", "module x\n", "elector/redisstore is a module"},
		{"internal/go.mod", "module github.com/recount-io/recount/internal", "module x", `internal/go.mod is called "x"`},
		{"elector/go.mod", "go 1.25.0", "go 1.26.0", "elector/go.mod asks for Go 1.26.0"},
		{"elector/go.mod", "require (", "require (\n\tgithub.com/spf13/cobra v1.8.1", "elector/go.mod requires github.com/spf13/cobra"},
		{"elector/go.mod", "require (", "require (\n\tgithub.com/jackc/pgx/v5 v5.7.6 // indirect", "elector/go.mod requires github.com/jackc/pgx/v5"},
		{"elector/go.mod", "require (", "require (\n\tgithub.com/recount-io/recount/elector/pgstore " + release, "elector/go.mod requires github.com/recount-io/recount/elector/pgstore"},
		{"elector/go.mod", "require (", "replace github.com/recount-io/recount/internal => ../internal\n\nrequire (", "elector/go.mod replaces modules"},
		{"bench/go.mod", "\tgithub.com/recount-io/recount/internal => ../internal", "", "bench/go.mod does not replace"},
		{"bench/go.mod", "=> ../internal", "=> ../../internal", "bench/go.mod does not replace"},
		{"elector/kubelock/go.mod", "require (", "replace github.com/recount-io/recount/internal => ../../internal\n\nrequire (", "elector/kubelock/go.mod replaces modules"},
		{"elector/kubelock/go.work", "=> ../../internal", "=> ../internal", "elector/kubelock/go.work does not replace"},
		{"elector/go.mod", "recount/internal " + release, "recount/internal v0.0.1", "different versions"},
		{"elector/a.go", "", "package elector\nimport _ \"github.com/recount-io/recount/elector/pgstore\"", "elector/a.go imports github.com/recount-io/recount/elector/pgstore"},
		{"elector/a_test.go", "", "package elector\nimport _ \"github.com/jackc/pgx/v5/pgxpool\"", "elector/a_test.go imports github.com/jackc/pgx/v5/pgxpool"},
		{"elector/a.go", "", "package elector\nimport _ \"github.com/recount-io/recount/history\"", "elector/a.go imports github.com/recount-io/recount/history"},
		{"elector/a.go", "", "package elector\nimport _ \"github.com/cespare/xxhash/v2\"", "elector/a.go imports github.com/cespare/xxhash/v2"},
		{"elector/a.go", "", "package elector\nimport _ \"github.com/redis/go-redis/v9/maintnotifications\"", ""},
		{"elector/pgstore/a.go", "", "package pgstore\nimport _ \"github.com/recount-io/recount/elector/memstore\"", ""},
		{"bench/a.go", "", "package main\nimport _ \"example.org/x\"", ""},
		{"go.work", "\t./internal\n", "", "go.work uses"},
		{"go.work", "use (", "use (\n\t./bench", "go.work uses"},
	} {
		files := fstest.MapFS{}
		for _, name := range append(moduleFiles(), "go.work", "elector/kubelock/go.work") {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = &fstest.MapFile{Data: content}
		}
		if c.name != "" {
			var before string
			if f := files[c.name]; f != nil {
				before = string(f.Data)
			}
			if !strings.Contains(before, c.from) {
				t.Fatalf("%s does not contain %q", c.name, c.from)
			}
			files[c.name] = &fstest.MapFile{Data: []byte(strings.Replace(before, c.from, c.to, 1))}
		}
		got, _, err := inspectModules(files)
		if err != nil || c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s with %q in place of %q: complaints %q, %v; want one about %q", c.name, c.to, c.from, got, err, c.want)
		}
	}
}

// moduleFiles are the go.mod of all rows.
func moduleFiles() []string {
	var list []string
	for _, m := range modules {
		list = append(list, path.Join(m.folder, "go.mod"))
	}
	return list
}

// modFile is what is read of a go.mod.
type modFile struct {
	path, goLine string
	requires     map[string]string // module: version
	direct       []string
	replaces     map[string]string // module: folder
}

var (
	modLine     = regexp.MustCompile(`(?m)^(module|go) (\S+)$`)
	requireLine = regexp.MustCompile(`(?m)^(?:require |\t)(\S+) (v\S+)( // indirect)?$`)
	replaceLine = regexp.MustCompile(`(?m)^(?:replace |\t)(\S+) => (\S+)$`)
	useLine     = regexp.MustCompile(`(?m)^\t(\.\S*)$`) // of go.work
)

func readMod(root fs.FS, name string) (modFile, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return modFile{}, err
	}
	f := modFile{requires: map[string]string{}, replaces: map[string]string{}}
	for _, match := range modLine.FindAllStringSubmatch(string(text), -1) {
		if match[1] == "go" {
			f.goLine = match[2]
		} else {
			f.path = match[2]
		}
	}
	for _, match := range requireLine.FindAllStringSubmatch(string(text), -1) {
		f.requires[match[1]] = match[2]
		if match[3] == "" {
			f.direct = append(f.direct, match[1])
		}
	}
	for _, match := range replaceLine.FindAllStringSubmatch(string(text), -1) {
		f.replaces[match[1]] = match[2]
	}
	return f, nil
}

// inspectModules says what breaks the table, and how many Go files were read.
func inspectModules(root fs.FS) (complaints []string, read int, err error) {
	found, versions := map[string]modFile{}, map[string]bool{}
	err = fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && path.Base(name) == "go.mod" {
			found[path.Dir(name)], err = readMod(root, name)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	var used []string
	for _, m := range modules {
		f, there := found[m.folder]
		if !there {
			return nil, 0, fmt.Errorf("the folder %s is no module: there is no go.mod in it", m.folder)
		}
		if m.heavy {
			work, err := readMod(root, path.Join(m.folder, "go.work"))
			if err != nil {
				return nil, 0, err
			}
			complaints = append(complaints, m.unreplaced("go.work", f, work.replaces)...)
		}
		complaints = append(complaints, m.complaints(f)...)
		for name, version := range f.requires {
			if isOurs(name) {
				versions[version] = true
			}
		}
		if !m.apart {
			used = append(used, "./"+m.folder)
		}
	}
	for folder := range found {
		if !slices.ContainsFunc(modules, func(m moduleRow) bool { return m.folder == folder }) {
			complaints = append(complaints, fmt.Sprintf("%s is a module, and not in the table of modules_test.go: add it there, with what it may require and why", folder))
		}
	}
	if len(versions) > 1 {
		complaints = append(complaints, fmt.Sprintf("our modules require different versions of each other, and are released together: %v", slices.Sorted(maps.Keys(versions))))
	}
	uses, err := usedModules(root)
	if err != nil {
		return nil, 0, err
	}
	used[0] = "." // not "./."
	if slices.Sort(used); !slices.Equal(uses, used) {
		complaints = append(complaints, fmt.Sprintf("go.work uses %q; what is not apart is %q", uses, used))
	}
	more, read, err := inspectRequirements(root, found)
	return append(complaints, more...), read, err
}

func usedModules(root fs.FS) ([]string, error) {
	text, err := fs.ReadFile(root, "go.work")
	var uses []string
	for _, match := range useLine.FindAllStringSubmatch(string(text), -1) {
		uses = append(uses, match[1])
	}
	slices.Sort(uses)
	return uses, err
}

func isOurs(name string) bool { return match(module+"/...", name) }

// complaints compares a module with its row.
func (m *moduleRow) complaints(f modFile) (list []string) {
	name := path.Join(m.folder, "go.mod")
	if want := path.Join(module, m.folder); f.path != want {
		list = append(list, fmt.Sprintf("%s is called %q: it must be %q", name, f.path, want))
	}
	if f.goLine != m.goLine {
		list = append(list, fmt.Sprintf("%s asks for Go %s, and its row says %s: %s", name, f.goLine, m.goLine, m.why))
	}
	if len(f.replaces) > 0 && (!m.apart || m.heavy) {
		list = append(list, fmt.Sprintf("%s replaces modules: nobody could install its programs, or import it as it is tested", name))
	}
	for required := range f.requires {
		folder, own := strings.CutPrefix(required, module+"/")
		switch {
		case !own && !matchAny(m.others, required), own && !matchAny(m.ours, folder):
			list = append(list, fmt.Sprintf("%s requires %s, which it must not: %s", name, required, m.why))
		}
	}
	if m.apart && !m.heavy {
		list = append(list, m.unreplaced("go.mod", f, f.replaces)...)
	}
	return list
}

// unreplaced says which of our modules the file of a module apart does not replace.
func (m *moduleRow) unreplaced(file string, f modFile, replaces map[string]string) (list []string) {
	for required := range f.requires {
		if folder, own := strings.CutPrefix(required, module+"/"); own && matchAny(m.ours, folder) && path.Join(m.folder, replaces[required]) != folder {
			list = append(list, fmt.Sprintf("%s does not replace %s by its folder: it is in no workspace that does", path.Join(m.folder, file), required))
		}
	}
	return list
}

// inspectRequirements reads the imports of every Go file, tests too.
func inspectRequirements(root fs.FS, found map[string]modFile) (complaints []string, read int, err error) {
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (notBuilt(entry.Name()) || apart(name)):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		read++
		folder := path.Dir(name)
		for found[folder].path == "" && folder != "." {
			folder = path.Dir(folder)
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range tree.Imports {
			if imported, err := strconv.Unquote(spec.Path.Value); err == nil && !provided(found, found[folder], imported) {
				complaints = append(complaints, fmt.Sprintf("%s imports %s: its module, %s, does not require it directly", name, imported, found[folder].path))
			}
		}
		return nil
	})
	return complaints, read, err
}

// provided reports whether a file of a module may import a package, by the
// module's go.mod.
func provided(found map[string]modFile, f modFile, imported string) bool {
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	if of, own := strings.CutPrefix(imported, module+"/"); own {
		for found[of].path == "" && of != "." {
			of = path.Dir(of)
		}
		of = path.Join(module, of)
		return of == f.path || slices.Contains(f.direct, of)
	}
	return slices.ContainsFunc(f.direct, func(m string) bool { return match(m+"/...", imported) })
}

// heaviest is how many modules the build list of somebody has at most who
// imports the elector and its store in Redis: his own one, ours and those that
// they require, for their tests, too.
const heaviest = 15

// Who imports the elector and its store in Redis gets a short build list, of
// modules that the oldest Go compiles; and a project that has others already
// keeps all their versions.
func TestImportingChangesNothingElse(t *testing.T) {
	if race.Enabled {
		t.Skip("it runs the go command, and does so without the race detector")
	}
	fresh := newConsumer(t, "elector", "elector/redisstore")
	list := fresh.list(t)
	t.Logf("a fresh module: %d modules, built by %s", len(list), strings.TrimSpace(fresh.run(t, "version")))
	if len(list) > heaviest {
		t.Errorf("the build list of who imports the elector has %d modules, of at most %d:\n%s", len(list), heaviest, fresh.run(t, "list", "-m", "all"))
	}
	for name, m := range list {
		if m.goLine != "" && version.Compare("go"+m.goLine, "go"+oldest) > 0 {
			t.Errorf("%s asks for Go %s: who imports the elector would need more than %s", name, m.goLine, oldest)
		}
	}
	fresh.run(t, "build", "-o", os.DevNull, ".")

	for _, c := range []struct{ pgx, prometheus, cobra, imports string }{
		{"v5.7.0", "v1.20.0", "v1.8.0", "elector elector/redisstore"},
		{"v5.7.6", "v1.20.5", "v1.8.1", "elector/redisstore elector/pgstore elector/prommetrics elector/settings"},
	} {
		project := newConsumer(t)
		project.require("github.com/jackc/pgx/v5/pgxpool", "github.com/jackc/pgx/v5", c.pgx)
		project.require("github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_golang", c.prometheus)
		project.require("github.com/spf13/cobra", "github.com/spf13/cobra", c.cobra)
		before := project.list(t)
		for p := range strings.FieldsSeq(c.imports) {
			project.imports = append(project.imports, path.Join(module, p))
		}
		after := project.list(t)
		t.Logf("a project: %d modules before, %d with %s", len(before), len(after), c.imports)
		for name, m := range before {
			if got := after[name].version; got != m.version {
				t.Errorf("with %s a project gets %s %s in place of %s", c.imports, name, got, m.version)
			}
		}
		if len(before) < 20 || after[module+"/elector"].version == "" {
			t.Errorf("the build lists are not those of such a project: %d and %d modules", len(before), len(after))
		}
	}
}
