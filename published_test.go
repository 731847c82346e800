package recount_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/race"
)

// A user with Go and a proxy of modules can install both commands, import a package of each
// module, and compile what the README shows. The proxy serves what a release would publish.
func TestPublished(t *testing.T) {
	if os.Getenv("CI") == "" || race.Enabled {
		t.Skip("it compiles everything anew, so only CI runs it: CI=true go test -run TestPublished .")
	}
	proxy := t.TempDir()
	version := fmt.Sprintf("v0.1.1-test.%d", time.Now().UnixNano()) // no two tests share one in the cache of modules
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	tool := &consumer{folder: filepath.Join(here, ".ci", "release")}
	upstream := strings.TrimSpace(tool.run(t, "env", "GOPROXY"))
	cache := strings.TrimSpace(tool.run(t, "env", "GOMODCACHE"))
	tool.run(t, "run", ".", "-version", version, "-proxy", proxy)

	bin := t.TempDir()
	outsider := newConsumer(t, "elector", "elector/redisstore", "elector/pgstore", "elector/prommetrics", "elector/oteltrace", "elector/settings", "scenarios/chaostest")
	outsider.published = version
	outsider.env = []string{"GOPROXY=file://" + proxy + "," + upstream, "GONOSUMDB=" + module + "," + module + "/*", "GOBIN=" + bin}
	t.Cleanup(func() { forget(t, cache, version) })
	for command, says := range map[string]string{"elect": "Usage:", "chaos": "Usage:"} {
		outsider.run(t, "install", module+"/cmd/"+command+"@"+version)
		said, err := exec.CommandContext(t.Context(), filepath.Join(bin, command), "help").CombinedOutput()
		if err != nil || !strings.Contains(string(said), says) {
			t.Errorf("%s help: %v\n%s", command, err, said)
		}
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, snippet := range goBlocks(string(readme)) {
		outsider.file(t, fmt.Sprintf("readme%d/main.go", i), snippet)
	}
	outsider.list(t)
	outsider.run(t, "build", "-o", os.DevNull, "./...")

	// Kubernetes' client is not compiled here, only looked for.
	controller := newConsumer(t, "elector/kubelock")
	controller.published, controller.env = version, outsider.env
	controller.list(t)
	controller.run(t, "list", "-deps", ".")
}

// forget removes what the cache of modules has of that version.
func forget(t *testing.T, cache, version string) {
	for _, folder := range []string{"", "cache/download"} {
		root := filepath.Join(cache, folder, filepath.FromSlash("github.com/recount-io"))
		for _, pattern := range []string{"*@" + version, "*/*@" + version, "*/*/*@" + version, "*/@v/" + version + "*", "*/*/@v/" + version + "*", "*/*/*/@v/" + version + "*"} {
			found, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				t.Error(err)
			}
			for _, path := range found {
				if err := os.RemoveAll(path); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

var (
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
	// used are the packages that the README's code uses, by what it calls them.
	used = map[string]string{
		"context": "context", "log": "log", "redis": "github.com/redis/go-redis/v9",
		"elector": module + "/elector", "redisstore": module + "/elector/redisstore",
	}
)

// goBlocks are programs made of the Go that a page shows: the body of a function that has a
// context, and something to do.
func goBlocks(page string) (programs []string) {
	for _, match := range goBlock.FindAllStringSubmatch(page, -1) {
		if source, err := os.ReadFile("examples/own-elector/elector_test.go"); err == nil && strings.Contains(string(source), match[1]) {
			continue // it is compiled there
		}
		var imports strings.Builder
		for name, path := range used {
			if name == "context" || regexp.MustCompile(`\b`+name+`\.`).MatchString(match[1]) {
				fmt.Fprintf(&imports, "\t%q\n", path)
			}
		}
		programs = append(programs, fmt.Sprintf("package main\n\nimport (\n%s)\n\nfunc bill(context.Context, uint64) {}\n\nfunc lead(ctx context.Context) (err error) {\n%s\treturn err\n}\n\nfunc main() { _ = lead(context.Background()) }\n", imports.String(), match[1]))
	}
	return programs
}

// consumer is a module somewhere else that imports ours.
type consumer struct {
	folder    string
	imports   []string
	requires  []string // "module version"
	published string   // version of ours that a proxy has; empty: ours are those here
	env       []string
}

func newConsumer(t *testing.T, packages ...string) *consumer {
	c := &consumer{folder: t.TempDir()}
	for _, p := range packages {
		c.imports = append(c.imports, path.Join(module, p))
	}
	return c
}

func (c *consumer) require(imported, of, version string) {
	c.imports, c.requires = append(c.imports, imported), append(c.requires, of+" "+version)
}

// listed is a module of a build list.
type listed struct{ version, goLine string }

// list writes the module anew, tidies it, and returns its build list.
func (c *consumer) list(t *testing.T) map[string]listed {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	var mod, code bytes.Buffer
	fmt.Fprintf(&mod, "module example.org/consumer\n\ngo %s\n\n", oldest)
	for _, r := range c.requires {
		fmt.Fprintf(&mod, "require %s\n", r)
	}
	for _, folder := range []string{"elector", "elector/pgstore", "elector/prommetrics", "elector/settings", "internal"} {
		if c.published == "" {
			fmt.Fprintf(&mod, "replace %s => %s\n", path.Join(module, folder), filepath.Join(here, folder))
		} else {
			fmt.Fprintf(&mod, "require %s %s\n", path.Join(module, folder), c.published)
		}
	}
	fmt.Fprint(&code, "package main\n\nimport (\n")
	for _, imported := range c.imports {
		fmt.Fprintf(&code, "\t_ %q\n", imported)
	}
	fmt.Fprint(&code, ")\n\nfunc main() {}\n")
	c.file(t, "go.mod", mod.String())
	c.file(t, "main.go", code.String())
	c.run(t, "mod", "tidy")
	list := map[string]listed{}
	for line := range strings.Lines(c.run(t, "list", "-m", "-f", "{{.Path}}|{{.Version}}|{{.GoVersion}}", "all")) {
		if words := strings.Split(strings.TrimSpace(line), "|"); len(words) == 3 {
			list[words[0]] = listed{words[1], words[2]}
		}
	}
	return list
}

func (c *consumer) file(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(c.folder, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// unreachable is what the go command says when it cannot get at the proxy of
// modules.
var unreachable = regexp.MustCompile(`dial tcp|no such host|connection refused|network is unreachable|i/o timeout|TLS handshake timeout|GOPROXY=off`)

// run runs the go command in the module's folder. The oldest Go takes its place
// where RECOUNT_OLDEST_GO is set: the go command fetches it as it does a module.
func (c *consumer) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = c.folder
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod -modcacherw"), c.env...)
	if os.Getenv("RECOUNT_OLDEST_GO") != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN=go"+oldest)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	switch {
	case err != nil && unreachable.Match(said.Bytes()):
		t.Skipf("the proxy of modules cannot be reached, so nobody here can import anything anew: %s", said.String())
	case err != nil:
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return string(out)
}
