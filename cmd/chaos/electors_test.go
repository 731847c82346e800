package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/reports"
)

const electorsFolder = "testdata/electors"

// foreign is one line of the table of external electors.
type foreign struct {
	name, command, scenario string
	verdict                 string
	status                  int
	linearizable, oneLeader string
	strange                 string // what the history must say was not understood
	flags                   []string
}

// foreigners reads the table.
func foreigners(t *testing.T) []foreign {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(electorsFolder, "TABLE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var list []foreign
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 12 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		status, err := strconv.Atoi(cells[7])
		if err != nil {
			continue // a heading
		}
		list = append(list, foreign{
			name: cells[0], command: cells[1], scenario: cells[2], verdict: cells[6], status: status,
			linearizable: cells[8], oneLeader: cells[9], strange: cells[10], flags: strings.Fields(cells[11]),
		})
	}
	return list
}

// buildElectors makes a folder with the electors in Go, when it is called first.
func buildElectors(t *testing.T) func() string {
	dir := t.TempDir()
	return sync.OnceValue(func() string {
		build := exec.Command("go", "build", "-o", dir, "./"+electorsFolder+"/go/watch", "./"+electorsFolder+"/go/getset")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // it may have been compiled so before
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return dir
	})
}

// exec is the command that runs the elector; those in Go are in the folder that is
// built.
func (f foreign) exec(t *testing.T, build func() string) string {
	t.Helper()
	kind, _, _ := strings.Cut(f.command, "/")
	path, err := filepath.Abs(filepath.Join(electorsFolder, f.command))
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string][]string{"python": {"python3"}, "shell": {"redis-cli", "curl", "timeout"}}[kind]
	for _, tool := range append(tools, "redis-server") {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED, NOT TRIED: %s needs %s, which is not on PATH", f.name, tool)
		}
	}
	switch kind {
	case "python":
		return "python3 -B " + path
	case "shell":
		return "sh " + path
	}
	return filepath.Join(build(), filepath.Base(path))
}

var everyElector = flag.Bool("every-elector", false, "run all external electors, and not a third of them, another one each day")

// External electors of many kinds get the verdicts that were written down before
// they were run for the first time: a third of them, another one each day.
func TestExternalElectors(t *testing.T) {
	withoutRace(t)
	if testing.Short() {
		t.Skip("each runs for a quarter of a minute")
	}
	list := foreigners(t)
	if len(list) < 26 {
		t.Fatalf("the table has %d electors", len(list))
	}
	build := buildElectors(t)
	for i, f := range list {
		t.Run(f.name, func(t *testing.T) {
			if !*everyElector && i%3 != time.Now().YearDay()%3 {
				t.Skip("it is run on another day, and by go test ./cmd/chaos -run TestExternalElectors -every-elector")
			}
			t.Parallel()
			command := f.exec(t, build)
			const tries = 3 // a busy machine may spoil a run
			for try := 1; ; try++ {
				why := f.differs(t, command, try)
				switch {
				case why == "":
					return
				case try == tries:
					t.Fatalf("not once in %d runs as it should be: %s", tries, why)
				}
				t.Logf("run %d: %s", try, why)
			}
		})
	}
}

