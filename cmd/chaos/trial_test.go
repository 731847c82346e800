package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/reports"
)

// trialOf reads trial.json.
func trialOf(t *testing.T, text []byte) reports.Trial {
	t.Helper()
	var object reports.Trial
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return object
}

// cellOf is one cell of a trial.
func cellOf(t *testing.T, object reports.Trial, subject, scenario string) reports.TrialCell {
	t.Helper()
	i := slices.IndexFunc(object.Cells, func(c reports.TrialCell) bool { return c.Subject == subject && c.Scenario == scenario })
	if i < 0 {
		t.Fatalf("no cell for %s in %s", subject, scenario)
	}
	return object.Cells[i]
}

// TestTrial shows a trial of a good elector and of a bad one in the virtual
// world: what each cell says, the exit status, that every link leads to a file,
// and that the shortest history of a broken promise is shorter than the run that
// broke it, shows the same promise, and is what chaos replay repeats.
func TestTrial(t *testing.T) {
	dir := t.TempDir()
	r := chaosWithBug(t, "trial", "recount", believer, "--world", "virtual", "--virtual-runs", "2", "--seed", "1", "--shrink", "5s",
		"--scenario", "steady", "--scenario", "partition-leader", "--scenario", "sentinel-failover", "--out", dir)
	if r.status != statusBroken || r.errors != "" {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for line := range strings.Lines(r.out) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 && !strings.Contains(line, dir) && !strings.HasPrefix(line, "Repeat:") {
			t.Errorf("too wide: %q", line)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "trial.json"))
	if err != nil {
		t.Fatal(err)
	}
	object := trialOf(t, text)
	if object.Verdict != checker.Fail || len(object.Cells) != 6 {
		t.Errorf("%v, %d cells", object.Verdict, len(object.Cells))
	}
	if c := cellOf(t, object, "recount", "partition-leader"); c.Verdict != checker.Pass || c.Kept != 2 || c.FailoverP50 <= 0 || c.FailoverMax < c.FailoverP50 || c.Evidence != nil {
		t.Errorf("%+v", c)
	}
	if c := cellOf(t, object, "recount", "sentinel-failover"); c.NotApplicable == "" {
		t.Errorf("%+v", c)
	}
	c := cellOf(t, object, believer, "partition-leader")
	if c.Verdict != checker.Fail || c.Failed != 2 || c.Promises[0] != checker.BeliefWithinLease || c.TwoLedMS <= 0 || c.Evidence == nil {
		t.Fatalf("%+v", c)
	}
	if e := c.Evidence; e.Promise != checker.BeliefWithinLease || e.Events <= 0 || e.Events*4 > e.Of {
		t.Errorf("%+v", e)
	}
	lines, err := os.ReadFile(filepath.Join(dir, c.Evidence.Folder, "history.jsonl"))
	if err != nil || strings.Count(string(lines), "\n") != c.Evidence.Events+1 { // and the header
		t.Errorf("%v: %d lines", err, strings.Count(string(lines), "\n"))
	}
	checkLinks(t, dir)
	again := chaosWithBug(t, "replay", filepath.Join(dir, c.Evidence.Replay))
	if again.status != statusBroken || !strings.Contains(again.out, "BeliefWithinLease is broken") || c.Evidence.Command != "chaos replay "+filepath.Join(dir, c.Evidence.Replay) {
		t.Errorf("status %d: %s%s; the command is %s", again.status, again.out, again.errors, c.Evidence.Command)
	}
}

