package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/live/warden"
	"github.com/recount-io/recount/sim/protocol"
)

// maxLine bounds one line of a candidate's output.
const maxLine = 1 << 20

// candidate is one candidate of a run: a command that is started, and started
// again after it crashed, with its own way to the store.
type candidate struct {
	node     string
	command  []string
	env      []string // without what changes between starts
	logs     string   // path of the file that gets standard error
	recorder *history.Recorder
	warden   *warden.Warden
	steered  bool // speaks the part of the protocol that steers

	mu      sync.Mutex
	process *process // nil while none runs
	clocks  clocks
}

// clocks are the clocks that a candidate should keep.
type clocks struct {
	rate   float64
	offset time.Duration // of the wall clock
}

// process is one incarnation of a candidate.
type process struct {
	cmd    *exec.Cmd
	system *warden.Process
	stdin  io.WriteCloser
	ready  chan struct{}      // closed when it waits for the go
	clocks chan protocol.Line // its reports about its clocks
	done   chan struct{}      // closed when it has ended and all it said is recorded
	status string             // how it ended; after done
	why    atomic.Value       // history.Why: what the harness did to end it

	operations map[int64]history.Event // invoked and not completed, by the number it gave them
	numbers    map[int64]int64         // its numbers of operations to the history's
}

// start starts a new incarnation. It returns at once.
func (c *candidate) start() (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	log, err := os.OpenFile(c.logs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("live: log of %s: %w", c.node, err)
	}
	defer log.Close()
	cmd := exec.Command(c.command[0], c.command[1:]...)
	cmd.Env = append(slices.Clone(c.env),
		fmt.Sprintf("%s=%g", protocol.EnvClockRate, c.clocks.rate),
		fmt.Sprintf("%s=%d", protocol.EnvClockOffset, c.clocks.offset.Milliseconds()))
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("live: start %s: %w", c.node, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("live: start %s: %w", c.node, err)
	}
	system, err := c.warden.Start(cmd)
	if err != nil {
		return nil, &CandidateError{Node: c.node, Err: fmt.Errorf("cannot be started: %w", err)}
	}
	p := &process{
		cmd: cmd, system: system, stdin: stdin,
		ready: make(chan struct{}), clocks: make(chan protocol.Line, 8), done: make(chan struct{}),
		operations: map[int64]history.Event{}, numbers: map[int64]int64{},
	}
	c.process = p
	c.recorder.Stamp(history.Event{Kind: history.Start, Node: c.node})
	go c.follow(p, stdout)
	return p, nil
}

// follow records what a process says, until it ends.
func (c *candidate) follow(p *process, stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		c.hear(p, lines.Bytes())
	}
	_, _ = io.Copy(io.Discard, stdout) // after a line too long to be one of the protocol
	_ = p.system.Wait()                // its state says more than the error
	p.status = p.cmd.ProcessState.String()
	for _, number := range slices.Sorted(maps.Keys(p.operations)) {
		pending := p.operations[number]
		pending.Kind, pending.Error = history.Info, "the process ended"
		c.recorder.Stamp(pending)
	}
	why, asked := p.why.Load().(history.Why)
	if !asked {
		why = history.ByItself
	}
	c.recorder.Stamp(history.Event{Kind: history.Exit, Node: c.node, Why: why, Text: p.status})
	c.mu.Lock()
	if c.process == p {
		c.process = nil
	}
	c.mu.Unlock()
	close(p.done)
}

// hear records one line of a process.
func (c *candidate) hear(p *process, text []byte) {
	line, understood := protocol.Parse(text)
	if !understood {
		if text = bytes.TrimSpace(text); len(text) > 0 {
			c.recorder.Stamp(history.Event{Kind: history.Note, Node: c.node, Text: string(text)})
		}
		return
	}
	switch line.Name {
	case protocol.EventReady:
		close(p.ready)
		return
	case protocol.EventClock:
		select {
		case p.clocks <- line:
		default: // nobody asked
		}
		return
	}
	e := line.Event
	e.Node, e.Election = c.node, ""
	now := c.recorder.Now()
	e.At = now
	if line.At != nil {
		e.At = min(*line.At, now)
	}
	if line.UntilMS != nil {
		e.Until = history.At(e.At + time.Duration(*line.UntilMS*float64(time.Millisecond)))
	}
	if !p.number(&e, c.recorder) {
		c.recorder.Stamp(history.Event{Kind: history.Note, Node: c.node, Text: "completion of no operation: " + string(text)})
		return
	}
	c.recorder.Record(e)
}

// number gives an operation's event its number in the history. It reports
// false for the completion of an operation that was never invoked.
func (p *process) number(e *history.Event, r *history.Recorder) bool {
	switch e.Kind {
	case history.Invoke:
		own := e.Op
		p.numbers[own] = r.NextOp()
		e.Op = p.numbers[own]
		pending := *e
		pending.Until = nil
		p.operations[own] = pending
	case history.Ok, history.Fail, history.Info:
		own := e.Op
		if _, pending := p.operations[own]; !pending {
			return false
		}
		e.Op = p.numbers[own]
		delete(p.operations, own)
		delete(p.numbers, own)
	}
	return true
}

// running returns the present incarnation, or an error if there is none.
func (c *candidate) running() (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return nil, fmt.Errorf("live: %s is not running", c.node)
	}
	return c.process, nil
}

// command sends a line to a steered candidate.
func (p *process) command(cmd protocol.Command) error {
	text, err := json.Marshal(cmd)
	if err != nil {
		return fmt.Errorf("live: command %q: %w", cmd.Command, err)
	}
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("live: command %q: %w", cmd.Command, err)
	}
	return nil
}

// awaitReady waits until the process waits for the go. A candidate that does
// not speak that part of the protocol competes at once.
func (c *candidate) awaitReady(ctx context.Context, p *process) error {
	if !c.steered {
		return nil
	}
	select {
	case <-p.ready:
		return nil
	case <-p.done:
		return c.died(p)
	case <-ctx.Done():
		return fmt.Errorf("live: %s did not get ready: %w", c.node, context.Cause(ctx))
	}
}

// CandidateError is a candidate that cannot be used: its command cannot be
// started, or it ends at once.
type CandidateError struct {
	Node string
	Err  error
}

func (e *CandidateError) Error() string { return fmt.Sprintf("live: candidate %s: %v", e.Node, e.Err) }

// Unwrap returns the cause.
func (e *CandidateError) Unwrap() error { return e.Err }

// died says how a process ended that should be running, with its last words.
func (c *candidate) died(p *process) error {
	text := "it ended at once (" + p.status + ")"
	if words := lastLine(c.logs); words != "" {
		text += ": " + words
	}
	return &CandidateError{Node: c.node, Err: errors.New(text + "; its log is " + filepath.Base(c.logs))}
}

// lastLine is the last line of a log that is not empty.
func lastLine(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(lines[len(lines)-1])
}
