package chaostest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/candidate"
)

// bubblePlace is fake time. Each run has a process of its own: an elector that panics,
// waits for ever or leaves goroutines behind is then no matter to the next one, and
// neither is what the test or others in this process do.
type bubblePlace struct {
	settings *settings
	test     string     // the name of the test that called Run
	drawn    *fuzz.Case // the plan to run; nil: that of the scenario
}

var _ place = (*bubblePlace)(nil)

func (b *bubblePlace) world() World { return Bubble }

func (b *bubblePlace) lacks(s scenarios.Scenario) string {
	plan, err := s.Plan(b.settings.set)
	if err != nil {
		return err.Error()
	}
	if why := bubble.Refuses(plan); why != "" {
		return s.Name + " cannot run in fake time: " + why
	}
	return ""
}

// job is what such a process is told.
type job struct {
	Scenario string // that of the settings by this name
	Set      scenarios.Settings
	Case     string // or the plan that was drawn, as package fuzz writes it
	Logs     string // folder for the candidates' logs
	Out      string // file for the history
}

// bubbleTime bounds how long a run may take in real time, if the test itself has no
// earlier end.
const bubbleTime = 2 * time.Minute

// Run implements scenarios.World.
func (b *bubblePlace) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	folder, err := os.MkdirTemp("", "chaostest-bubble-")
	if err != nil {
		return nil, fmt.Errorf("chaostest: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // what is left of it is in the way of nobody
	j := job{Scenario: plan.Scenario, Set: b.settings.set, Logs: logs, Out: filepath.Join(folder, "history.jsonl")}
	if b.drawn != nil {
		text, err := b.drawn.Marshal()
		if err != nil {
			return nil, err
		}
		j.Case = string(text)
	}
	return b.start(ctx, j, filepath.Join(folder, "job.json"))
}

// start starts the process and waits for its history.
func (b *bubblePlace) start(ctx context.Context, j job, file string) (*history.History, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("chaostest: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("chaostest: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("chaostest: find this program: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, bubbleTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, again(b.test)...)
	cmd.Env = append(os.Environ(), envJob+"="+file, "GOMAXPROCS=1")
	alive, err := cmd.StdinPipe() // which ends with this process
	if err != nil {
		return nil, fmt.Errorf("chaostest: %w", err)
	}
	defer func() { _ = alive.Close() }() // it has ended by then
	cmd.WaitDelay = 5 * time.Second      // for other processes that have its output
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	ran := cmd.Run()
	log := b.keep(j.Logs, said.Bytes())
	if saved, err := os.Open(j.Out); err == nil {
		defer func() { _ = saved.Close() }() // it was only read
		return history.Load(saved)
	}
	return nil, ended(ctx, ran, said.String(), log)
}

// keep keeps what the process said, beside the candidates' logs.
func (b *bubblePlace) keep(logs string, said []byte) (file string) {
	if logs == "" || len(said) == 0 {
		return ""
	}
	file = filepath.Join(logs, "output.log")
	if os.WriteFile(file, said, 0o600) != nil {
		return ""
	}
	return file
}

// ended is why a process has ended that left no history.
func ended(ctx context.Context, ran error, said, log string) error {
	where := ""
	if log != "" {
		where = "; see " + log
	}
	if words := panicOf(said); words != "" {
		return fmt.Errorf(blame+"panicked, outside of the goroutine that called New: %s%s", words, where)
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the run in fake time did not come to its end within %v, or the test's -timeout: does the elector wait in a loop without sleeping, or for something outside of fake time?%s", bubbleTime, where)
	case ctx.Err() != nil:
		return ctx.Err()
	case ran == nil:
		return fmt.Errorf("the process for fake time ended before it came to chaostest.Run: what stands before it in the test, or TestMain, did not let it%s", where)
	default:
		return fmt.Errorf("the process for fake time ended (%w): %s%s", ran, lastLine(said), where)
	}
}

// panicOf is with what a process panicked that said this, "" if it did not.
func panicOf(said string) string {
	for line := range strings.Lines(said) {
		for _, begin := range []string{"panic: ", "fatal error: "} {
			if words, found := strings.CutPrefix(strings.TrimSpace(line), begin); found {
				return words
			}
		}
	}
	return ""
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// inBubble is the process's side: it runs the plan, writes the history, and ends.
func (s *settings) inBubble(t *testing.T, file string) {
	t.Helper()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(statusFailed) // nobody waits for the history any more
	}()
	err := s.carryOut(t, file)
	fmt.Fprintln(os.Stderr, "chaostest:", err)
	os.Exit(statusFailed)
}

func (s *settings) carryOut(t *testing.T, file string) error {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	plan, err := j.plan()
	if err != nil {
		return err
	}
	world := &bubble.World{Subjects: map[string]candidate.Subject{subject: s.compete}}
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "Bubble", F: func(t *testing.T) {
		bubbletest.Run(t, plan.Seed, func(t *testing.T) {
			h, err := world.Run(t.Context(), plan, j.Logs)
			if err == nil {
				err = save(h, j.Out)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "chaostest:", err)
				os.Exit(statusFailed)
			}
			os.Exit(0) // from within: what the elector has left behind would keep the bubble from ending
		})
	}}})
	return errors.New("the bubble ended without having run the plan")
}

// plan is the one to carry out.
func (j *job) plan() (sim.Plan, error) {
	if j.Case != "" {
		c, err := fuzz.Parse([]byte(j.Case))
		return drawnPlan(&c), err
	}
	found, err := scenarios.Find(j.Scenario)
	if err != nil {
		return sim.Plan{}, err
	}
	return found[0].Plan(j.Set)
}

// save writes a history, which is there as a whole or not at all.
func save(h *history.History, file string) error {
	var text bytes.Buffer
	if err := h.Write(&text); err != nil {
		return err
	}
	if err := os.WriteFile(file+".part", text.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}
