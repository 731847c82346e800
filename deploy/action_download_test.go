package deploy_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// releases serves what is published of releases, by "version/file".
func releases(t *testing.T, files map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, is := files[strings.TrimPrefix(r.URL.Path, "/")]
		if !is {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(content)) // who broke the connection off knows
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// packed is an archive with a program in it.
func packed(t *testing.T, program, text string) string {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	w := tar.NewWriter(zipped)
	if err := w.WriteHeader(&tar.Header{Name: program, Mode: 0o755, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.String()
}

func sumOf(content, file string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), file)
}

// The action takes chaos from the release that it is told, or that it is itself of, for the system
// that it runs on, if the archive has the published sum. Without a release chaos is built from source.
func TestActionDownloads(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the action's machines have curl, and this one has not")
	}
	const version, linux, mac = "v0.2.0", "chaos_v0.2.0_linux_amd64.tar.gz", "chaos_v0.2.0_darwin_arm64.tar.gz"
	onLinux, onMac := packed(t, "chaos", "#!/bin/sh\necho linux\n"), packed(t, "chaos", "#!/bin/sh\necho mac\n")
	sums := sumOf("other", "elect_v0.2.0_linux_amd64.tar.gz") + sumOf(onLinux, linux) + sumOf(onMac, mac)
	published := map[string]string{version + "/SHA256SUMS": sums, version + "/" + linux: onLinux, version + "/" + mac: onMac}
	with := func(file, content string) map[string]string {
		changed := maps.Clone(published)
		changed[version+"/"+file] = content
		return changed
	}
	for _, c := range []struct {
		name, version, ref, runner string
		files                      map[string]string
		status                     int
		chaos, from                string // the text of chaos, and the output
	}{
		{"version", version, "main", "Linux X64", published, 0, "linux", "release"},
		{"version of the action", "", version, "Linux X64", published, 0, "linux", "release"},
		{"version before that of the action", version, "v0.3.0", "macOS ARM64", published, 0, "mac", "release"},
		{"branch", "", "main", "Linux X64", published, 0, "", "source"},
		{"commit", "", "0c5c6ea6f00cd0dd1f0d6a7b8d6d87c7f50c2f3e", "Linux X64", published, 0, "", "source"},
		{"major version", "", "v0", "Linux X64", published, 0, "", "source"},
		{"no release", "v0.9.9", "main", "Linux X64", published, 22, "", ""},
		{"no version", "../v0.2.0", "main", "Linux X64", published, 1, "", ""},
		{"other system", version, "main", "Windows X64", published, 1, "", ""},
		{"another archive", version, "main", "Linux X64", with(linux, onMac), 1, "", ""},
		{"no sum", version, "main", "Linux X64", with("SHA256SUMS", sumOf(onMac, mac)), 1, "", ""},
		{"damaged sums", version, "main", "Linux X64", with("SHA256SUMS", "not a sum  "+linux+"\n"), 1, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkflow(t)
			system, machine, _ := strings.Cut(c.runner, " ")
			for name, value := range map[string]string{"RUNNER_OS": system, "RUNNER_ARCH": machine, "RECOUNT_RELEASES": releases(t, c.files)} {
				t.Setenv(name, value)
			}
			maps.Copy(w.inputs, map[string]string{"version": c.version, "github.action_ref": c.ref})
			w.step("download", c.status)
			chaos, err := os.ReadFile(filepath.Join(w.temp, "chaos"))
			if c.chaos == "" && err == nil || c.chaos != "" && !strings.Contains(string(chaos), c.chaos) {
				t.Errorf("chaos is %q, %v; want %q", chaos, err, c.chaos)
			}
			if c.from == "" {
				return
			}
			if got := w.read("output"); got != "from="+c.from+"\n" {
				t.Errorf("the outputs are %q, want that it is from %s", got, c.from)
			}
		})
	}
	a, _ := readAction(actionText(t))
	for _, step := range a.Runs.Steps {
		if builds := step.ID == "build" || strings.HasPrefix(step.Uses, "actions/setup-go"); builds != (step.If == "steps.download.outputs.from == 'source'") {
			t.Errorf("the step %q%q is taken if %q", step.ID, step.Uses, step.If)
		}
	}
}
