package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/loopback"
)

// TestAfford shows that what a run may ask of a Redis on another machine is little unless
// more is said, that fewer scenarios run at once where that is enough, and that a
// scenario which alone is too much is refused by one line with the flag and the number.
func TestAfford(t *testing.T) {
	const far, near = "redis://10.255.255.1:6379/0", "redis://127.0.0.1:6379/0"
	for name, c := range map[string]struct {
		args []string
		want string // a part of the line; "" if the run is affordable
		said string // a part of what a dry run says
	}{
		"lowered":           {[]string{"crash-leader", "pause-leader", "partition-leader", "partition-all", "--redis", far, "--max-connections", "80"}, "", "Up to 2 at once, and not 5: --max-connections is 80, --max-ops 2000"},
		"the default":       {[]string{"steady", "--redis", far, "--nodes", "40"}, "give --max-connections 207, or fewer --nodes", ""},
		"more is said":      {[]string{"steady", "--redis", far, "--nodes", "40", "--max-connections", "207", "--max-ops", "4000"}, "", "207 connections"},
		"connections":       {[]string{"steady", "--redis", near, "--max-connections", "10"}, "give --max-connections 32, or fewer --nodes", ""},
		"commands":          {[]string{"steady", "--redis", near, "--max-ops", "100"}, ", or fewer --nodes, a longer --lease, or leave it out", ""},
		"none near":         {[]string{"steady", "--redis", near, "--nodes", "40"}, "", "207 connections"},
		"a name for here":   {[]string{"steady", "--redis", "redis://localhost/0", "--nodes", "40"}, "", "207 connections"},
		"the suite":         {[]string{"--redis", far}, "", "Left out: what hits the store itself"},
		"for nobody":        {[]string{"steady", "--redis", "embedded", "--max-ops", "100"}, "--max-ops means nothing without --redis URL", ""},
		"no connection":     {[]string{"steady", "--redis", near, "--max-connections", "0"}, "give at least 1", ""},
		"no command":        {[]string{"steady", "--redis", near, "--max-ops", "-1"}, "give at least 1", ""},
		"stops at once":     {[]string{"steady", "--redis", near, "--stop-factor", "0.1"}, "--stop-factor 0.1", ""},
		"stops for nothing": {[]string{"steady", "--redis", near, "--stop-after", "1ms"}, "--stop-after 1ms", ""},
		"a store's fault":   {[]string{"store-pause", "--redis", near}, "only a private one may be hit", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			r := chaos(t, t.Context(), nil, append([]string{"run", "--dry-run", "--out", out}, c.args...)...)
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Error("it has made the folder for the reports")
			}
			switch {
			case c.want == "" && (r.status != statusKept || !strings.Contains(r.out, c.said)):
				t.Errorf("status %d, want what contains %q\n%s%s", r.status, c.said, r.out, r.errors)
			case c.want != "" && (r.status != statusUsage || strings.Count(r.errors, "\n") != 1 || !strings.Contains(r.errors, c.want) || r.out != ""):
				t.Errorf("status %d, want one line with %q\n%s%s", r.status, c.want, r.out, r.errors)
			}
			if c.want == "" {
				return
			}
			// Without --dry-run the same line comes, before anything is opened.
			real := chaos(t, t.Context(), nil, append([]string{"run", "--out", out}, c.args...)...)
			if _, err := os.Stat(out); real.errors != r.errors || real.status != statusUsage || !os.IsNotExist(err) {
				t.Errorf("without --dry-run: status %d\n%s%s", real.status, real.out, real.errors)
			}
		})
	}
}

// TestAffordOthers shows that a trial, and cases that are repeated, ask for no more than a
// run may.
func TestAffordOthers(t *testing.T) {
	const far = "redis://10.255.255.1:6379/0"
	failure := "../../scenarios/testdata/believes-through-a-partition.json"
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a trial":           {[]string{"trial", "recount", "--world", "live", "--scenario", "steady", "--redis", far, "--max-connections", "10"}, "give --max-connections 32, or fewer --nodes"},
		"a trial's faults":  {[]string{"trial", "recount", "--scenario", "steady", "--redis", "embedded", "--max-ops", "10"}, "--max-ops means nothing without --redis URL"},
		"a case":            {[]string{"replay", failure, "--world", "live", "--redis", far, "--max-connections", "10"}, failure + " has up to"},
		"a case's limits":   {[]string{"replay", failure, "--world", "live", "--redis", "embedded", "--stop-factor", "3"}, "--stop-factor means nothing without --redis URL"},
		"an elector's KEYS": {[]string{"run", "steady", "--subject", "sovereign", "--redis", far}, "sovereign cannot run in the live world: it sends KEYS"},
		"a case's world":    {[]string{"replay", failure, "--stop-factor", "3"}, "--stop-factor means nothing without --redis URL"},
	} {
		t.Run(name, func(t *testing.T) {
			r := chaos(t, t.Context(), nil, c.args...)
			if r.status != statusUsage || strings.Count(r.errors, "\n") != 1 || !strings.Contains(r.errors, c.want) || r.out != "" {
				t.Errorf("status %d, want one line with %q\n%s%s", r.status, c.want, r.out, r.errors)
			}
		})
	}
}

