// Package candidates_test runs the examples in this folder as candidates.
package candidates_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// run is what the tests look at of one run's report.
type run struct {
	Scenario string `json:"scenario"`
	Verdict  string `json:"verdict"`
	Promises []promise
}

type promise struct {
	Name, Verdict, Reason string
	Events                []struct{ Node, Text string } // the evidence
}

// String is what the test says of a promise that it did not expect.
func (p promise) String() string { return fmt.Sprintf("%s: %s: %s", p.Name, p.Verdict, p.Reason) }

// linearizable is the promise that rests on the requests.
func (r run) linearizable() promise {
	for _, p := range r.Promises {
		if p.Name == "LeaseLinearizable" {
			return p
		}
	}
	return promise{Name: "LeaseLinearizable", Verdict: "absent"}
}

// chaos builds the command, once.
var chaos = sync.OnceValues(func() (string, error) {
	path, err := filepath.Abs(filepath.Join(folder, "chaos"))
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", path, "../../cmd/chaos")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // it may have been compiled so before
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// python is an interpreter that has redis-py: Debian's python3-redis is for
// Debian's own interpreter only, which need not be the first one on PATH.
var python = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import redis").Run() == nil {
			return name
		}
	}
	return ""
})

// needs skips the test where a program is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if name == "python" {
			if python() == "" {
				t.Skip("no python3 here has redis-py: install python3-redis")
			}
		} else if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s on PATH", name)
		}
	}
}

// try runs scenarios with a command as the candidates.
func try(t *testing.T, seed int, command string, scenarios ...string) []run {
	t.Helper()
	path, err := chaos()
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"run"}, scenarios, []string{
		"--exec", command, "--lease", "1s", "--nodes", "3", "--seed", strconv.Itoa(seed), "--redis", "process", "--json", "--out", t.TempDir(),
	})
	cmd := exec.CommandContext(t.Context(), path, args...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output() // its status says what the object says
	var object struct{ Runs []run }
	if json.Unmarshal(out, &object) != nil || len(object.Runs) != len(scenarios) {
		t.Fatalf("chaos %s: %v\n%s%s", strings.Join(args, " "), err, out, errors.String())
	}
	return object.Runs
}

// tries is how often a busy machine may spoil a run: these candidates are
// scripts, which need to be let run several times in a second.
const tries = 3

// retried runs scenarios, and those that end otherwise than they should once
// more, with another seed. It returns what was wrong with those that never did.
func retried(t *testing.T, wrong func(run) string, command string, scenarios ...string) {
	t.Helper()
	left := scenarios
	for seed := 1; seed <= tries && len(left) > 0; seed++ {
		var again []string
		for _, r := range try(t, seed, command, left...) {
			if why := wrong(r); why != "" {
				t.Logf("%s, seed %d: %s", r.Scenario, seed, why)
				again = append(again, r.Scenario)
			}
		}
		left = again
	}
	if len(left) > 0 {
		t.Errorf("not once in %d runs as it should be: %s", tries, strings.Join(left, ", "))
	}
}

// Who keeps to what one Redis allows is acquitted, with its requests taken from
// the wire.
func TestSafeCandidatesAreAcquitted(t *testing.T) {
	for _, test := range []struct {
		name      string
		needs     []string
		command   func() string
		scenarios []string
	}{
		{"python", []string{"python"}, func() string { return python() + " python/safe.py" }, []string{"pause-leader", "partition-leader"}},
		{"shell", []string{"redis-cli", "curl", "timeout"}, func() string { return "sh shell/safe.sh" }, []string{"resign-leader"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			needs(t, append(test.needs, "redis-server")...)
			retried(t, func(r run) string { return notAcquitted(t, r) }, test.command(), test.scenarios...)
		})
	}
}

// notAcquitted says what is missing for an acquittal. What a busy machine can
// spoil is no reason to call requests impossible that were possible: that is
// never tried again.
func notAcquitted(t *testing.T, r run) string {
	if p := r.linearizable(); p.Verdict == "fail" {
		t.Errorf("%s: an innocent is accused: %v: %+v", r.Scenario, p, p.Events)
	}
	if r.linearizable().Verdict != "pass" || r.Verdict != "pass" {
		return fmt.Sprint(r.Promises)
	}
	return ""
}

// A candidate that says nothing is judged by what it asks of Redis, and accused
// of nothing.
func TestSilentCandidate(t *testing.T) {
	t.Parallel()
	needs(t, "python", "redis-server")
	retried(t, func(r run) string {
		if r.Verdict == "unknown" && r.linearizable().Verdict == "pass" {
			return "" // it does not say what it believes
		}
		return notAcquitted(t, r)
	}, python()+" python/safe.py --silent", "pause-leader")
}

// operation is how the evidence names a request.
var operation = regexp.MustCompile(`\w+ \(operation \d+\)`)

// Who renews and deletes whatever lease is there is convicted, and two requests
// of two candidates are named that cannot both have been granted.
func TestUnsafeCandidateIsConvicted(t *testing.T) {
	t.Parallel()
	needs(t, "python", "redis-server")
	retried(t, func(r run) string {
		p := r.linearizable()
		nodes := map[string]bool{}
		for _, e := range p.Events {
			if operation.MatchString(e.Text) {
				nodes[e.Node] = true
			}
		}
		if p.Verdict != "fail" || len(nodes) < 2 {
			return fmt.Sprintf("%v; %+v", p, p.Events)
		}
		return ""
	}, python()+" python/unsafe.py", "pause-leader", "partition-leader")
}

// folder is where chaos is built.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "recount-examples-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(folder) // the system clears it away later
	os.Exit(status)
}
