package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExplore shows that a world walked to its end passes and one that is not is
// undecided, in 80 columns: how many states, how deep, what was seen from which
// depth, and how often each action was taken.
func TestExplore(t *testing.T) {
	r := chaos(t, t.Context(), nil, "explore", "drift", "forgetful", "--depth", "12")
	if r.status != statusUndecided || r.errors != "" {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for _, want := range []string{"drift                   a clock may stand still", "elected 3, renewed 8", "never seen", "failover and back", "not all of it", "tick "} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	for line := range strings.Lines(r.out) {
		if len([]rune(line)) > 81 {
			t.Errorf("too wide: %q", line)
		}
	}
	r = chaos(t, t.Context(), nil, "explore", "three", "--limit", "1000", "--json")
	var object struct {
		Worlds []struct {
			World, Verdict string
			States, Depth  int
			Finished       bool
		}
	}
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || len(object.Worlds) != 1 || r.status != statusUndecided {
		t.Fatalf("status %d, %v\n%s%s", r.status, err, r.out, r.errors)
	}
	if w := object.Worlds[0]; w.World != "three" || w.Verdict != "unknown" || w.States < 1000 || w.Depth == 0 || w.Finished {
		t.Errorf("%+v", w)
	}
}

// TestExploreFindsAndReplays shows that a planted bug is found by the command and
// told step by step, and that replay repeats it from the file.
func TestExploreFindsAndReplays(t *testing.T) {
	dir := t.TempDir()
	r := chaos(t, t.Context(), nil, "explore", "delays", "--mutant", "no-margin", "--out", dir)
	file := filepath.Join(dir, "explore-delays.json")
	for _, want := range []string{"after 9 actions: a believes", "  2  t=0   a's request takes effect", "a is elected with token 1", "chaos replay " + file} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	if r.status != statusBroken {
		t.Errorf("status %d", r.status)
	}
	for line := range strings.Lines(r.out) {
		if len([]rune(line)) > 81 && !strings.Contains(line, dir) {
			t.Errorf("too wide: %q", line)
		}
	}
	if r = chaos(t, t.Context(), nil, "replay", file); r.status != statusBroken || !strings.Contains(r.out, "it fails: a believes, but the store's lease is not its own") {
		t.Errorf("replay: status %d\n%s%s", r.status, r.out, r.errors)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mended := filepath.Join(dir, "mended.json")
	if err := os.WriteFile(mended, []byte(strings.Replace(string(text), "no-margin", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r = chaos(t, t.Context(), nil, "replay", mended); r.status != statusKept || !strings.Contains(r.out, "it does not fail any more") {
		t.Errorf("replay without the bug: status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestExploreIsToldWhatIsWrong shows that a wrong call is refused in one line.
func TestExploreIsToldWhatIsWrong(t *testing.T) {
	for _, args := range [][]string{{"nowhere"}, {"--mutant", "none"}, {"--depth", "-1"}, {"--limit", "0"}, {"--time", "-1s"}} {
		if r := chaos(t, t.Context(), nil, append([]string{"explore"}, args...)...); r.status != statusUsage || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%v: status %d\n%s%s", args, r.status, r.out, r.errors)
		}
	}
	if r := chaos(t, t.Context(), nil, "explore", "--list"); r.status != statusKept || !strings.Contains(r.out, "* loss") || !strings.Contains(r.out, "no-margin") {
		t.Errorf("--list: status %d\n%s%s", r.status, r.out, r.errors)
	}
}
