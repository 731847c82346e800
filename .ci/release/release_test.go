package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// project is a small one with our names: the commands, and modules that ask for each other.
var project = map[string]string{
	"go.work": `go 1.25.0

use (
	.
	./elector
	./internal
)

replace (
	github.com/recount-io/recount/elector v0.1.0 => ./elector
	github.com/recount-io/recount/internal v0.1.0 => ./internal
)
`,
	"go.mod":                   "module github.com/recount-io/recount\n\ngo 1.25.0\n\nrequire github.com/recount-io/recount/elector v0.1.0\n\nrequire github.com/recount-io/recount/internal v0.1.0 // indirect\n",
	"elector/go.mod":           "module github.com/recount-io/recount/elector\n\ngo 1.25.0\n\nrequire github.com/recount-io/recount/internal v0.1.0\n",
	"internal/go.mod":          "module github.com/recount-io/recount/internal\n\ngo 1.25.0\n",
	"bench/go.mod":             "module github.com/recount-io/recount/bench\n\ngo 1.25.0\n\nrequire github.com/recount-io/recount/elector v0.1.0\n\nreplace github.com/recount-io/recount/elector => ../elector\n",
	"elector/kubelock/go.mod":  "module github.com/recount-io/recount/elector/kubelock\n\ngo 1.25.0\n\nrequire github.com/recount-io/recount/elector v0.1.0\n\nrequire github.com/recount-io/recount/internal v0.1.0 // indirect\n",
	"elector/kubelock/go.work": "go 1.25.0\n\nuse .\n\nreplace (\n\tgithub.com/recount-io/recount/elector => ..\n\tgithub.com/recount-io/recount/internal => ../../internal\n)\n",
	"elector/kubelock/a.go":    "package kubelock\n\nimport \"github.com/recount-io/recount/elector\"\n\nconst A = elector.A\n",
	"internal/a.go":            "package internal\n\nconst A = 1\n",
	"elector/a.go":             "package elector\n\nimport \"github.com/recount-io/recount/internal\"\n\nconst A = internal.A\n",
	"cmd/elect/main.go":        "package main\n\nimport \"github.com/recount-io/recount/elector\"\n\nfunc main() { println(\"elect\", elector.A) }\n",
	"cmd/chaos/main.go":        "package main\n\nfunc main() { println(\"chaos\") }\n",
	"LICENSE":                  "free\n",
	"docs/action.md":           "uses: recount-io/recount/deploy/action@v0.1.0\n",
	"CHANGELOG.md":             "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Something.\n- More.\n\n[Unreleased]: https://github.com/recount-io/recount/commits/main\n",
	"elector/ignored.md":       "",
}