// TestDryRun shows that a dry run names every fault of the schedule in every world, with
// whom it can hurt and how it is undone, and neither runs nor opens anything: nobody
// connects to the Redis of the URL.
func TestDryRun(t *testing.T) {
	var connections atomic.Int64
	addr, err := loopback.Serve(t.Context(), func(conn net.Conn) {
		connections.Add(1)
		_ = conn.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, where := range [][]string{
		{"--redis", "redis://:" + secret + "@" + addr}, {"--redis", "embedded"}, {"--redis", "docker"}, {"--redis", "process"},
		{"--world", "virtual"}, {"--world", "virtual", "--rolling", "--duration", "10m"},
	} {
		r := chaos(t, t.Context(), nil, append([]string{"run", "mixed", "crash-leader", "--dry-run", "--json", "--seed", "3"}, where...)...)
		var d dryRun
		if err := json.Unmarshal([]byte(r.out), &d); err != nil || r.status != statusKept {
			t.Fatalf("%v: status %d, %v\n%s%s", where, r.status, err, r.out, r.errors)
		}
		if len(d.Scenarios) != 2 || len(d.Scenarios[0].Steps) == 0 || len(d.Scenarios[1].Steps) == 0 {
			t.Fatalf("%v: %+v", where, d)
		}
		for _, s := range d.Scenarios {
			if !slices.IsSortedFunc(s.Steps, func(a, b dryStep) int { return int(a.AtMS - b.AtMS) }) {
				t.Errorf("%v: the steps of %s are in no order", where, s.Scenario)
			}
			for _, step := range s.Steps {
				if step.Fault == "" || step.Target == "" || step.What == "" || step.Undone == "" || !strings.HasPrefix(step.Hurts, "the run's own ") {
					t.Errorf("%v: %s has the step %+v", where, s.Scenario, step)
				}
			}
		}
		text := chaos(t, t.Context(), nil, append([]string{"run", "crash-leader", "--dry-run"}, where...)...)
		if !strings.Contains(text.out, "Nothing is run") || !strings.Contains(text.out, "undone:   the process is started again") {
			t.Errorf("%v:\n%s%s", where, text.out, text.errors)
		}
	}
	if n := connections.Load(); n > 0 {
		t.Errorf("the Redis was connected to %d times", n)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestClocksOfCommands shows that a command that does not get its clocks is spared the
// faults on them: what is about nothing else is left out, and said in one line; what
// draws its faults draws others.
func TestClocksOfCommands(t *testing.T) {
	t.Parallel()
	for _, withClocks := range []bool{true, false} {
		args := []string{"run", "all", "--dry-run", "--json", "--seed", "3", "--exec", "true", "--redis", "embedded"}
		if withClocks {
			args = append(args, "--clocks")
		}
		r := chaos(t, t.Context(), nil, args...)
		var d dryRun
		if err := json.Unmarshal([]byte(r.out), &d); err != nil || r.status != statusKept {
			t.Fatalf("status %d, %v\n%s%s", r.status, err, r.out, r.errors)
		}
		clocks := map[string]bool{}
		for _, f := range faults.Catalogue() {
			clocks[f.Name()] = f.Effect().Skews && !f.Effect().Store
		}
		ran, set := map[string]bool{}, 0
		for _, s := range d.Scenarios {
			ran[s.Scenario] = true
			for _, step := range s.Steps {
				if clocks[step.Fault] {
					set++
				}
			}
		}
		var left []string
		for _, l := range d.LeftOut {
			if strings.Contains(l.Why, "clocks") {
				left = append(left, l.Scenarios...)
			}
		}
		want := []string{"suspend-leader", "clock-fast", "clock-slow", "clock-beyond", "clock-jump"}
		if withClocks {
			want = nil
		}
		if !slices.Equal(left, want) || withClocks != (set > 0) || !ran["mixed"] || ran["clock-jump"] != withClocks {
			t.Errorf("with its clocks %v: left out %v, want %v; %d faults on clocks; %v", withClocks, left, want, set, ran)
		}
	}
}

// TestWhomFaultsHurt shows that no fault on the store of others is taken for one that
// hurts only the run.
func TestWhomFaultsHurt(t *testing.T) {
	for _, f := range faults.Catalogue() {
		got := hurts(faults.Step{Fault: f, Target: faults.Store}, false)
		everybody := f.Effect().Store && !f.Effect().Own
		if (got == "everybody who uses the store") != everybody {
			t.Errorf("%s can hurt %s", f.Name(), got)
		}
	}
}
