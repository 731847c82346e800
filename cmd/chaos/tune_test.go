package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/reports"
)

// tuned runs chaos tune with one lease and these flags, and returns its object.
func tuned(t *testing.T, wantStatus int, flags ...string) *reports.Tuning {
	t.Helper()
	dir := t.TempDir()
	r := chaos(t, t.Context(), nil, append([]string{"tune", "--out", dir, "--json"}, flags...)...)
	if r.status != wantStatus {
		t.Fatalf("%v: status %d, want %d\n%s", flags, r.status, wantStatus, r.errors)
	}
	report := &reports.Tuning{}
	if err := json.Unmarshal([]byte(r.out), report); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "tune.json"))
	if err != nil || string(kept) != r.out {
		t.Errorf("tune.json is not what was printed: %v", err)
	}
	return report
}

// TestTuneBadInput shows that wrong use gets one line that says how to mend it, and status 64.
func TestTuneBadInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(file, []byte(`{"recount_report":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"":                                  "the network is not known: give --rtt",
		"--rtt 1ms --network " + file:       "exclude each other",
		"--rtt 0s":                          "takes longer than 0",
		"--rtt -1ms":                        "takes longer than 0",
		"--rtt 10ms --rtt-p99 1ms":          "give a larger --rtt-p99",
		"--rtt 10ms --loss 1":               "is no percentage",
		"--rtt 10ms --loss 60%":             "give 0% to 49%",
		"--rtt-p99 10ms":                    "the network is not known",
		"--network " + file:                 "takes longer than 0",
		"--network " + file + ".none":       "no such file",
		"--measure localhost":               "give the URL of a Redis",
		"--rtt 1ms --want fast":             `"fast" cannot be wanted: give "crash.p99 < 5s"`,
		"--rtt 1ms --want crash.p99<5/year": "give",
		"--rtt 1ms --pauses often":          "give how many in a year",
		"--rtt 1ms --outages 3":             "give how many in a year",
		"--rtt 1ms --nodes 1":               "at least two candidates",
		"--rtt 1ms --lease 1ms":             "too short",
		"--rtt 1ms more":                    "takes no arguments",
		"--rtt 1ms --out /dev/null/none":    "choose another folder",
	} {
		r := chaos(t, t.Context(), nil, append([]string{"tune"}, strings.Fields(flags)...)...)
		if r.status != statusUsage || !strings.Contains(r.errors, want) || strings.Count(r.errors, "\n") != 1 || r.out != "" && !strings.Contains(flags, "/dev/null") {
			t.Errorf("%s: status %d, said %q and %q; want %q", flags, r.status, r.out, r.errors, want)
		}
	}
}

// TestTuneAnswers shows that settings are recommended that keep what is wanted, that a point
// comes to the same whatever else is tried, and that where nothing keeps what is wanted the
// nearest point is named, with status 2.
func TestTuneAnswers(t *testing.T) {
	if raced.Enabled {
		t.Skip("it computes for a minute: it runs without the race detector")
	}
	one, again := tuned(t, statusKept, "--rtt", "2ms", "--lease", "1s,5s"), tuned(t, statusKept, "--rtt", "2ms", "--lease", "5s")
	if one.Best == 0 || one.Points[one.Best-1].LeaseMS != 5000 {
		t.Errorf("recommended: %d of %+v; want a lease of 5 s, since outages of the store cost one of 1 s", one.Best, one.Points)
	}
	for i, p := range again.Points {
		if other := one.Points[len(again.Points)+i]; p.CrashP99MS != other.CrashP99MS || p.NeedlessYear != other.NeedlessYear || p.CommandsMinute != other.CommandsMinute {
			t.Errorf("alone: %+v; beside others: %+v", p, other)
		}
	}
	none := tuned(t, statusUndecided, "--rtt", "2ms", "--lease", "1s", "--want", "crash.p99 < 10ms")
	if none.Best != 0 || none.Near == 0 || len(none.Points[none.Near-1].Misses) != 1 {
		t.Errorf("nothing can meet it: best %d, near %d of %+v", none.Best, none.Near, none.Points)
	}
}
