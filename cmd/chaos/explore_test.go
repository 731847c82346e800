package main

import (
	"encoding/json"
	"fmt"
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

// TestExplorePath shows that replay walks a path from a file, and says that it breaks
// nothing any more, or why it cannot be walked.
func TestExplorePath(t *testing.T) {
	dir := t.TempDir()
	const path = `{"recount_explore": 1, "world": "delays", "broken": "a believes, but the store's lease is not its own", "steps": []%s}`
	for name, test := range map[string]struct {
		more   string
		status int
		want   string
	}{
		"mended":  {"", statusKept, "it does not fail any more"},
		"planted": {`, "mutant": "no-margin"`, statusUsage, "this program has none"},
	} {
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, fmt.Appendf(nil, path, test.more), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := chaos(t, t.Context(), nil, "replay", file); r.status != test.status || !strings.Contains(r.out+r.errors, test.want) {
			t.Errorf("%s: status %d\n%s%s", name, r.status, r.out, r.errors)
		}
	}
}

// TestExploreRefusesWrongArguments shows that a wrong call is refused in one line.
func TestExploreRefusesWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"nowhere"}, {"--depth", "-1"}, {"--limit", "0"}, {"--time", "-1s"}} {
		if r := chaos(t, t.Context(), nil, append([]string{"explore"}, args...)...); r.status != statusUsage || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%v: status %d\n%s%s", args, r.status, r.out, r.errors)
		}
	}
	if r := chaos(t, t.Context(), nil, "explore", "--list"); r.status != statusKept || !strings.Contains(r.out, "* loss") {
		t.Errorf("--list: status %d\n%s%s", r.status, r.out, r.errors)
	}
}
