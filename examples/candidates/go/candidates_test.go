// Package candidates_test runs the commands of this module as candidates.
package candidates_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// commands are the candidates of this module, with the least lease that they
// can be given: some take whole seconds only.
var commands = []struct{ name, lease string }{
	{"plain", "1s"}, {"redsync", "1s"}, {"redislock -deadline", "1s"}, {"rueidislock", "1s"}, {"clientgo", "2s"}, {"gozero", "1s"},
}

// report is what the test looks at of a run's report.
type report struct {
	Promises []struct{ Name, Verdict, Reason string }
	Failover struct{ Count int } `json:"failover_ms"`
	Writes   struct{ Accepted int }
}

// Every command leads, works, is replaced after a crash, and keeps what a
// crash does not put to the test. With -short it leaves out the one on Kubernetes'
// client, which takes minutes to compile.
func TestEveryCommandLeads(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server on PATH")
	}
	bin := t.TempDir()
	build(t, "../../..", filepath.Join(bin, "chaos"), "./cmd/chaos")
	for _, c := range commands {
		t.Run(c.name, func(t *testing.T) {
			command, _, _ := strings.Cut(c.name, " ")
			if command == "clientgo" && testing.Short() {
				t.Skip("Kubernetes' client takes minutes to compile: make candidates")
			}
			build(t, ".", bin+"/", "./"+command)
			t.Parallel()
			r := crashLeader(t, bin, c.name, c.lease)
			if r.Failover.Count < 2 || r.Writes.Accepted == 0 {
				t.Errorf("%d failovers, %d writes", r.Failover.Count, r.Writes.Accepted)
			}
			for _, p := range r.Promises {
				switch p.Name {
				case "WellFormed", "LeaseLinearizable", "AtMostOneLeader", "LeaderReturns":
					if p.Verdict == "fail" {
						t.Errorf("%s: %s", p.Name, p.Reason)
					}
				}
			}
		})
	}
}

func build(t *testing.T, folder, into, what string) {
	t.Helper()
	if out, err := exec.Command("go", "build", "-C", folder, "-o", into, what).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", what, err, out)
	}
}

// crashLeader runs a command through the scenario of that name.
func crashLeader(t *testing.T, bin, command, lease string) report {
	t.Helper()
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "chaos"), "run", "crash-leader", "--nodes", "3", "--seed", "1", "--lease", lease,
		"--redis", "process", "--json", "--out", out, "--exec", filepath.Join(bin, command))
	var errors bytes.Buffer
	cmd.Stderr = &errors
	text, err := cmd.Output() // its status says what the report says
	var object struct{ Runs []report }
	if json.Unmarshal(text, &object) != nil || len(object.Runs) != 1 {
		t.Fatalf("%v\n%s%s", err, text, errors.String())
	}
	logs, err := filepath.Glob(filepath.Join(out, "crash-leader", "logs", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Errorf("no logs: %v", err)
	}
	for _, name := range logs {
		if content, err := os.ReadFile(name); err != nil || bytes.Contains(content, []byte("panic:")) {
			t.Errorf("%s: %v\n%s", filepath.Base(name), err, content)
		}
	}
	return object.Runs[0]
}
