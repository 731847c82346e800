package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// rollingFlags are the flags of a rolling run with timings of production.
func rollingFlags(dir, duration string) []string {
	return []string{"--world", "virtual", "--rolling", "--lease", "30s", "--duration", duration, "--seed", "1", "--out", dir}
}

// TestRollingDay shows a day of random faults that is judged as it grows: in
// many short pieces, with reports that need no history, and with one line that
// says what it was.
func TestRollingDay(t *testing.T) {
	if race.Enabled {
		t.Skip("a day on one goroutine; shorter ones below show the race detector the same")
	}
	dir := t.TempDir()
	r := chaos(t, t.Context(), nil, append([]string{"run", "mixed", "steady"}, rollingFlags(dir, "24h")...)...)
	if r.status != statusKept || r.errors != "" {
		t.Fatalf("status %d\n%s\n%s", r.status, r.out, r.errors)
	}
	for _, part := range []string{
		"mixed: pass; 23h", " simulated, ", " times faster than real time; events: ", ", histories: ",
		"Repeat: chaos run mixed steady --world virtual --subject recount --seed 1 --lease 30s --duration 24h0m0s --rolling\n",
		"Report: " + filepath.Join(dir, "report.md") + "\n", "PASS  2 runs",
	} {
		if !strings.Contains(r.out, part) {
			t.Errorf("%q is missing:\n%s", part, r.out)
		}
	}
	files := contents(t, dir)
	for _, name := range []string{"/report.md", "/junit.xml", "/mixed/report.json", "/mixed/report.md", "/mixed/junit.xml", "/steady/report.json"} {
		if files[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if len(files) != 8 {
		t.Errorf("%d files", len(files))
	}
	rep, err := reports.Parse([]byte(files["/mixed/report.json"]))
	if err != nil {
		t.Fatal(err)
	}
	if rep.Pieces < 20 || rep.Longest > 5000 || rep.Events < 50_000 || rep.FailoverMS.Count < 100 || len(rep.Failovers) > 0 {
		t.Errorf("%d pieces, the longest of %d of %d events; %d failovers, %d listed", rep.Pieces, rep.Longest, rep.Events, rep.FailoverMS.Count, len(rep.Failovers))
	}
	again := t.TempDir()
	chaos(t, t.Context(), nil, append([]string{"run", "mixed", "steady"}, rollingFlags(again, "24h")...)...)
	if other := contents(t, again); other["/mixed/report.json"] != files["/mixed/report.json"] {
		t.Error("the command that repeats it makes another report")
	}
}

// TestRollingBug shows that an elector with a bug is caught in a long run: with
// the status for it, a sentence with its two events, and the history that shows it.
func TestRollingBug(t *testing.T) {
	withGoAlone(t)
	dir := t.TempDir()
	r := chaosWithBug(t, append([]string{"run", "partition-leader", "--subject", believer}, rollingFlags(dir, "12h")...)...)
	if r.status != statusBroken || !strings.Contains(r.out, "AtMostOneLeader is broken: ") || !strings.Contains(r.out, "BeliefWithinLease is broken: ") {
		t.Errorf("status %d\n%s\n%s", r.status, r.out, r.errors)
	}
	guilty := filepath.Join(dir, "partition-leader", "history.jsonl")
	if c := chaos(t, t.Context(), nil, "check", guilty); c.status != statusBroken || !strings.Contains(c.out, "AtMostOneLeader is broken: ") {
		t.Errorf("status %d of the history that was kept\n%s%s", c.status, c.out, c.errors)
	}
	r = chaosWithBug(t, append([]string{"run", "partition-leader", "--json", "--subject", believer}, rollingFlags(dir, "12h")...)...)
	var object struct {
		Runs []struct{ Verdict, Subject string }
	}
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || r.status != statusBroken || len(object.Runs) != 1 || object.Runs[0].Verdict != "fail" {
		t.Errorf("status %d, %v\n%s", r.status, err, r.out)
	}
}

// TestRollingRefused shows that a rolling run of what cannot roll is refused in
// one line, as is a run that would eat all memory, which names the way out.
func TestRollingRefused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"steady --rolling", "--rolling means nothing with --world live: "},
		{"mixed --world virtual --duration 8760h --lease 30s", "about 254 million events would be kept: give --rolling"},
		{"steady --world virtual --duration 8760h", "give --rolling"},
		{"mixed --world virtual --rolling --duration 2000000h --lease 100ms", "faults would have to be planned"},
		{"steady --world virtual --rolling --subject nobody", `no subject is called "nobody" in the virtual world`},
	} {
		dir := t.TempDir()
		r := chaos(t, t.Context(), nil, append(append([]string{"run"}, strings.Fields(c.args)...), "--out", dir)...)
		if r.status != statusUsage || r.out != "" || strings.Count(r.errors, "\n") != 1 || !strings.Contains(r.errors, c.want) {
			t.Errorf("%s: status %d\n%s%s", c.args, r.status, r.out, r.errors)
		}
		if files := contents(t, dir); len(files) > 0 {
			t.Errorf("%s: %d files were written", c.args, len(files))
		}
	}
}

