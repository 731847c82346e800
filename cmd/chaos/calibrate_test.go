package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// otherWorld is the virtual world made different, to stand in for the live
// one: with another network, or with plans or histories that are tampered with.
type otherWorld struct {
	network sim.Network
	plan    func(*sim.Plan)
	tamper  func(*history.History)
}

// Run implements scenarios.World.
func (w otherWorld) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	plan.Network = w.network
	plan.Seed += 1_000_000 // a live run is no virtual one made twice
	if w.plan != nil {
		w.plan(&plan)
	}
	h, err := (&virtual.World{}).Run(ctx, plan, logs)
	if h != nil && w.tamper != nil {
		w.tamper(h)
	}
	return h, err
}

// patient skips a comparison of hundreds of virtual runs where it takes long for
// nothing: they run on one goroutine, and TestComparisonInterrupted shows the race
// detector all that there is.
func patient(t *testing.T) {
	t.Helper()
	if race.Enabled {
		t.Skip("the race detector would see nothing new in it")
	}
}

// compareWith compares a stand-in for the live world with the virtual one.
func compareWith(t *testing.T, world otherWorld, asJSON bool, names ...string) (status int, out, dir string) {
	t.Helper()
	return compareIn(t, t.Context(), world, asJSON, names...)
}

func compareIn(t *testing.T, ctx context.Context, world otherWorld, asJSON bool, names ...string) (code int, out, dir string) {
	t.Helper()
	var text bytes.Buffer
	m := Main{Stdout: &text, Stderr: &text, Getenv: func(string) string { return "" }}
	f := calibrateFlags{virtualRuns: 200, runFlags: runFlags{
		world: liveWorld, asJSON: asJSON, runs: 4, parallel: 1,
		settings: scenarios.Settings{Subject: "recount", Lease: time.Second, Seed: 5},
	}}
	there := inVirtual(nil)
	there.World, there.name = world, liveWorld
	found, err := scenarios.Find(names...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := scenarios.PlanAll(found, f.settings)
	if err != nil {
		t.Fatal(err)
	}
	files, err := openOutput(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	screen := newScreen(m, asJSON)
	defer screen.close()
	code = status(f.compare(ctx, there, list, names, files, screen))
	return code, text.String(), files.dir
}

// TestCalibrationAgrees shows that a world agrees with itself, and what a
// comparison leaves: the three reports of it, and those of the runs that have
// the same seeds in both worlds.
func TestCalibrationAgrees(t *testing.T) {
	patient(t)
	code, out, dir := compareWith(t, otherWorld{}, false, "crash-leader", "partition-leader", "steady")
	if code != statusKept || !strings.Contains(out, "PASS  the worlds agree in 3 of 3 scenarios") {
		t.Errorf("status %d\n%s", code, out)
	}
	for _, name := range []string{
		"calibration.json", "calibration.md", "calibration.html", "index.html",
		"crash-leader/live-1/report.html", "crash-leader/live-4/history.jsonl", "crash-leader/virtual-4/report.json",
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "crash-leader", "virtual-5")); err == nil {
		t.Error("a virtual run without a live one beside it was kept, although it passed")
	}
	text, err := os.ReadFile(filepath.Join(dir, "crash-leader", "virtual-4", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	one, err := reports.Parse(text)
	if err != nil || one.Repro != "chaos run crash-leader --world virtual --subject recount --seed 8 --lease 1s" {
		t.Errorf("%q, %v", one.Repro, err)
	}
}

// TestSlowNetworkIsSeen shows that a simulator whose network is quicker than
// the real one is found out: undecided, with what differs.
func TestSlowNetworkIsSeen(t *testing.T) {
	patient(t)
	slow := otherWorld{network: sim.Network{Latency: 15 * time.Millisecond, Jitter: 5 * time.Millisecond}}
	code, out, _ := compareWith(t, slow, true, "resign-leader")
	at := strings.Index(out, "{\n")
	var object struct {
		Verdict   string
		Scenarios []struct{ Differences []string }
	}
	if at < 0 || json.Unmarshal([]byte(out[at:]), &object) != nil {
		t.Fatalf("no object in\n%s", out)
	}
	if code != statusUndecided || object.Verdict != "unknown" || !strings.Contains(strings.Join(object.Scenarios[0].Differences, "\n"), "excess: the two curves lie") {
		t.Errorf("status %d\n%s", code, out[:at])
	}
}

// TestCalibrationBrokenInOneWorld shows that a promise which is broken in one world only
// makes the comparison fail.
func TestCalibrationBrokenInOneWorld(t *testing.T) {
	patient(t)
	forged := otherWorld{tamper: func(h *history.History) {
		for i := range h.Events {
			if e := &h.Events[i]; e.Kind == history.Deposed {
				e.Kind, e.Until = history.Extended, nil // it goes on believing
			}
		}
	}}
	code, out, _ := compareWith(t, forged, false, "resign-leader")
	if code != statusBroken || !strings.Contains(out, "AtMostOneLeader is broken in 4 of 4 live runs") || !strings.Contains(out, "FAIL  the worlds agree in 0 of 1 scenario") {
		t.Errorf("status %d\n%s", code, out)
	}
}

// TestCalibrationUndecided shows that a fault which took no effect in one
// world leaves the comparison undecided: the runs are not what they claim.
func TestCalibrationUndecided(t *testing.T) {
	patient(t)
	idle := otherWorld{tamper: func(h *history.History) {
		for i := range h.Events {
			if e := &h.Events[i]; e.Effective != nil {
				e.Effective = history.Bool(false)
			}
		}
	}}
	code, out, _ := compareWith(t, idle, false, "resign-leader")
	if code != statusUndecided || !strings.Contains(out, "4 of 4 live runs and 0 of 200 virtual ones are undecided") {
		t.Errorf("status %d\n%s", code, out)
	}
}

// TestComparisonInterrupted shows that a comparison which is stopped ends with
// the status for that.
func TestComparisonInterrupted(t *testing.T) {
	withGoAlone(t)
	ctx, stop := context.WithCancel(t.Context())
	world := otherWorld{plan: func(p *sim.Plan) {
		if p.Scenario == "resign-leader" {
			stop()
		}
	}}
	code, out, dir := compareIn(t, ctx, world, false, "steady", "resign-leader")
	if code != statusStopped {
		t.Errorf("status %d\n%s", code, out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "calibration.md")); err != nil || !strings.Contains(string(text), "steady") {
		t.Errorf("what was compared before is lost: %v", err)
	}
}

// TestCalibrationLive compares the real world with the virtual one, in one run
// of one scenario: whatever the machine makes of the durations, no promise may
// be broken in one of the two alone.
func TestCalibrationLive(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	t.Parallel()
	dir := t.TempDir()
	r := chaos(t, t.Context(), nil, append([]string{"calibrate", "resign-leader", "--runs", "1", "--redis", "embedded"}, small(dir)...)...)
	if r.status != statusKept && r.status != statusUndecided {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	if !eightFailovers(r.out) || !strings.Contains(r.out, "virtual: pass: 300 runs, 2,400 failovers") {
		t.Errorf("the runs were not what they were meant to be:\n%s", r.out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "calibration.json"))
	if err != nil || !strings.Contains(string(text), `"recount_calibration": 1`) || !strings.Contains(string(text), "embedded") {
		t.Errorf("calibration.json: %v", err)
	}
}

// eightFailovers reports whether one live run passed with eight failovers. Those in
// which the machine stood still are counted apart.
func eightFailovers(out string) bool {
	m := regexp.MustCompile(`live: pass: 1 run, (\d+) failovers?(?: and (\d+) left out)?`).FindStringSubmatch(out)
	if m == nil {
		return false
	}
	counted, _ := strconv.Atoi(m[1])
	left, _ := strconv.Atoi(m[2]) // 0 if none was
	return counted+left == 8
}
