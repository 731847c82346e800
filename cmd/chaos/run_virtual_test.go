package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios"
)

// TestRunVirtual shows that the whole catalogue runs in virtual time, with the
// reports of the live world, which name the world; and that nothing is opened
// for it, whatever RECOUNT_REDIS says.
func TestRunVirtual(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	dir := t.TempDir()
	env := map[string]string{"RECOUNT_REDIS": "redis://127.0.0.1:1/0"}
	r := chaos(t, t.Context(), env, "run", "all", "--world", "virtual", "--seed", "1", "--json", "--out", dir)
	if r.status != statusKept {
		t.Fatalf("status %d\n%s\n%s", r.status, r.out, r.errors)
	}
	var object struct {
		Runs []struct{ Verdict, World, Redis, Scenario, Repro string } `json:"runs"`
	}
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || len(object.Runs) != len(scenarios.All()) {
		t.Fatalf("%d runs, %v", len(object.Runs), err)
	}
	for _, run := range object.Runs {
		if run.Verdict != "pass" || run.World != "virtual" || run.Redis != "virtual" || run.Repro != "chaos run "+run.Scenario+" --world virtual --subject recount --seed 1 --lease 1s" {
			t.Errorf("%+v", run)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "crash-leader", "report.html"))
	if err != nil || !strings.Contains(string(page), "virtual world · seed 1") {
		t.Errorf("the report does not say which world it was: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "crash-leader", "logs")); err == nil {
		t.Error("a folder for logs, and nobody logs")
	}
	if again := chaos(t, t.Context(), nil, "report", dir); again.status != statusKept {
		t.Errorf("report: status %d\n%s", again.status, again.errors)
	}
}

// TestVirtualRepeats shows that the command which a run prints gives the same
// files, to the byte, and the summary fits the terminal with the world in it.
func TestVirtualRepeats(t *testing.T) {
	duration := "20m0s"
	if race.Enabled {
		duration = "4m0s"
	}
	var files [2]map[string]string
	for i := range files {
		dir := t.TempDir()
		r := chaos(t, t.Context(), nil, "run", "crash-leader", "mixed", "--world", "virtual", "--seed", "3", "--lease", "10s", "--duration", duration, "--out", dir)
		if r.status != statusKept || !strings.Contains(r.out, "recount, virtual") {
			t.Fatalf("status %d\n%s\n%s", r.status, r.out, r.errors)
		}
		if !strings.Contains(r.out, "chaos run crash-leader mixed --world virtual --subject recount --seed 3 --lease 10s --duration "+duration) {
			t.Errorf("the command that repeats it is missing:\n%s", r.out)
		}
		files[i] = contents(t, dir)
	}
	if !maps.Equal(files[0], files[1]) || len(files[0]) < 10 {
		t.Errorf("%d and %d files differ", len(files[0]), len(files[1]))
	}
}

// contents reads all files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestListNamesWorlds shows that the worlds are listed, each with a line.
func TestListNamesWorlds(t *testing.T) {
	var all listing
	if err := json.Unmarshal([]byte(chaos(t, t.Context(), nil, "list", "--json").out), &all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range all.Worlds {
		names = append(names, w.Name)
		if w.Summary == "" {
			t.Errorf("%s has no line", w.Name)
		}
	}
	if !slices.Equal(names, []string{"live", "containers", "virtual", "bubble", "both"}) {
		t.Errorf("worlds: %v", names)
	}
}