// differs runs the elector and says what is not as the table has it. An accusation
// that the table does not have is no matter of chance. How long a failover takes is not
// compared for shell scripts, which start a process for every request: on a busy machine
// that takes longer than the bound.
func (f foreign) differs(t *testing.T, command string, seed int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	args := []string{
		"run", f.scenario, "--exec", command, "--redis", "process", "--lease", strconv.Itoa(seed) + "s", "--nodes", "5", // the next try has a longer one
		"--seed", strconv.Itoa(seed), "--json", "--out", dir,
	}
	args = append(args, f.flags...)
	if strings.HasPrefix(f.scenario, "clock-") {
		args = append(args, "--clocks")
	}
	r := chaos(t, t.Context(), nil, args...)
	var object struct {
		Runs []struct {
			Verdict  string
			Promises []struct{ Name, Verdict, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || len(object.Runs) != 1 {
		t.Fatalf("%v: status %d\n%s%s", err, r.status, r.out, r.errors)
	}
	var wrong, all []string
	without := "pass" // the verdict without FailoverBound
	late := false
	want := map[string]string{string(checker.LeaseLinearizable): f.linearizable, string(checker.AtMostOneLeader): f.oneLeader}
	maps.DeleteFunc(want, func(_, verdict string) bool { return verdict == "" }) // not asked
	for _, p := range object.Runs[0].Promises {
		all = append(all, fmt.Sprintf("%s %s: %s", p.Name, p.Verdict, p.Reason))
		switch {
		case p.Name == string(checker.FailoverBound):
			late = p.Verdict == "fail" && strings.HasPrefix(f.command, "shell/")
		case p.Verdict == "fail", p.Verdict == "unknown" && without == "pass":
			without = p.Verdict
		}
		w, asked := want[p.Name]
		if !asked {
			continue
		}
		delete(want, p.Name)
		if p.Verdict == w {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s is %s, not %s: %s", p.Name, p.Verdict, w, p.Reason))
		if p.Verdict == "fail" {
			t.Errorf("a wrong accusation: %s: %s", p.Name, p.Reason)
		}
	}
	if len(want) > 0 {
		wrong = append(wrong, fmt.Sprintf("not judged: %v", want))
	}
	got, status := object.Runs[0].Verdict, r.status
	if late {
		got, status = without, map[string]int{"pass": 0, "fail": 1, "unknown": 2}[without]
	}
	if got != f.verdict || status != f.status {
		wrong = append(wrong, fmt.Sprintf("verdict %s, status %d, not %s, %d: %s", got, status, f.verdict, f.status, strings.Join(all, "; ")))
	}
	read := understood(t, filepath.Join(dir, f.scenario, "history.jsonl"))
	if _, strange, _ := strings.Cut(read, "not understood: "); f.strange == "" && strange != "" || !strings.Contains(strange, f.strange) {
		wrong = append(wrong, fmt.Sprintf("%q is said to be not understood, not %q", read, f.strange))
	}
	return strings.Join(wrong, "\n")
}

// understood is what a history says of how much was understood.
func understood(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Text string
			Wire *struct{}
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Wire != nil {
			return e.Text
		}
	}
	return "nothing was read"
}

// Promises that the user does not ask for are measured, with the reason, and do not decide
// the verdict. The header of the history and the command that repeats the run name them.
func TestNotAsked(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	const promises = "AtMostOneLeader,BeliefWithinLease,StepsDownOnLoss" // undecided, because this elector tells nothing
	command := foreign{name: "function", command: "python/function.py"}.exec(t, nil)
	r, dir := decided(t, nil, "run", "steady", "--exec", command, "--redis", "process", "--json", "--not-asked", promises)
	var object struct{ Runs []reports.Report }
	if err := json.Unmarshal([]byte(r.out), &object); err != nil || len(object.Runs) != 1 || r.status != 0 {
		t.Fatalf("%v: status %d\n%s%s", err, r.status, r.out, r.errors)
	}
	const reason = "waived: not asked for by --not-asked (measured all the same: "
	measured := 0
	for _, p := range object.Runs[0].Measured {
		if strings.Contains(promises, string(p.Promise)) && p.Verdict == checker.Unknown && strings.HasPrefix(p.Reason, reason) {
			measured++
		}
	}
	if measured != 3 {
		t.Errorf("measured: %+v", object.Runs[0].Measured)
	}
	text, err := os.ReadFile(filepath.Join(dir, "steady", "history.jsonl"))
	if header, _, _ := strings.Cut(string(text), "\n"); err != nil || !strings.Contains(header, `"StepsDownOnLoss":"not asked for by --not-asked"`) || !strings.Contains(header, "--not-asked "+promises) {
		t.Errorf("%v: the header is %s", err, header)
	}
}

// If no lock is found, one line says what was seen and what to do; the run ends
// early, and is undecided.
func TestNoLockIsFound(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"redis-cli", "redis-server"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED, NOT TRIED: there is no %s on PATH", tool)
		}
	}
	command := `while :; do redis-cli -u "$RECOUNT_REDIS_URL" ZADD "$RECOUNT_ELECTION:queue" NX 1 "$RECOUNT_NODE"; sleep 0.2; done >&2`
	dir := filepath.Join(t.TempDir(), "out")
	r := chaos(t, t.Context(), nil, append([]string{"run", "crash-leader", "steady", "--redis", "process", "--exec", "sh -c '" + command + "'"}, small(dir)...)...)
	lines := 0
	for line := range strings.Lines(r.out) {
		if strings.Contains(line, "No lock was found") {
			lines++
			if !strings.Contains(line, "× ZADD") || !strings.Contains(line, "--lock-key") {
				t.Error(line)
			}
		}
	}
	if lines != 1 || r.status != 2 {
		t.Errorf("%d lines, status %d:\n%s%s", lines, r.status, r.out, r.errors)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "crash-leader", "history.jsonl")); err != nil || !strings.Contains(string(text), "the run ends early") || strings.Contains(string(text), `"healed"`) {
		t.Errorf("the run did not end early: %v", err)
	}
}

// The documented examples end with the exit status that their page promises.
func TestDocumentedExamples(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} { // Debian's python3-redis is for Debian's own
		if python == "" && exec.Command(name, "-c", "import redis").Run() == nil {
			python = name
		}
	}
	if _, err := exec.LookPath("redis-server"); err != nil || python == "" {
		t.Skip("SKIPPED, NOT TRIED: redis-server or a python3 with redis-py is missing")
	}
	page, err := os.ReadFile("../../docs/candidate-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	promised := regexp.MustCompile("its verdict (?:in `steady` and `crash-leader` )?is `(\\w+)`, exit status (\\d)").FindAllStringSubmatch(strings.ReplaceAll(string(page), "Its", "its"), -1)
	if len(promised) != 2 {
		t.Fatalf("the page promises %q", promised)
	}
	for i, name := range []string{"candidate.py", "fenced_candidate.py"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			example(t, python, name, promised[i][1], promised[i][2])
		})
	}
}

// example runs an example of the documents, and demands that it ends as promised.
func example(t *testing.T, python, name, verdict, status string) {
	t.Helper()
	path, err := filepath.Abs("../../docs/examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var r result
	for range 3 { // a busy machine may spoil a run
		r = chaos(t, t.Context(), nil, "run", "steady", "crash-leader", "--exec", python+" "+path, "--redis", "process", "--lease", "1s", "--seed", "1",
			"--out", filepath.Join(t.TempDir(), "out"))
		if strconv.Itoa(r.status) == status && strings.Contains(r.out, "\n"+verdict+" ") {
			return
		}
	}
	t.Errorf("%s: status %d, promised %s, %s\n%s", name, r.status, status, verdict, r.out)
}
