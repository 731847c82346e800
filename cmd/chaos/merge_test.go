package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/scenarios/mutants"
)

// campaignSummary says what chaos merge --json tells of shards.
func campaignSummary(object map[string]any) string {
	return fmt.Sprintf("%v shards, missing %v, repeated %v, disputed %v", object["shards"], object["missing"], object["repeated"], object["disputed"])
}

// shardOf runs a shard of a small campaign into a folder and returns its file.
func shardOf(t *testing.T, dir, shard string, args ...string) string {
	t.Helper()
	args = append([]string{"fuzz", "--seed", "3", "--cases", "300", "--shard", shard, "--out", dir}, args...)
	r := chaos(t, t.Context(), nil, args...)
	path := filepath.Join(dir, "shard-"+strings.Replace(shard, "/", "-of-", 1)+".json")
	if r.status != statusKept || !strings.Contains(r.out, path) {
		t.Fatalf("%v: status %d\n%s%s", args, r.status, r.out, r.errors)
	}
	return path
}

// TestMerge shows a campaign of two shards, of which one is missing: the text names what is missing, the confidence is that of what came back, the page
// is there, and what is merged is merged again to the same.
func TestMerge(t *testing.T) {
	withGoAlone(t)
	dir := t.TempDir()
	one := shardOf(t, dir, "1/2")
	r := chaos(t, t.Context(), nil, "merge", one, one, "--out", filepath.Join(dir, "half"))
	if r.status != statusKept {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for _, want := range []string{
		"256 schedules in ", " s of a processor", "1 of 2 shards came back", "Missing: 2; each is run by: chaos fuzz --subject recount --seed 3 --cases 300 --shard i/2",
		"Repeated, and counted once: 1", "1 in 85 ", "--cases 300 --shard 1/1\n", "pause-before-write",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "half", "fuzz.html")); err != nil {
		t.Error(err)
	}
	shardOf(t, dir, "2/2")
	r = chaos(t, t.Context(), nil, "merge", dir, filepath.Join(dir, "half", campaignFile), "--cover", "0.9", "--out", filepath.Join(dir, "whole"))
	if r.status != statusUndecided || !strings.Contains(r.out, "2 of 2 shards came back") || !strings.Contains(r.out, "--cover asks for 90 %") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestMergeDisputed shows that a shard that has come back with another result than
// before is named, and leaves the campaign undecided.
func TestMergeDisputed(t *testing.T) {
	withGoAlone(t)
	dir := t.TempDir()
	path := shardOf(t, dir, "1/1")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, []byte(strings.Replace(string(text), `"schedules":300,"faults"`, `"schedules":301,"faults"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := chaos(t, t.Context(), nil, "merge", path, other, "--out", filepath.Join(dir, "both"))
	if r.status != statusUndecided || !strings.Contains(r.out, "one program must not give: 1") || !strings.Contains(r.out, "300 schedules") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestMergeOfTrial shows that the shards of a trial fill the table that the trial
// without shards makes, with what shows each broken promise; and that cells of a
// missing shard are undecided.
func TestMergeOfTrial(t *testing.T) {
	dir := t.TempDir()
	args := []string{"trial", "recount", "titan", "--world", "virtual", "--virtual-runs", "2", "--scenario", "pause-leader", "--scenario", "crash-leader", "--seed", "5"}
	run := func(more ...string) result {
		t.Helper()
		return chaos(t, t.Context(), nil, append(append([]string{}, args...), more...)...)
	}
	for i := range 3 {
		if r := run("--shard", fmt.Sprintf("%d/3", i+1), "--out", filepath.Join(dir, "shards")); r.status != statusKept {
			t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
		}
	}
	whole := run("--out", filepath.Join(dir, "whole"), "--shrink", "1m")
	r := chaos(t, t.Context(), nil, "merge", filepath.Join(dir, "shards"), "--out", filepath.Join(dir, "merged"))
	if r.status != whole.status || r.status != statusBroken || !strings.Contains(r.out, "3 of 3 shards came back") {
		t.Errorf("status %d, without shards %d\n%s%s", r.status, whole.status, r.out, r.errors)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name, "trial.md"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), filepath.Join(dir, name), "")
	}
	if got, want := read("merged"), read("whole"); got != want {
		t.Errorf("the shards fill\n%s\nand without any it is\n%s", got, want)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "merged", "titan", "pause-leader", "virtual-*", "report.html")); len(files) != 1 {
		t.Errorf("nothing shows what is broken: %v", files)
	}
	r = chaos(t, t.Context(), nil, "merge", filepath.Join(dir, "shards", "shard-1-of-3.json"), "--out", filepath.Join(dir, "less"))
	if r.status == statusKept || !strings.Contains(r.out, "Missing: 2-3") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestMergeOfMutants shows that the shards of a hunt for mutants come to a table, and
// that a mutant which ought to be found and was not breaks it.
func TestMergeOfMutants(t *testing.T) {
	dir := t.TempDir()
	names := []string{"guard-keeps-first", "memory-has-one-fence"}
	for i, name := range names {
		shard := campaign.Shard{Index: i + 1, Of: 2}
		plan := campaign.Plan{Kind: campaign.Mutants, Command: "chaos mutants hunt", Program: "v1"}
		measured := map[string]mutants.Measured{name: {World: "guards", Promise: "FencedWrites", Cases: 7, Seconds: 0.5}}
		file, err := campaign.New(plan, shard, nil, []mutants.Kept{{Name: name, Found: i == 0}}, measured, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := saveCampaign(dir, shard.Name(), file); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(dir, "mutants.md")
	if err := os.WriteFile(page, []byte("<!-- mutants -->\n<!-- end -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := chaos(t, t.Context(), nil, "merge", filepath.Join(dir, "shard-1-of-2.json"), "--out", filepath.Join(dir, "half"))
	if r.status != statusUndecided || !strings.Contains(r.out, "found by guards, FencedWrites after 7 cases") || !strings.Contains(r.out, "Missing: 2") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	r = chaos(t, t.Context(), nil, "merge", dir, "--update", page, "--out", filepath.Join(dir, "whole"))
	if r.status != statusBroken || !strings.Contains(r.out, "memory-has-one-fence       NOT FOUND") || !strings.Contains(r.out, "1 of 2 mutants found") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "| guards | FencedWrites | 7 | 0.5 |") {
		t.Errorf("%v: %.500s", err, text)
	}
}

// TestShardUsageErrors shows that every wrong use of --shard and of merge gets one line
// and the status for that.
func TestShardUsageErrors(t *testing.T) {
	withGoAlone(t)
	dir := t.TempDir()
	shard := shardOf(t, dir, "1/2", "--subject", "recount")
	other := shardOf(t, filepath.Join(dir, "other"), "1/2", "--nodes", "3")
	cut := filepath.Join(dir, "cut.json")
	text, err := os.ReadFile(shard)
	if err != nil {
		t.Fatal(err)
	}
	strange := filepath.Join(dir, "strange.json")
	for path, content := range map[string]string{cut: string(text[:300]), strange: strings.Replace(string(text), `"kind":"fuzz"`, `"kind":"walk"`, 1)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no number":    {[]string{"fuzz", "--shard", "x"}, "such as 3/8"},
		"beyond":       {[]string{"fuzz", "--shard", "9/8"}, "--shard"},
		"no seed":      {[]string{"fuzz", "--shard", "1/8"}, "--shard needs --seed"},
		"for":          {[]string{"fuzz", "--shard", "1/8", "--seed", "1", "--for", "1m"}, "--for means nothing with --shard"},
		"failures":     {[]string{"fuzz", "--shard", "1/8", "--seed", "1", "--failures", "2"}, "--failures means nothing"},
		"cover":        {[]string{"fuzz", "--shard", "1/8", "--seed", "1", "--cover", "0.1"}, "chaos merge"},
		"trial live":   {[]string{"trial", "--shard", "1/8", "--seed", "1"}, "--world virtual"},
		"trial seed":   {[]string{"trial", "--shard", "1/8", "--world", "virtual"}, "--shard needs --seed"},
		"nothing":      {[]string{"merge"}, "needs at least one file"},
		"no file":      {[]string{"merge", filepath.Join(dir, "gone.json")}, "no such file"},
		"empty folder": {[]string{"merge", t.TempDir()}, "holds no shard"},
		"cut off":      {[]string{"merge", shard, cut}, "cut.json is no file of a campaign"},
		"others":       {[]string{"merge", shard, other}, "are of different campaigns: one is"},
		"kind":         {[]string{"merge", strange}, `no kind "walk"`},
		"merge cover":  {[]string{"merge", shard, "--cover", "50"}, "share from 0 to 1"},
		"update":       {[]string{"merge", shard, "--update", "x.md"}, "they fill no table"},
	} {
		t.Run(name, func(t *testing.T) {
			r := chaos(t, t.Context(), nil, append(c.args, "--out", filepath.Join(t.TempDir(), "out"))...)
			if r.status != statusUsage {
				t.Errorf("status %d, want %d\n%s", r.status, statusUsage, r.out)
			}
			if line := strings.TrimSuffix(r.errors, "\n"); !strings.Contains(line, c.want) || strings.Contains(line, "\n") {
				t.Errorf("it says\n%s\nwant one line with %q", r.errors, c.want)
			}
		})
	}
}

// TestProgram shows how a program's version is read: a release or a commit, or
// that nobody knows.
func TestProgram(t *testing.T) {
	for want, info := range map[string]*debug.BuildInfo{
		"v1.2.3":  {Main: debug.Module{Version: "v1.2.3"}},
		"abc":     {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}},
		"unknown": {Main: debug.Module{Version: "(devel)"}},
	} {
		if got := program(func() (*debug.BuildInfo, bool) { return info, true }); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := program(func() (*debug.BuildInfo, bool) { return nil, false }); got != "unknown" {
		t.Error(got)
	}
}