// scratch is a repository with the project, or the options of a release of it.
func scratch(t *testing.T) (repository, *options) {
	t.Helper()
	r := repository(t.TempDir())
	for name, text := range project {
		write(t, filepath.Join(string(r), name), text)
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"config", "user.name", "T"}, {"config", "user.email", "t@example.org"}, {"add", "."}, {"commit", "--quiet", "--message", "first"}} {
		git(t, r, args...)
	}
	others := []string{"linux/arm64", runtime.GOOS + "/" + runtime.GOARCH}
	return r, &options{root: string(r), version: "v0.2.0", out: t.TempDir(), check: "test -e go.work", targets: others, now: time.Date(2026, 7, 1, 23, 0, 0, 0, time.UTC), say: io.Discard}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, r repository, args ...string) string {
	t.Helper()
	out, err := r.git(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// state is what a release that is dry, or refused, must not change.
func state(t *testing.T, r repository) string {
	t.Helper()
	return git(t, r, "log", "--format=%H") + git(t, r, "tag", "--list") + git(t, r, "status", "--porcelain")
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A dry release builds everything and changes nothing, and the same bytes each time. One that is
// published adds the commit and a tag for each module, from which Go builds that version.
func TestRelease(t *testing.T) {
	r, o := scratch(t)
	before := state(t, r)
	sums := func() string {
		if err := o.run(); err != nil {
			t.Fatal(err)
		}
		return string(read(t, filepath.Join(o.out, o.version, "SHA256SUMS")))
	}
	first := sums()
	if after := state(t, r); after != before {
		t.Errorf("a dry release changed the repository from\n%sto\n%s", before, after)
	}
	inspectFiles(t, filepath.Join(o.out, o.version), first)
	var said bytes.Buffer
	o.publish, o.say = true, &said
	if second := sums(); second != first {
		t.Errorf("the files differ when they are built again:\n%s\n%s", first, second)
	}
	if want := "git push --atomic origin main internal/v0.2.0 elector/v0.2.0 elector/kubelock/v0.2.0 v0.2.0\n"; !strings.Contains(said.String(), want) {
		t.Errorf("it says\n%s\nwant %q in it", said.String(), want)
	}
	if got := git(t, r, "tag", "--list", "--points-at", "HEAD"); got != "elector/kubelock/v0.2.0\nelector/v0.2.0\ninternal/v0.2.0\nv0.2.0" {
		t.Errorf("the tags are %q", got)
	}
	if got := git(t, r, "status", "--porcelain"); got != "" {
		t.Errorf("the tree is not that of the commit: %s", got)
	}
	for name, text := range project {
		want := strings.ReplaceAll(text, "v0.1.0", "v0.2.0")
		if name == "CHANGELOG.md" {
			want = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-07-01\n\n### Added\n\n- Something.\n- More.\n\n[Unreleased]: https://github.com/recount-io/recount/compare/v0.2.0...main\n[0.2.0]: https://github.com/recount-io/recount/releases/tag/v0.2.0\n"
		}
		if got := read(t, filepath.Join(string(r), name)); string(got) != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	if got, want := string(read(t, filepath.Join(o.out, "v0.2.0-notes.md"))), "### Added\n\n- Something.\n- More.\n"; got != want {
		t.Errorf("the notes are %q, want %q", got, want)
	}
}

// inspectFiles looks at what a release of the project offers.
func inspectFiles(t *testing.T, folder, sums string) {
	t.Helper()
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = folder
	if out, err := check.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("the sums: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != strings.Count(sums, "\n")+1 {
		t.Errorf("%d files and the sums\n%s, %v", len(files), sums, err)
	}
	here := fmt.Sprintf("_v0.2.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	for program, says := range map[string]string{"elect": "elect 1\n", "chaos": "chaos\n"} {
		unpacked := unpack(t, filepath.Join(folder, program+here))
		if got := slices.Sorted(maps.Keys(unpacked)); !slices.Equal(got, []string{"LICENSE", program}) {
			t.Errorf("the archive of %s has %q", program, got)
		}
		file := filepath.Join(t.TempDir(), program)
		if err := os.WriteFile(file, unpacked[program], 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), file).CombinedOutput(); err != nil || string(out) != says {
			t.Errorf("%s says %q, %v", program, out, err)
		}
		image := string(read(t, filepath.Join(folder, program+".Dockerfile")))
		if want := "\nADD " + program + "_v0.2.0_linux_${TARGETARCH}.tar.gz /\n"; !strings.Contains(image, want) || !strings.Contains(image, "\nFROM scratch\n") {
			t.Errorf("the recipe of %s is\n%s", program, image)
		}
	}
	var list bom
	decoder := json.NewDecoder(bytes.NewReader(read(t, filepath.Join(folder, "recount_v0.2.0.cdx.json"))))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		t.Fatal(err)
	}
	const stem = "pkg:golang/github.com/recount-io/recount"
	needs := map[string][]string{}
	for _, d := range list.Dependencies {
		needs[d.Ref] = d.On
	}
	std := "pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go")
	if got, want := needs["elect"+here], []string{stem + "@v0.2.0", std, stem + "/elector@v0.2.0", stem + "/internal@v0.2.0"}; !slices.Equal(got, want) {
		t.Errorf("elect is made of %q, want %q", got, want)
	}
	for _, c := range list.Components {
		switch {
		case c.Type == "application" && !strings.Contains(sums, c.Hashes[0].Content+"  "+c.Name+"\n"):
			t.Errorf("the sum of %s is not %s", c.Name, c.Hashes[0].Content)
		case c.Ref == stem+"/elector@v0.2.0" && (len(c.Properties) != 1 || !strings.HasPrefix(c.Properties[0].Value, "h1:")):
			t.Errorf("%s has no sum: %+v", c.Name, c)
		}
	}
	if len(list.Components) != 7 || list.Metadata.Component.Ref != stem+"@v0.2.0" { // four archives, two modules, the standard library
		t.Errorf("%d components of %s", len(list.Components), list.Metadata.Component.Ref)
	}
}

// unpack returns the files of an archive.
func unpack(t *testing.T, file string) map[string][]byte {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(zipped); ; {
		head, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[head.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// A release is refused, and nothing is changed, if the tree, the version, the changelog, a module
// or the checks are not fit for it.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, r repository, o *options)
		want    string
	}{
		{"file that is not committed", func(t *testing.T, r repository, _ *options) { write(t, filepath.Join(string(r), "new"), "") }, "the tree is not clean (?? new)"},
		{"no version", func(_ *testing.T, _ repository, o *options) { o.version = "" }, `-version is ""`},
		{"word", func(_ *testing.T, _ repository, o *options) { o.version = "latest" }, `-version is "latest"`},
		{"without v", func(_ *testing.T, _ repository, o *options) { o.version = "0.2.0" }, `-version is "0.2.0"`},
		{"short", func(_ *testing.T, _ repository, o *options) { o.version = "v0.2" }, `-version is "v0.2"`},
		{"build metadata", func(_ *testing.T, _ repository, o *options) { o.version = "v0.2.0+x" }, `-version is "v0.2.0+x"`},
		{"other paths", func(_ *testing.T, _ repository, o *options) { o.version = "v2.0.0" }, "do not end in /v2"},
		{"same version", func(t *testing.T, r repository, _ *options) { git(t, r, "tag", "v0.2.0") }, "there is the tag v0.2.0"},
		{"smaller", func(t *testing.T, r repository, _ *options) { git(t, r, "tag", "v0.10.0") }, "there is the tag v0.10.0"},
		{"tag of one module", func(t *testing.T, r repository, _ *options) { git(t, r, "tag", "elector/v0.2.0") }, "there is the tag elector/v0.2.0"},
		{"candidate for what is released", func(t *testing.T, r repository, o *options) { o.version = "v0.2.0-rc.1"; git(t, r, "tag", "v0.2.0") }, "there is the tag v0.2.0"},
		{"no entries", func(t *testing.T, r repository, _ *options) {
			edit(t, r, "CHANGELOG.md", "- Something.\n- More.\n", "\n## [0.1.0] - 2026-01-01\n\n- Old.\n")
		}, "CHANGELOG.md: it has no entry"},
		{"no section", func(t *testing.T, r repository, _ *options) { edit(t, r, "CHANGELOG.md", "## [Unreleased]", "## New") }, "it must have the heading"},
		{"a replaced module", func(t *testing.T, r repository, _ *options) {
			edit(t, r, "go.mod", "\ngo 1.25.0\n", "\ngo 1.25.0\n\nreplace example.org/x => ./x\n")
		}, "must not replace"},
		{"a failing check", func(_ *testing.T, _ repository, o *options) { o.check = "echo broken; exit 3" }, "exit status 3; see "},
		{"a module that does not build", func(t *testing.T, r repository, _ *options) { edit(t, r, "elector/a.go", "internal.A", "internal.B") }, "undefined: internal.B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, o := scratch(t)
			o.publish, o.targets = true, o.targets[1:]
			c.prepare(t, r, o)
			before := state(t, r)
			err := validate(o.version)
			if err == nil {
				err = o.run()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
			if after := state(t, r); after != before {
				t.Errorf("the repository was changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// edit commits a change of a file.
func edit(t *testing.T, r repository, name, from, to string) {
	t.Helper()
	file := filepath.Join(string(r), name)
	text := string(read(t, file))
	if !strings.Contains(text, from) {
		t.Fatalf("%s has no %q", name, from)
	}
	write(t, file, strings.Replace(text, from, to, 1))
	git(t, r, "commit", "--quiet", "--all", "--message", "change")
}

// A section in front of older ones gets its version, and older ones and their links stay.
func TestDatedKeepsOlderReleases(t *testing.T) {
	const text = "# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n\n[Unreleased]: https://github.com/recount-io/recount/compare/v0.1.0...main\n[0.1.0]: https://github.com/recount-io/recount/releases/tag/v0.1.0\n"
	const want = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-07-01\n\n- New.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n\n[Unreleased]: https://github.com/recount-io/recount/compare/v0.2.0...main\n[0.2.0]: https://github.com/recount-io/recount/releases/tag/v0.2.0\n[0.1.0]: https://github.com/recount-io/recount/releases/tag/v0.1.0\n"
	got, notes, err := dated([]byte(text), "v0.2.0", time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))
	if err != nil || string(got) != want || notes != "- New.\n" {
		t.Errorf("the changelog is\n%s\nwant\n%s\nthe notes are %q; %v", got, want, notes, err)
	}
}
