package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A printed scenario runs from its file as it does by name, with the command that repeats
// it; what cannot run is refused in one line.
func TestRunFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "my.yaml")
	printed := chaos(t, t.Context(), nil, "list", "--yaml", "crash-leader")
	if printed.status != statusKept {
		t.Fatalf("status %d\n%s", printed.status, printed.errors)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(printed.out)
	r := chaos(t, t.Context(), nil, "run", path, "--world", "virtual", "--seed", "1", "--out", filepath.Join(dir, "out"))
	if r.status != statusKept || !strings.Contains(r.out, "chaos run "+path+" --world virtual") {
		t.Errorf("status %d\n%s\n%s", r.status, r.out, r.errors)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", path, "steady", "--world", "virtual"}, "run them one after the other"},
		{[]string{"run", path, "--lease", "2s", "--world", "virtual"}, "is for a lease of 1s"},
		{[]string{"run", filepath.Join(dir, "none.yaml")}, "no scenario can be read"},
		{[]string{"list", "--yaml", "mixed"}, "run it by its name"},
		{[]string{"list", "--yaml", "crash-leder"}, "did you mean crash-leader"},
	} {
		if r := chaos(t, t.Context(), nil, c.args...); r.status != statusUsage || !strings.Contains(r.errors, c.want) || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%v: status %d, %q, want %s", c.args, r.status, r.errors, c.want)
		}
	}
}