// checkLinks wants a file for every link of the trial's page and of its
// Markdown.
func checkLinks(t *testing.T, dir string) {
	t.Helper()
	for name, link := range map[string]string{"index.html": `href="([^"#]+)"`, "trial.md": `\]\((\./[^)]+)\)`} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all := regexp.MustCompile(link).FindAllStringSubmatch(string(text), -1)
		if len(all) == 0 {
			t.Errorf("%s has no link", name)
		}
		for _, m := range all {
			if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}

// TestTrialKept shows that a trial in which nothing breaks ends with 0, and that
// with --json the object is all that stands on standard output.
func TestTrialKept(t *testing.T) {
	r := chaos(t, t.Context(), nil, "trial", "recount", "--world", "virtual", "--virtual-runs", "1", "--scenario", "steady", "--json", "--out", t.TempDir())
	if r.status != statusKept {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	if object := trialOf(t, []byte(r.out)); object.Verdict != checker.Pass || len(object.Cells) != 1 {
		t.Errorf("%+v", object)
	}
}

// TestTrialRepeats shows that the command which a trial prints gives the same
// cells.
func TestTrialRepeats(t *testing.T) {
	var cells [2]string
	args := []string{"trial", believer, "--world", "virtual", "--virtual-runs", "2", "--scenario", "partition-leader", "--scenario", "mixed", "--shrink", "0", "--json"}
	for i := range cells {
		r := chaosWithBug(t, append(slices.Clone(args), "--seed", "7", "--out", t.TempDir())...)
		object := trialOf(t, []byte(r.out))
		if want := "chaos trial " + believer + " --world virtual --scenario partition-leader --scenario mixed --virtual-runs 2 --seed 7 --lease 1s"; object.Repro != want {
			t.Errorf("%s\nwant %s", object.Repro, want)
		}
		cells[i] = fmt.Sprintf("%+v", object.Cells[0].Broken) + fmt.Sprintf("%+v", object.Cells[1].Broken)
	}
	if cells[0] != cells[1] {
		t.Errorf("%s\n%s", cells[0], cells[1])
	}
}

// TestTrialInterrupted shows that a trial which is stopped reports what there is:
// what was not run is undecided and says so, and the status is that of a stop. A
// document keeps the whole table that it has.
func TestTrialInterrupted(t *testing.T) {
	dir, document := t.TempDir(), filepath.Join(t.TempDir(), "README.md")
	const whole = "<!-- trial -->\nthe whole table\n<!-- end -->\n"
	if err := os.WriteFile(document, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		awaitFile(ctx, filepath.Join(dir, "recount", "pause-leader", "live-1", "logs", "n3.log"))
		stop()
	}()
	r := chaos(t, ctx, nil, "trial", "recount", "recount-unprotected", "--world", "live", "--scenario", "pause-leader", "--redis", "embedded", "--lease", "800ms", "--update", document, "--out", dir)
	if text, err := os.ReadFile(document); err != nil || string(text) != whole || !strings.Contains(r.errors+r.out, "README.md stays as it is") {
		t.Errorf("%v, the document is now\n%s%s%s", err, text, r.out, r.errors)
	}
	if r.status != statusStopped {
		t.Errorf("status %d: %s", r.status, r.errors)
	}
	text, err := os.ReadFile(filepath.Join(dir, "trial.json"))
	if err != nil {
		t.Fatalf("%v\n%s%s", err, r.out, r.errors)
	}
	object := trialOf(t, text)
	if c := cellOf(t, object, "recount-unprotected", "pause-leader"); !object.Stopped || c.Verdict != checker.Unknown || c.Runs != 0 || !strings.Contains(c.Undecided, "stopped") {
		t.Errorf("%v, %+v", object.Stopped, c)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		t.Error(err)
	}
}

// TestTrialUpdate shows that the table is written between the marks of a
// Markdown file, that nothing else of it changes, and that a second time changes
// nothing at all.
func TestTrialUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	const before, middle, after = "# Title\n\n", "\n\ntext\n\n", "\n\nthe end\n"
	write := before + "<!-- trial -->\nold\n<!-- end -->" + middle + "<!-- trial matrix -->\n<!-- end -->" + after
	if err := os.WriteFile(path, []byte(write), 0o600); err != nil {
		t.Fatal(err)
	}
	var texts [2]string
	for i := range texts {
		r := chaos(t, t.Context(), nil, "trial", "recount", "--world", "virtual", "--virtual-runs", "1", "--scenario", "steady", "--seed", "1", "--update", path, "--out", t.TempDir())
		if r.status != statusKept {
			t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	if texts[0] != texts[1] {
		t.Errorf("the second time it is\n%s\nafter\n%s", texts[1], texts[0])
	}
	for _, want := range []string{before + "<!-- trial -->\n\n| subject |", "<!-- end -->" + middle + "<!-- trial matrix -->\n\n| scenario |", "<!-- end -->" + after} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("%q is not in\n%s", want, texts[0])
		}
	}
	if strings.Contains(texts[0], "old") {
		t.Error("the old table is still there")
	}
}

// TestTrialBadInput shows that every kind of wrong use gets one line, before
// anything is started.
func TestTrialBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return filepath.Dir(path)
	}
	write("twice/a.py", 0o700)
	twice := write("twice/a.sh", 0o700)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"subject":       {[]string{"nobody"}, "no subject is called"},
		"scenario":      {[]string{"--scenario", "crash"}, "did you mean"},
		"world":         {[]string{"--world", "dream"}, "no world"},
		"no runs":       {[]string{"--runs", "0"}, "--runs 0"},
		"no virtual":    {[]string{"--virtual-runs", "0"}, "--virtual-runs 0"},
		"live flag":     {[]string{"--world", "virtual", "--redis", "auto"}, "no run is live"},
		"virtual flag":  {[]string{"--world", "live", "--shrink", "1s"}, "no run is virtual"},
		"exec virtual":  {[]string{"--world", "virtual", "--exec-dir", dir}, "a command cannot run in virtual time"},
		"exec nothing":  {[]string{"--exec-dir", write("plain/file", 0o600)}, "holds no executable"},
		"exec nowhere":  {[]string{"--exec-dir", filepath.Join(dir, "none")}, "no such file"},
		"exec a taken":  {[]string{"--exec-dir", write("taken/recount.sh", 0o700)}, "there is a subject called"},
		"exec twice":    {[]string{"--exec-dir", twice}, "would both be called"},
		"lease":         {[]string{"--lease", "1ms"}, "too short"},
		"update nobody": {[]string{"recount", "--world", "virtual", "--virtual-runs", "1", "--scenario", "steady", "--update", filepath.Join(dir, "none.md")}, "no such file"},
	} {
		r := chaos(t, t.Context(), nil, append([]string{"trial", "--out", filepath.Join(t.TempDir(), "out")}, c.args...)...)
		if r.status != statusUsage || !strings.Contains(r.errors, c.want) || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("%s: status %d: %s, want one line with %q", name, r.status, r.errors, c.want)
		}
		if r.out != "" {
			t.Errorf("%s: something was begun: %s", name, r.out)
		}
	}
}

