package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/reports"
)

// tuned runs chaos tune with these flags, and returns its object.
func tuned(t *testing.T, dir string, wantStatus int, flags ...string) *reports.Tuning {
	t.Helper()
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
		"--rtt 1ms --drift 0%":              "give a percentage above 0%",
		"--rtt 1ms --drift 100%":            "below 100%",
		"--rtt 1ms --drift 0.01":            "give a percentage",
		"--rtt 1ms --update " + file:        "there is no line <!-- tune -->",
		"--rtt 1ms more":                    "takes no arguments",
		"--rtt 1ms --out /dev/null/none":    "choose another folder",
	} {
		r := chaos(t, t.Context(), nil, append([]string{"tune"}, strings.Fields(flags)...)...)
		if r.status != statusUsage || !strings.Contains(r.errors, want) || strings.Count(r.errors, "\n") != 1 || r.out != "" && !strings.Contains(flags, "/dev/null") {
			t.Errorf("%s: status %d, said %q and %q; want %q", flags, r.status, r.out, r.errors, want)
		}
	}
}

// TestTuneAnswers shows that settings are recommended that keep what is wanted, with every file
// of the report, and that they are written into the table of a document.
func TestTuneAnswers(t *testing.T) {
	if race.Enabled {
		t.Skip("it computes for a minute: it runs without the race detector")
	}
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("# T\n"+tuneMark+"\nold\n"+endMark+"\nkept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := tuned(t, dir, statusKept, "--rtt", "2ms", "--lease", "5s", "--drift", "2%", "--update", page)
	if one.Best == 0 || one.Points[one.Best-1].LeaseMS != 5000 || len(one.Points[one.Best-1].Misses) > 0 || one.Drift != .02 || len(one.Neighbours) < 3 {
		t.Errorf("recommended: %d of %+v, drift %v, neighbours %v", one.Best, one.Points, one.Drift, one.Neighbours)
	}
	if want := "--lease 5s --drift 2% --pauses"; !strings.Contains(one.Repro, want) {
		t.Errorf("%q is not in %s", want, one.Repro)
	}
	for name, want := range map[string]string{"index.html": "ELECT_DRIFT=0.02", "tune.md": "## The front", "page.md": "| round trip 2ms, p99 4ms, loss 0% | **recommended** | 5s |"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) || name == "page.md" && (strings.Contains(string(text), "old") || !strings.HasSuffix(string(text), endMark+"\nkept\n")) {
			t.Errorf("%s: %v, %s", name, err, text)
		}
	}
}

// TestTuneNamesTheNearest shows that where nothing keeps what is wanted the nearest point is
// named, with status 2.
func TestTuneNamesTheNearest(t *testing.T) {
	if race.Enabled {
		t.Skip("it computes for a minute: it runs without the race detector")
	}
	none := tuned(t, t.TempDir(), statusUndecided, "--rtt", "2ms", "--lease", "1s", "--pauses", "0", "--outages", "0", "--want", "crash.p99 < 10ms")
	if none.Best != 0 || none.Near == 0 || len(none.Points[none.Near-1].Misses) != 1 {
		t.Errorf("nothing can meet it: best %d, near %d of %+v", none.Best, none.Near, none.Points)
	}
}

// upon does something as soon as a text is written.
type upon struct {
	text string
	do   func()
	all  bytes.Buffer
}

func (u *upon) Write(text []byte) (int, error) {
	n, err := u.all.Write(text)
	if strings.Contains(u.all.String(), u.text) {
		u.do()
	}
	return n, err
}

// TestTuneIsStopped shows that a search that is stopped reports the points that are done, with
// status 3, and changes no document.
func TestTuneIsStopped(t *testing.T) {
	withGoAlone(t)
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	before := tuneMark + "\nold\n" + endMark + "\n"
	if err := os.WriteFile(page, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	stderr := &upon{text: "1 of up to", do: cancel}
	status := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: stderr, Getenv: func(string) string { return "" }}.Run(ctx, []string{"tune", "--rtt", "2ms", "--json", "--out", dir, "--update", page})
	var report reports.Tuning
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || status != statusStopped || report.Stopped == "" || len(report.Points) == 0 {
		t.Errorf("status %d, %v: %s", status, err, out.String())
	}
	for name, want := range map[string]string{"page.md": before, "index.html": "It ended early", "tune.md": "It ended early", "tune.json": out.String()} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %s; want %s", name, err, text, want)
		}
	}
}

// TestPresetsInOperations shows that the table of docs/operations.md has the elector's presets as
// they are: after a change of them "make tuned" writes it anew.
func TestPresetsInOperations(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, inside, found := strings.Cut(string(text), tuneMark)
	inside, _, _ = strings.Cut(inside, endMark)
	if networks := strings.Count(inside, "**recommended**"); !found || networks != 3 {
		t.Errorf("the table has %d networks, want 3", networks)
	}
	for name, c := range map[string]elector.Config{"Fast": elector.Fast(), "Balanced": elector.Balanced(), "Quiet": elector.Quiet()} {
		row := fmt.Sprintf("| `%s` | %v | %v | %v | %v |", name, c.Lease, c.Renew, c.Retry, c.RequestTimeout)
		if strings.Count(inside, row) != 3 {
			t.Errorf("%s is not there for each network", row)
		}
	}
}