// TestRollingEstimate shows that the estimate which the refusal rests on is no
// more than twice, and no less than half of what a run records.
func TestRollingEstimate(t *testing.T) {
	withGoAlone(t)
	for _, set := range []scenarios.Settings{
		{Subject: "recount", Lease: 10 * time.Second, Duration: 20 * time.Minute},
		{Subject: "recount", Lease: time.Second, Nodes: 40, Duration: time.Minute},
		{Subject: "recount", Lease: 5 * time.Second, Renew: 200 * time.Millisecond, Retry: 100 * time.Millisecond, Duration: 3 * time.Minute},
	} {
		for _, name := range []string{"steady", "mixed", "crash-leader"} {
			list, err := scenarios.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := list[0].Plan(set)
			if err != nil {
				t.Fatal(err)
			}
			h, err := (&virtual.World{}).Run(t.Context(), plan, "")
			if err != nil {
				t.Fatal(err)
			}
			if guess := estimate(&plan, set.Duration) / float64(len(h.Events)); guess < 0.5 || guess > 2 {
				t.Errorf("%s with %+v: %.2f of %d events", name, set, guess, len(h.Events))
			}
		}
	}
}

// TestRollingStopped shows that a run which is stopped reports what was judged
// so far, and passes nothing.
func TestRollingStopped(t *testing.T) {
	withGoAlone(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out bytes.Buffer
	m := Main{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" },
	}
	f := runFlags{world: virtualWorld, rolling: true, parallel: 1, settings: scenarios.Settings{
		Subject: "recount", Lease: 30 * time.Second, Duration: 24 * time.Hour, Seed: 1,
	}}
	found, err := scenarios.Find("steady", "mixed")
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.plan(found)
	if err != nil {
		t.Fatal(err)
	}
	files, err := openOutput(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	world := &virtual.World{Moments: func(m virtual.Moment) {
		if m.At > 6*time.Hour {
			stop()
		}
	}}
	screen := newScreen(m, false)
	defer screen.close()
	code := status(f.roll(ctx, world, list, nil, files, screen))
	if code != statusStopped || len(files.reports) != 2 {
		t.Fatalf("status %d, %d reports\n%s", code, len(files.reports), out.String())
	}
	if rep := files.reports[1]; rep.Verdict != checker.Unknown || rep.DurationMS < 6*3600_000 || rep.DurationMS > 8*3600_000 || rep.Pieces < 5 {
		t.Errorf("%v after %v ms in %d pieces", rep.Verdict, rep.DurationMS, rep.Pieces)
	}
}

// TestRollingFindsWhatRunFinds shows that a rolling run is the run that a check
// of the whole history would judge alike.
func TestRollingFindsWhatRunFinds(t *testing.T) {
	withGoAlone(t)
	found, err := scenarios.Find("mixed")
	if err != nil {
		t.Fatal(err)
	}
	set := scenarios.Settings{Subject: "recount", Lease: 30 * time.Second, Duration: 12 * time.Hour, Seed: 5}
	list, err := (&runFlags{world: virtualWorld, rolling: true, settings: set}).plan(found)
	if err != nil {
		t.Fatal(err)
	}
	plan := list[0].Plan
	if plan.Writes != 10*time.Second || plan.Observes != 30*time.Second || plan.Schedule.End() > set.Duration {
		t.Errorf("writes %v, observes %v, ends %v", plan.Writes, plan.Observes, plan.Schedule.End())
	}
	h, err := (&virtual.World{}).Run(t.Context(), plan, "")
	if err != nil {
		t.Fatal(err)
	}
	whole := checker.Check(h, checker.Options{})
	rep, err := roll(t, plan)
	if err != nil || rep.Verdict != whole.Verdict || rep.Events != len(h.Events) || rep.Failovers.Count != len(whole.Failovers) || rep.Terms != len(whole.Terms) {
		t.Errorf("%v: %v and %v, %d and %d events, %d and %d failovers", err, rep.Verdict, whole.Verdict, rep.Events, len(h.Events), rep.Failovers.Count, len(whole.Failovers))
	}
}

// roll judges a plan's history as it grows.
func roll(t *testing.T, plan sim.Plan) (*checker.Summary, error) {
	t.Helper()
	world := &virtual.World{}
	var judge checker.Chain
	err := world.Chain(t.Context(), plan, leastLink, func(h *history.History) error {
		judge.Add(h)
		return nil
	})
	return judge.Summary(), err
}