// TestTrialLive shows a trial in both worlds, of an elector inside this program
// and of one that is a command: its cells stand in the same table, and it does
// not apply in the virtual world.
func TestTrialLive(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	commands := t.TempDir()
	// The harness steers its own candidates on their standard input, and no
	// others: this one is told to go by a pipe that stays open.
	script := fmt.Sprintf("#!/bin/sh\nset -e\npipe=%s/$RECOUNT_NODE-$$\nmkfifo \"$pipe\"\nexec 3<>\"$pipe\"\n"+
		"echo '{\"command\":\"go\"}' >&3\nRECOUNT_SUBJECT=recount exec %s <&3 3>&-\n", quoted(t.TempDir()), quoted(self))
	if err := os.MkdirAll(filepath.Join(commands, "foreign"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(commands, "foreign", candidateFile), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	lease := "2s"
	if race.Enabled {
		lease = "5s" // nothing in the command notices that the machine holds it up
	}
	r, dir := decided(t, nil, "trial", "recount", "foreign", "--exec-dir", commands, "--redis", "embedded", "--scenario", "steady",
		"--virtual-runs", "2", "--lease", lease, "--seed", "1", "--json")
	if r.status != statusKept {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	object := trialOf(t, []byte(r.out))
	var got []string
	for _, c := range object.Cells {
		got = append(got, fmt.Sprint(c.Subject, " ", c.World, " ", c.Verdict, " ", c.Runs, " ", c.Agreement, " ", c.NotApplicable != ""))
	}
	want := []string{"recount live pass 1 agree false", "foreign live pass 1 one world false", "recount virtual pass 2 agree false", "foreign virtual unknown 0 one world true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "foreign", "steady", "live-1", "logs", "n1.log")); err != nil {
		t.Error(err)
	}
	if !strings.Contains(object.Cells[1].Repro, "--exec '") {
		t.Errorf("repro %q", object.Cells[1].Repro)
	}
}
