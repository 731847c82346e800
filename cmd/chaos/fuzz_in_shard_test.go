package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestMergeOfSearch shows a campaign of a space: its shards go on after a failure, the merge
// names the missing shard, and the merged failure is a file that replay repeats.
func TestMergeOfSearch(t *testing.T) {
	dir := t.TempDir()
	for _, shard := range []string{"1/3", "3/3"} {
		r := chaos(t, t.Context(), nil, "fuzz", "--in", "leanings", "--seed", "2", "--cases", "50", "--shard", shard, "--out", dir)
		if r.status != statusKept || !strings.Contains(r.out, "Shard "+shard+" is in "+dir) || !strings.Contains(r.out, "stands straight is broken") {
			t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
		}
	}
	r := chaos(t, t.Context(), nil, "merge", dir, "--out", filepath.Join(dir, "merged"))
	for _, want := range []string{
		"33 cases in ", " s of a processor", "2 of 3 shards came back", "--seed 2 --cases 50 --shard 1/1",
		"Missing: 2; each is run by: chaos fuzz --in leanings --seed 2 --cases 50 --shard i/3",
	} {
		if r.status != statusBroken || !strings.Contains(r.out, want) {
			t.Errorf("status %d, and %q is not in\n%s%s", r.status, want, r.out, r.errors)
		}
	}
	refused := chaos(t, t.Context(), nil, "merge", dir, "--cover", "0.5", "--out", filepath.Join(dir, "covered"))
	if refused.status != statusUsage || !strings.Contains(refused.errors, "--cover is for a campaign of plans: leave it out") {
		t.Errorf("a share of a map that there is not: status %d\n%s%s", refused.status, refused.out, refused.errors)
	}
	r = chaos(t, t.Context(), nil, "merge", dir, "--json", "--out", filepath.Join(dir, "json"))
	var object struct {
		searchObject
		mergeObject
	}
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || object.Cases != 33 || object.Kind != "search" || len(object.Failures) != 1 || len(object.Missing) != 1 {
		t.Fatalf("%v\n%s", err, r.out)
	}
	again := chaos(t, t.Context(), nil, "replay", object.Failures[0].File)
	if again.status != statusBroken || !strings.Contains(again.out, "stands straight is broken") {
		t.Errorf("status %d\n%s%s", again.status, again.out, again.errors)
	}
}
