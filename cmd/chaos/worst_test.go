package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/virtual"
)

// searchFor runs chaos worst and returns its status and output.
func searchFor(t *testing.T, subjects map[string]virtual.Subject, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr strings.Builder
	m := Main{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, Subjects: subjects}
	status = m.Run(t.Context(), append([]string{"worst"}, args...))
	return status, stdout.String(), stderr.String()
}

// A search prints the worst case with the terms of its bound, and leaves a file
// that is read as a case.
func TestWorst(t *testing.T) {
	withGoAlone(t)
	for goal, want := range map[string]string{
		"failover": "longest failover found: 15.", "dual-belief": "no two beliefs overlap: the smallest gap found",
	} {
		dir := t.TempDir()
		status, out, errs := searchFor(t, nil, goal, "--cases", "200", "--seed", "1", "--out", dir)
		file := filepath.Join(dir, "worst-"+goal+".json")
		if status != statusKept || !strings.Contains(out, want) || !strings.Contains(out, file) || !strings.Contains(out, "chaos worst "+goal+" --subject recount --seed 1 --cases 200") {
			t.Errorf("status %d\n%s%s", status, out, errs)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fuzz.Parse(text); err != nil {
			t.Error(err)
		}
	}
}

// lingering waits longer than it was told to.
type lingering struct{ *machine.Machine }

func (l lingering) Step(now time.Duration, in machine.Input) machine.Output {
	if in.Result == machine.Held {
		in.Remaining += time.Second
	}
	return l.Machine.Step(now, in)
}

// A worst case beyond the bound is a failure, with its reason.
func TestWorstFails(t *testing.T) {
	withGoAlone(t)
	subjects := map[string]virtual.Subject{"lingering": {Decide: func(cfg machine.Config) virtual.Decider {
		return lingering{machine.New(cfg)}
	}}}
	status, out, errs := searchFor(t, subjects, "failover", "--subject", "lingering", "--cases", "2000", "--seed", "1", "--nodes", "3", "--json", "--out", t.TempDir())
	var object worstCase
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	if status != statusBroken || object.Verdict != "fail" || !strings.Contains(object.Reason, "need not wait for") || object.Length <= object.Limit || len(object.Bound) < 10 {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

// Wrong use is said in one line, with exit status 64.
func TestWorstRefuses(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"fun"}, `there is nothing called "fun" to search for: give failover or dual-belief`},
		{[]string{""}, "give failover or dual-belief"},
		{[]string{"failover", "dual-belief"}, "give one thing"},
		{nil, "failover or dual-belief"},
		{[]string{"failover", "--nodes", "1"}, "at least 2"},
		{[]string{"failover", "--cases", "-1"}, "--cases -1"},
		{[]string{"dual-belief", "--subject", "nobody"}, `no subject is called "nobody"`},
		{[]string{"dual-belief", "--seed", "x"}, "seed"},
	} {
		status, out, errs := searchFor(t, nil, test.args...)
		if status != statusUsage || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, test.want) {
			t.Errorf("%q: status %d, output %q, %q", test.args, status, out, errs)
		}
	}
}
