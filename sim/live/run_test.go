package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// session opens a session on the embedded Redis whose candidates are a script.
func session(t *testing.T, script string, progress func(Progress)) *Session {
	t.Helper()
	s, err := Open(t.Context(), Options{Redis: "embedded", Command: []string{"sh", "-c", script}, Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func plan(nodes int, schedule ...faults.Step) sim.Plan {
	return sim.Plan{
		Scenario: "s", Subject: "shell", Nodes: nodes, Drift: 0.01, Seed: 1, Schedule: schedule,
		Timings: sim.Timings{Lease: 500 * time.Millisecond, Renew: 150 * time.Millisecond, Retry: 25 * time.Millisecond},
		Writes:  5 * time.Millisecond, Quiet: 10 * time.Millisecond,
	}
}

// leads is a script in which n1 leads for ever, with one write; the others
// wait. It asks this program to write, for a shell cannot.
func leads(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIVE_TEST_SELF", self)
	return `
		echo "$RECOUNT_NODE has lease $RECOUNT_LEASE_MS renew $RECOUNT_RENEW_MS retry $RECOUNT_RETRY_MS${RECOUNT_REQUEST_TIMEOUT_MS:+ time-out $RECOUNT_REQUEST_TIMEOUT_MS}${RECOUNT_SECRET:+ and a secret}"
		if [ "$RECOUNT_NODE" = n1 ]; then
			echo '{"event":"elected","token":7}'
			LIVE_TEST_WRITER='{"node":"n1","election":"e1","token":7,"value":"v"}' "$LIVE_TEST_SELF" >&2
		fi
		exec cat`
}

// A run with candidates of any language goes from their start through its
// faults, on whom they were meant for, to their end, and is recorded whole.
// Candidates that are not steered are not waited for.
func TestRunOfShellCandidates(t *testing.T) {
	var mu sync.Mutex
	var phases []string
	s := session(t, leads(t), func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		if p.Fault == "" {
			phases = append(phases, p.Scenario+" "+p.Phase)
		}
	})
	logs := t.TempDir()
	t.Setenv("RECOUNT_SECRET", "of the harness")
	p := plan(2, faults.Step{For: 10 * time.Millisecond, Fault: faults.Partition{How: faults.CutBoth}, Target: faults.Leader})
	p.Timings.RequestTimeout = 60 * time.Millisecond
	h, err := s.Run(t.Context(), p, logs)
	if err != nil {
		t.Fatal(err)
	}
	var last string
	seen := map[string]int{}
	for _, e := range h.Events {
		if e.Usage != nil || history.Uninjected(e.Fault) {
			continue // where it takes longer than usual
		}
		text := string(e.Kind)
		switch e.Kind {
		case history.Fault:
			text += " " + string(e.Phase) + " " + strings.Join(e.Targets, "+")
			if e.Effective != nil && !*e.Effective {
				t.Errorf("the fault took no effect: %s", e.Evidence)
			}
		case history.Exit:
			text += " " + string(e.Why)
		case history.Note:
			text += " " + e.Text
		case history.Ok:
			text += " " + string(e.Call) + " " + e.Node
		}
		if seen[text]++; e.Kind != history.Note { // what was read off the wire is recorded when all is over
			last = text
		}
	}
	for text, times := range map[string]int{
		"start": 2, "elected": 1, "invoke": 1, "ok write n1": 1, "fault on n1": 1, "fault off n1": 1, "healed": 1, "note end of run": 1,
		"note nothing was read from the wire: no candidate connected to RECOUNT_REDIS_URL": 1,
		"note n1 has lease 500 renew 150 retry 25 time-out 60":                             1, "note n2 has lease 500 renew 150 retry 25 time-out 60": 1, "exit end of run": 2,
	} {
		if seen[text] != times {
			t.Errorf("%q was recorded %d times, want %d", text, seen[text], times)
		}
		delete(seen, text)
	}
	if len(seen) > 0 || last != "exit end of run" {
		t.Errorf("recorded besides: %v; last of all: %s", seen, last)
	}
	if h.Header.World != "live" || h.Header.Lease != 500*time.Millisecond || !strings.HasPrefix(h.Header.Redis, "embedded") || h.Header.ClockError != sim.ClockError {
		t.Errorf("header %+v", h.Header)
	}
	if want := []string{"s started", "s healed", "s done"}; !slices.Equal(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
	if files, err := filepath.Glob(filepath.Join(logs, "n*.log")); err != nil || len(files) != 2 {
		t.Errorf("logs %v, %v", files, err)
	}
}

// Nothing that a candidate has started outlives the run, although it left the
// candidate's process group.
func TestNoOrphanOutlivesRun(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("orphans are found on Linux, and there must be a setsid on PATH")
	}
	file := filepath.Join(t.TempDir(), "pid-")
	s := session(t, `setsid sh -c 'echo $$ >`+file+`$RECOUNT_NODE; exec sleep 600' &
		until [ -s `+file+`$RECOUNT_NODE ]; do sleep 0.01; done`+leads(t), nil)
	if _, err := s.Run(t.Context(), plan(2), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"n1", "n2"} {
		text, err := os.ReadFile(file + node)
		pid, errPID := strconv.Atoi(strings.TrimSpace(string(text)))
		if err := errors.Join(err, errPID); err != nil {
			t.Fatal(err)
		}
		// One that ended may be a zombie still: its new parent is not ours.
		if command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); len(command) > 0 {
			t.Errorf("the orphan of %s outlived the run: %q, %v", node, command, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
}

// A run that is stopped heals, ends its candidates, and returns the history so
// far with the reason.
func TestRunIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := session(t, leads(t), func(p Progress) {
		if p.On {
			cancel()
		}
	})
	h, err := s.Run(ctx, plan(2, faults.Step{For: time.Hour, Fault: faults.Pause{}, Target: faults.Leader}), t.TempDir())
	if !errors.Is(err, context.Canceled) || h == nil {
		t.Fatalf("stopped: %v, history %v", err, h)
	}
	var healed, exits int
	ended := false
	for _, e := range h.Events {
		ended = ended || e.Kind == history.Note && e.Text == history.EndOfRunNote && e.Node == ""
		if e.Why == history.EndOfRun && !ended {
			t.Errorf("%s was stopped before the run had ended", e.Node)
		}
		switch e.Kind {
		case history.Healed:
			healed++
		case history.Exit:
			exits++
		}
	}
	if healed != 1 || exits != 2 {
		t.Errorf("recorded %d times healed, %d exits", healed, exits)
	}
}

// Candidates that end before anybody leads are an error with their last words,
// at once and not after the patience for a first leader.
func TestRunOfUselessCandidates(t *testing.T) {
	s := session(t, `echo 'no such option' >&2; exit 2`, nil)
	begin := time.Now()
	_, err := s.Run(t.Context(), plan(1), t.TempDir())
	var wrong *CandidateError
	if !errors.As(err, &wrong) || wrong.Node != "n1" || !strings.Contains(err.Error(), "it ended at once") || !strings.Contains(err.Error(), "n1.log") {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(begin); took > actTime {
		t.Errorf("it took %v", took)
	}
}

// A plan that needs a leader, and whose candidates never lead, ends after the patience for the
// first leader, before any fault. Each fault would else wait as long again.
func TestRunThatNeedsALeaderEndsWithoutOne(t *testing.T) {
	s := session(t, "exec cat", nil)
	p := plan(2, faults.Step{At: 0, For: time.Millisecond, Fault: faults.Crash{}, Target: faults.Leader})
	p.NeedsLeader = true
	h, err := s.Run(t.Context(), p, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	early := false
	for i := range h.Events {
		e := &h.Events[i]
		early = early || strings.HasPrefix(e.Text, "the run ends early: nobody led within ")
		if e.Kind == history.Fault && !history.Uninjected(e.Fault) {
			t.Errorf("there is a fault: %+v", e)
		}
	}
	if !early {
		t.Error("the history does not say that the run ended early")
	}
}

// A session says which Redis it has while runs borrow and give back.
func TestSessionIsSafeForConcurrentUse(t *testing.T) {
	s := session(t, "true", nil)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			servers, err := s.borrow(t.Context(), sim.OneServer)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.giveBack(servers, true); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if what, _ := s.Redis(); what == "" || !s.Private() {
				t.Errorf("Redis %q, private %v", what, s.Private())
			}
		})
	}
	all.Wait()
}

// The live world says where it runs, where it does not.
func TestOpenElsewhere(t *testing.T) {
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		if _, err := Open(t.Context(), Options{Redis: "parchment"}); err == nil {
			t.Error("a session on a Redis that does not exist")
		}
		return
	}
	if _, err := Open(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), runtime.GOOS) {
		t.Errorf("opened: %v", err)
	}
}

// Where no folder is given, the candidates' logs are kept nowhere: a run that is
// repeated a hundred times must not fill the folder that one happens to be in.
func TestRunWithoutLogs(t *testing.T) {
	r := &run{}
	if got := r.logOf("n1"); got != os.DevNull {
		t.Errorf("n1's log goes to %q", got)
	}
	r.logs = "logs"
	if got := r.logOf("n1"); got != filepath.Join("logs", "n1.log") {
		t.Errorf("n1's log goes to %q", got)
	}
}
