package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// benchstat, unchanged, compares the failovers.txt of two measurements: it reports the delay
// that one cause was given, and none of the other cause, in seconds.
func TestBenchstatComparesFailovers(t *testing.T) {
	dir := t.TempDir()
	chaos := filepath.Join(dir, "chaos")
	says(t, "..", "go", "build", "-o", chaos, "./cmd/chaos")
	before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	for seed, out := range []string{before, after} {
		says(t, dir, chaos, "failover", "--world", "virtual", "--cause", "crash", "--cause", "resign", "--count", "60", "--seed", strconv.Itoa(seed+1), "--out", out)
	}
	const planted = 40 * time.Millisecond
	plant(t, filepath.Join(after, "failovers.json"), "crash", planted)
	says(t, dir, chaos, "report", after) // writes failovers.txt anew

	out := says(t, ".", "go", "tool", "benchstat", filepath.Join(before, "failovers.txt"), filepath.Join(after, "failovers.txt"))
	for _, want := range []string{"world: virtual\n", "lease: 1s\n", "nodes: 3\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("benchstat does not name the setting %q:\n%s", want, out)
		}
	}
	tables := tablesOf(out)
	if units := slices.Sorted(maps.Keys(tables)); !slices.Equal(units, []string{"excess-sec", "total-sec", "unserved-sec"}) {
		t.Fatalf("units: %v, want those of the total, the excess and the time without a write, in seconds:\n%s", units, out)
	}
	crash, resign := tables["excess-sec"]["crash"], tables["excess-sec"]["resign"]
	if crash.verdict == "~" || crash.n != 60 || crash.p > 0.001 || math.Abs(crash.after-crash.before-planted.Seconds()) > 0.002 {
		t.Errorf("after crash the excess is %v, want %v more, and n=60:\n%s", crash, planted, out)
	}
	if resign.verdict != "~" || resign.n != 60 || resign.before <= 0 || resign.before > 0.01 {
		t.Errorf("after resign the excess is %v, want no difference:\n%s", resign, out)
	}
	if want := medianOf(t, filepath.Join(before, "failovers.json"), "crash"); math.Abs(tables["total-sec"]["crash"].before-want) > 0.001 {
		t.Errorf("after crash the total is %v, want %vs:\n%s", tables["total-sec"]["crash"], want, out)
	}
}

// says runs a command in a folder and returns what it says. The command must succeed, and say
// nothing on standard error; the go command may say there what it downloads.
func says(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=") // each folder's own workspace
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	warnings := regexp.MustCompile(`(?m)^go: .*\n`).ReplaceAllString(errors.String(), "")
	if err != nil || warnings != "" {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, errors.String())
	}
	return string(out)
}

// failoversJSON is what is read of failovers.json.
type failoversJSON struct {
	Cells []struct {
		Cause     string
		Failovers []struct {
			Total float64 `json:"total_ms"`
		}
	}
}

// medianOf is the median of the total after a cause, in seconds.
func medianOf(t *testing.T, path, cause string) float64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m failoversJSON
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	var totals []float64
	for _, c := range m.Cells {
		for _, f := range c.Failovers {
			if c.Cause == cause {
				totals = append(totals, f.Total/1000)
			}
		}
	}
	slices.Sort(totals)
	n := len(totals)
	return (totals[(n-1)/2] + totals[n/2]) / 2
}

// plant makes every failover after a cause in failovers.json last longer: its successor
// detects so much later that the lease is over.
func plant(t *testing.T, path, cause string, delay time.Duration) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	for _, cell := range object["cells"].([]any) {
		c := cell.(map[string]any)
		if c["cause"] != cause {
			continue
		}
		for _, failover := range c["failovers"].([]any) {
			f := failover.(map[string]any)
			for _, part := range []string{"detect_ms", "excess_ms", "total_ms", "unserved_ms"} {
				f[part] = f[part].(float64) + float64(delay.Milliseconds())
			}
		}
	}
	if text, err = json.Marshal(object); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// row is a line of a table of benchstat: both medians, in the table's unit, what it says of
// the difference ("~": none), how probable chance is, and how many values each side has.
type row struct {
	before, after float64
	verdict       string
	p             float64
	n             int
}

// String implements fmt.Stringer.
func (r row) String() string {
	return fmt.Sprintf("%gs and %gs, %s (p=%g n=%d)", r.before, r.after, r.verdict, r.p, r.n)
}

var (
	unitOf = regexp.MustCompile(`│ +(\S+-\S+) +│ +\S+-\S+ +vs base`)
	rowOf  = regexp.MustCompile(`^Failover/elector=recount/cause=(\S+) +([0-9.]+)([mµn]?) ± +\d+% +([0-9.]+)([mµn]?) ± +\d+% +(\S+) \(p=([0-9.]+) n=(\d+)\)`)
)

// tablesOf reads the tables of benchstat: by unit, and by the cause of a row.
func tablesOf(out string) map[string]map[string]row {
	tables := map[string]map[string]row{}
	unit := ""
	number := func(text, prefix string) float64 {
		x, _ := strconv.ParseFloat(text, 64) // the pattern admits numbers alone
		return x * map[string]float64{"": 1, "m": 1e-3, "µ": 1e-6, "n": 1e-9}[prefix]
	}
	for line := range strings.Lines(out) {
		if m := unitOf.FindStringSubmatch(line); m != nil {
			unit = m[1]
			tables[unit] = map[string]row{}
		}
		if m := rowOf.FindStringSubmatch(line); m != nil && unit != "" {
			n, _ := strconv.Atoi(m[8])
			tables[unit][m[1]] = row{number(m[2], m[3]), number(m[4], m[5]), m[6], number(m[7], ""), n}
		}
	}
	return tables
}
