package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/garbage"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/space"
)

// asWorker is the first argument of a program that is a worker. The second one is the limit
// of a case, 0 for the default.
const asWorker = "recount-search-worker"

// request asks a worker to try a case, or to carry out a plan.
type request struct {
	Space string          `json:"space,omitempty"`
	Case  json.RawMessage `json:"case,omitempty"`
	Whole bool            `json:"whole,omitempty"` // the answer has the log and the history

	Plan *sim.Plan `json:"plan,omitempty"`
	Logs string    `json:"logs,omitempty"` // the folder for those of the plan's candidates
}

// answer is what came of it.
type answer struct {
	Findings []space.Finding `json:"findings"`
	Effects  []string        `json:"effects"` // nil if the space does not tell
	Log      []string        `json:"log"`
	History  []byte          `json:"history"`
	Left     bool            `json:"left"`              // something of the case is still running
	Refused  string          `json:"refused,omitempty"` // why the plan was not carried out
}

// Main runs a worker and exits, if this process was started as one. Bubbles need a test,
// so a worker is a program of package testing with one test.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != asWorker {
		return
	}
	limit, err := time.ParseDuration(os.Args[2])
	if err != nil {
		panic("search: " + err.Error()) // a searcher has written it
	}
	if limit > 0 {
		bubbletest.Limit(limit)
	}
	answers := os.Stdout
	os.Stdout = os.Stderr // package testing writes there
	os.Args = []string{os.Args[0], "-test.timeout=0"}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "Cases", F: func(t *testing.T) { serve(t, os.Stdin, answers) },
	}}, nil, nil)
}

// serve tries cases until there are no more requests.
func serve(t *testing.T, requests io.Reader, answers io.Writer) {
	defer garbage.Seldom()()
	in, out := json.NewDecoder(requests), json.NewEncoder(answers)
	for {
		var r request
		if err := in.Decode(&r); err != nil {
			return // the other end has closed it, or is gone
		}
		a, err := r.carryOut(t)
		if err != nil {
			t.Error(err)
			return
		}
		if out.Encode(a) != nil {
			return // likewise
		}
	}
}

// carryOut tries the case, or carries out the plan.
func (r *request) carryOut(t *testing.T) (answer, error) {
	if r.Plan != nil {
		return r.plan(t)
	}
	s, err := Find(r.Space)
	if err != nil {
		return answer{}, err
	}
	c, err := s.parse(r.Case)
	if err != nil {
		return answer{}, err
	}
	return r.answer(Try(t, c))
}

func (r *request) answer(o space.Outcome) (answer, error) {
	a := answer{Findings: o.Findings}
	if o.Effects != nil {
		maps.DeleteFunc(o.Effects, func(_ string, had bool) bool { return !had })
		a.Effects = append([]string{}, slices.Sorted(maps.Keys(o.Effects))...)
	}
	a.Left = slices.ContainsFunc(o.Findings, func(f space.Finding) bool { return f.Obligation == rests })
	if !r.Whole {
		return a, nil
	}
	a.Log = o.Log
	if o.History == nil {
		return a, nil
	}
	text, err := historyText(o.History)
	a.History = text
	return a, err
}

// worker is a process that tries one case after the other. It is started when it is
// needed, and again after a case that it did not survive. It is used by one goroutine
// at a time.
type worker struct {
	limit  time.Duration // of a case; 0: the default
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	errors *tail
}

// try returns what came of a case. The error is not nil only if no worker can be started,
// or the context is done.
func (w *worker) try(ctx context.Context, s *Space, c Case, whole bool) (answer, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return answer{}, fmt.Errorf("search: case %d of %s: %w", c.Number(), s.Name, err)
	}
	return w.ask(ctx, request{Space: s.Name, Case: text, Whole: whole})
}

// ask returns the worker's answer. A worker that died of the request is a finding.
func (w *worker) ask(ctx context.Context, r request) (answer, error) {
	if err := w.start(); err != nil {
		return answer{}, err
	}
	process := w.cmd.Process
	defer context.AfterFunc(ctx, func() { _ = process.Kill() })() // it may be gone
	w.errors.reset()
	var a answer
	err := json.NewEncoder(w.in).Encode(r)
	if err == nil {
		err = w.out.Decode(&a)
	}
	switch {
	case ctx.Err() != nil:
		w.close()
		return answer{}, ctx.Err()
	case err != nil:
		w.close()
		if w.errors.outOfTime() {
			return answer{}, errors.New("search: the system allows this program no more time of the processor")
		}
		return answer{Findings: []space.Finding{w.errors.finding(err)}, Effects: []string{}}, nil
	case a.Left:
		w.close()
	}
	return a, nil
}

// start starts the process, if it does not run.
func (w *worker) start() error {
	if w.cmd != nil {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("search: no worker can be started: %w", err)
	}
	cmd := exec.Command(program, asWorker, w.limit.String())
	// One processor for each worker: then a number repeats its case, nearly always.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOTRACEBACK=all")
	w.errors = &tail{}
	cmd.Stderr = w.errors
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("search: no worker can be started: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("search: no worker can be started: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("search: no worker can be started: %w", err)
	}
	w.cmd, w.in, w.out = cmd, in, json.NewDecoder(out)
	return nil
}

// patience is how long a worker has to end that has nothing to do any more.
const patience = time.Second

// close ends the process, if it runs.
func (w *worker) close() {
	if w.cmd == nil {
		return
	}
	_ = w.in.Close() // the worker may be gone
	process := w.cmd.Process
	timer := time.AfterFunc(patience, func() { _ = process.Kill() })
	_ = w.cmd.Wait() // its status says nothing that its output does not
	timer.Stop()
	w.cmd = nil
}

// tail keeps the beginning of a worker's last words: a panic and its stack. It is safe
// for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// reset forgets what was written about earlier cases.
func (l *tail) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = nil
}

// mostText is how much is kept of a worker's last words.
const mostText = 1 << 20

// Write implements io.Writer.
func (l *tail) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text[:min(len(text), mostText-len(l.text))]...)
	return len(text), nil
}

// lastWords begin what the runtime writes of a process that it ends.
var lastWords = regexp.MustCompile(`(?m)^(panic: |fatal error: |runtime: )(.*)$`)

// outOfTime reports whether the system has ended the worker because of a limit that is not
// the search's own.
func (l *tail) outOfTime() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.text, []byte("SIGXCPU"))
}

// finding says of what a worker has died.
func (l *tail) finding(err error) space.Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := lastWords.FindSubmatch(l.text)
	switch {
	case m == nil && errors.Is(err, io.EOF):
		return space.Finding{Obligation: ends, Details: "the process that ran the case was killed"}
	case m == nil:
		return space.Finding{Obligation: ends, Details: err.Error()}
	}
	words := string(m[2])
	if text, is := strings.CutPrefix(words, bubbletest.Endless); is {
		return space.Finding{Obligation: ends, Details: text}
	}
	return space.Finding{Obligation: noPanic, Details: words + where(string(l.text))}
}

// frame is a line of a stack: a function of the module, called in the bubble.
var frame = regexp.MustCompile(`(?m)^(github\.com/recount-io/recount/[^\s(]+(?:\(\*\w+\))?[^\s(]*)\(`)

// where names the first function of ours in the stack of a panic.
func where(text string) string {
	if m := frame.FindStringSubmatch(text); m != nil {
		return " in " + strings.TrimPrefix(m[1], "github.com/recount-io/recount/")
	}
	return ""
}
