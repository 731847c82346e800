package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/virtual"
)

// believer is a mutant: it believes for longer than its
// lease lasts.
const believer = "believes-too-long"

// seldom is a mutant that shows now and then: it believes for longer
// than a long lease lasts.
const seldom = "believes-too-long-now-and-then"

func decideSeldom(cfg machine.Config) virtual.Decider {
	if cfg.Lease > 8*time.Second {
		cfg.Drift = -0.1
	}
	return machine.New(cfg)
}

// chaosWithBug runs the command in this process, with the elector that has a
// bug.
func chaosWithBug(t *testing.T, args ...string) result {
	t.Helper()
	var out, errors bytes.Buffer
	m := Main{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errors, Getenv: func(string) string { return "" },
		Subjects: map[string]virtual.Subject{believer: {Decide: func(cfg machine.Config) virtual.Decider {
			cfg.Drift = -0.1
			return machine.New(cfg)
		}}},
	}
	r := result{status: m.Run(t.Context(), args)}
	r.out, r.errors = out.String(), errors.String()
	return r
}

// TestFuzz shows that an elector that keeps its promises passes, with the map
// and what the run is worth in 80 columns and in a page that needs nothing from
// elsewhere; and that little of the map leaves a run undecided only where --cover
// asks for more. The command that repeats the run asks for as much.
func TestFuzz(t *testing.T) {
	dir := t.TempDir()
	r := chaos(t, t.Context(), nil, "fuzz", "--cases", "300", "--seed", "3", "--out", dir)
	if r.status != statusKept || r.errors != "" {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	for _, want := range []string{"300 schedules", "pause-before-write", "1 in 100 ", "chaos fuzz --subject recount --seed 3 --cases 300\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	for line := range strings.Lines(r.out) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 && !strings.Contains(line, dir) && !strings.HasPrefix(line, "With 95 %") {
			t.Errorf("too wide: %q", line)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "fuzz.html"))
	if err != nil || !bytes.Contains(page, []byte("no promise was broken")) || bytes.Contains(page, []byte("http:")) || bytes.Contains(page, []byte("https:")) {
		t.Errorf("%v: %d bytes", err, len(page))
	}
	r = chaos(t, t.Context(), nil, "fuzz", "--schedules", "50", "--seed", "3", "--out", dir, "--cover", "0.001")
	if r.status != statusKept || !strings.Contains(r.out, "--cases 50 --cover 0.001\n") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	r = chaos(t, t.Context(), nil, "fuzz", "--cases", "50", "--seed", "3", "--out", dir, "--cover", "1")
	if r.status != statusUndecided || !strings.Contains(r.out, "run longer") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestFuzzBudget shows that a time is a budget: a run that ends with it passes
// and says what it is worth, however little of the map it reached.
func TestFuzzBudget(t *testing.T) {
	withGoAlone(t)
	r := chaos(t, t.Context(), nil, "fuzz", "--for", "1ms", "--seed", "3", "--out", t.TempDir())
	if r.status != statusKept || !strings.Contains(r.out, "With 95 % confidence") || strings.Contains(r.out, "ndecided") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestFuzzFindsAndReplays shows the whole road: a mutant is found by the
// command, shrunk and saved; the one object of --json names the file; replay
// repeats the failure exactly, and says when it does not fail any more.
func TestFuzzFindsAndReplays(t *testing.T) {
	dir := t.TempDir()
	r := chaosWithBug(t, "fuzz", "--subject", believer, "--seed", "1", "--out", dir, "--json")
	if r.status != statusBroken {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	var object struct {
		Schedules int
		Seconds   float64
		Failures  []struct {
			File, Promise string
			Faults        int
			Seed          uint64
		}
		Coverage   *float64
		Confidence string
	}
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || len(object.Failures) != 1 || object.Coverage == nil || object.Confidence == "" {
		t.Fatalf("%v in %s", err, r.out)
	}
	f := object.Failures[0]
	drawn, err := os.ReadFile(f.File)
	if err != nil {
		t.Fatal(err)
	}
	one := chaosWithBug(t, "fuzz", "--subject", believer, "--seed", strconv.FormatUint(f.Seed, 10), "--cases", "1", "--out", filepath.Join(dir, "one"))
	if again, err := os.ReadFile(filepath.Join(dir, "one", filepath.Base(f.File))); err != nil || !bytes.Equal(again, drawn) || one.status != statusBroken {
		t.Errorf("its number gives another failure: status %d, %v\n%s\nnot\n%s", one.status, err, again, drawn)
	}
	if f.Promise != "BeliefWithinLease" || f.Faults != 0 || filepath.Dir(f.File) != dir {
		t.Errorf("%+v", f)
	}
	replay := chaosWithBug(t, "replay", f.File, "--out", filepath.Join(dir, "again"))
	text, err := os.ReadFile(f.File)
	if err != nil {
		t.Fatal(err)
	}
	c, err := fuzz.Parse(text)
	if err != nil || replay.status != statusBroken || !strings.Contains(replay.out, "it fails: BeliefWithinLease is broken: "+c.Failed.Reason) {
		t.Errorf("%v, status %d\n%s%s", err, replay.status, replay.out, replay.errors)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "again", "*", "report.html")); len(files) != 1 {
		t.Errorf("reports: %v", files)
	}
	// The same case with an elector that has no such bug.
	mended := bytes.Replace(text, []byte(believer), []byte("recount"), 1)
	if err := os.WriteFile(filepath.Join(dir, "mended.json"), mended, 0o600); err != nil {
		t.Fatal(err)
	}
	r = chaos(t, t.Context(), nil, "replay", filepath.Join(dir, "mended.json"))
	if r.status != statusKept || !strings.Contains(r.out, "it does not fail any more: BeliefWithinLease is kept") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	r = chaosWithBug(t, "replay", dir, "--json")
	if r.status != statusBroken || strings.Count(r.out, `"verdict":`) != 2 {
		t.Errorf("a folder: status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestFuzzStopped shows that a run that is stopped says so and how far it got.
func TestFuzzStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r := chaos(t, ctx, nil, "fuzz", "--seed", "1", "--out", t.TempDir())
	if r.status != statusStopped || !strings.Contains(r.out, "0 schedules") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestFuzzBadInput shows that every kind of wrong use of fuzz and replay gets
// one line that says what is wrong and how to mend it, and the status for that.
func TestFuzzBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := `{"recount_replay":1,"subject":"recount","world":"virtual","seed":1,"nodes":3,"lease":"1s","renew":"300ms","retry":"50ms","drift":0.01,"schedule":[]}`
	for name, c := range map[string]struct {
		args []string
		want string // a part of the line
	}{
		"schedules negative": {[]string{"fuzz", "--cases", "-1"}, "--cases"},
		"schedules no count": {[]string{"fuzz", "--cases", "many"}, "--help"},
		"for negative":       {[]string{"fuzz", "--for", "-1s"}, "negative"},
		"seed no number":     {[]string{"fuzz", "--seed", "abc"}, "--seed"},
		"unknown subject":    {[]string{"fuzz", "--subject", "nobody"}, "give one of recount"},
		"nodes negative":     {[]string{"fuzz", "--nodes", "-1"}, "candidates"},
		"lease too short":    {[]string{"fuzz", "--lease", "10ms"}, "too short"},
		"renew alone":        {[]string{"fuzz", "--renew", "1s"}, "without a lease"},
		"renew not below":    {[]string{"fuzz", "--lease", "1s", "--renew", "1s"}, "not below lease"},
		"no second try":      {[]string{"fuzz", "--lease", "1s", "--renew", "700ms"}, "would end a term"},
		"drift":              {[]string{"fuzz", "--drift", "2"}, "share of time"},
		"cover":              {[]string{"fuzz", "--cover", "50"}, "share from 0 to 1"},
		"failures":           {[]string{"fuzz", "--failures", "0"}, "--failures"},
		"workers":            {[]string{"fuzz", "--workers", "-1"}, "--workers"},
		"arguments":          {[]string{"fuzz", "hard"}, "no arguments"},
		"in nothing":         {[]string{"fuzz", "--in", "nothing"}, "use one of plans, calls"},
		"in, of plans":       {[]string{"fuzz", "--in", "jobs", "--nodes", "3"}, "--nodes is for plans"},
		"in, of spaces":      {[]string{"fuzz", "--only", "act:kill"}, "add --in calls"},
		"in, cases":          {[]string{"fuzz", "--in", "jobs", "--cases", "-3"}, "above 0"},
		"in, limit":          {[]string{"fuzz", "--in", "jobs", "--limit", "-3s"}, "negative"},
		"in, no feature":     {[]string{"fuzz", "--in", "jobs", "--only", "act:kil"}, "act:kill"},
		"replay nothing":     {[]string{"replay"}, "needs"},
		"replay no file":     {[]string{"replay", filepath.Join(dir, "none.json")}, "no such file"},
		"replay empty":       {[]string{"replay", t.TempDir()}, "holds no failure"},
		"replay cut off":     {[]string{"replay", write("cut.json", good[:60])}, "cut off"},
		"replay version":     {[]string{"replay", write("version.json", strings.Replace(good, ":1", ":9", 1))}, "version 9"},
		"replay nonsense":    {[]string{"replay", write("nodes.json", strings.Replace(good, `"nodes":3`, `"nodes":0`, 1))}, "at least one"},
		"replay subject":     {[]string{"replay", write("subject.json", strings.Replace(good, "recount\"", "nobody\"", 2))}, "nobody"},
		"replay world":       {[]string{"replay", "--world", "flat", write("good.json", good)}, "--world virtual or --world live"},
		"replay runs":        {[]string{"replay", "--runs", "0", write("good.json", good)}, "--runs"},
		"replay lease":       {[]string{"replay", "--lease", "1ms", write("good.json", good)}, "too short"},
		"replay rapid":       {[]string{"replay", write("old.fail", "v0.0.1#7\n0x1\n0x2")}, "no longer applies"},
		"replay no rapid":    {[]string{"replay", write("text.fail", "hello")}, "no longer applies"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.args[0] == "fuzz" {
				c.args = append(c.args, "--out", filepath.Join(t.TempDir(), "out"))
			}
			r := chaos(t, t.Context(), nil, c.args...)
			if r.status != statusUsage || r.out != "" {
				t.Errorf("status %d, want %d\n%s", r.status, statusUsage, r.out)
			}
			if line := strings.TrimSuffix(r.errors, "\n"); !strings.Contains(line, c.want) || strings.Contains(line, "\n") {
				t.Errorf("it says\n%s\nwant one line with %q", r.errors, c.want)
			}
		})
	}
}
