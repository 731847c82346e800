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
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
)

// maxLine bounds one line of a candidate's output.
const maxLine = 1 << 20

// candidate is one candidate of a run: a program that is started, and started
// again after it crashed, on a host of its own.
type candidate struct {
	node     string
	called   string // its host, in evidence: "the process of n1"
	host     Host
	env      []string // without what changes between starts
	logs     string   // path of the file that gets standard error
	recorder *history.Recorder
	stalls   *stalls
	loads    *overloads
	steered  bool // speaks the part of the protocol that steers
	clocked  bool // obeys protocol.CommandClock

	mu      sync.Mutex
	process *incarnation // nil while none runs
	ended   *incarnation // the last one, nil before
	clocks  clocks
}

// clocks are the clocks that a candidate should keep.
type clocks struct {
	rate   float64
	offset time.Duration // of the wall clock
	asleep bool          // the monotonic clock stands still
}

// incarnation is one of a candidate's lives.
type incarnation struct {
	system Process
	ready  chan struct{}      // closed by readyOnce when it waits for the go
	clocks chan protocol.Line // its reports about its clocks
	handed chan protocol.Line // its answers to CommandTransfer
	done   chan struct{}      // closed when it has ended and all it said is recorded
	code   int                // the status with which it ended, and how; after done
	status string
	logged int64        // what stood in the log before it began
	why    atomic.Value // history.Why: what the harness did to end it

	readyOnce  sync.Once
	operations map[int64]history.Event // invoked and not completed, by the number it gave them
	numbers    map[int64]int64         // its numbers of operations to the history's
}

// errRunning says that a candidate is running already: there is never more
// than one process of it.
var errRunning = errors.New("live: it is running already")

// start starts a new incarnation, or returns errRunning. It returns at once.
func (c *candidate) start() (*incarnation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		return nil, errRunning
	}
	log, err := os.OpenFile(c.logs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("live: log of %s: %w", c.node, err)
	}
	defer func() { _ = log.Close() }() // the candidate has its own descriptor of it
	logged, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("live: log of %s: %w", c.node, err)
	}
	system, err := c.host.Start(append(slices.Clone(c.env),
		fmt.Sprintf("%s=%g", protocol.EnvClockRate, c.clocks.rate),
		fmt.Sprintf("%s=%d", protocol.EnvClockOffset, c.clocks.offset.Milliseconds())), log)
	if err != nil {
		return nil, &CandidateError{Node: c.node, Err: fmt.Errorf("cannot be started: %w", err)}
	}
	p := &incarnation{
		system: system, logged: logged,
		ready: make(chan struct{}), clocks: make(chan protocol.Line, 8), handed: make(chan protocol.Line, 8), done: make(chan struct{}),
		operations: map[int64]history.Event{}, numbers: map[int64]int64{},
	}
	c.process = p
	c.recorder.Stamp(history.Event{Kind: history.Start, Node: c.node})
	go c.follow(p)
	return p, nil
}

// follow records what a process says, until it ends.
func (c *candidate) follow(p *incarnation) {
	stopMeasuring := c.measure(p.system.PID())
	for lines := bufio.NewReaderSize(p.system.Stdout(), 64<<10); ; {
		text, whole, err := nextLine(lines)
		if whole {
			c.hear(p, text)
		} else {
			c.recorder.Stamp(history.Event{Kind: history.Note, Node: c.node, Text: "a line longer than 1 MiB is left out"})
		}
		if err != nil {
			break
		}
	}
	stopMeasuring() // before its number can become that of another process
	p.code, p.status = p.system.Wait()
	for _, number := range slices.Sorted(maps.Keys(p.operations)) {
		pending := p.operations[number]
		pending.Kind, pending.Error, pending.Arrived = history.Info, "the process ended", false
		c.recorder.Stamp(pending)
	}
	c.recorder.Stamp(c.exit(p))
	c.mu.Lock()
	if c.process == p {
		c.process, c.ended = nil, p
	}
	c.mu.Unlock()
	close(p.done)
}

// exit is the end of a process, with the reason for it. One that panics at the end
// of the run may do so because everything ends.
func (c *candidate) exit(p *incarnation) history.Event {
	e := history.Event{Kind: history.Exit, Node: c.node, Why: history.ByItself, Text: p.status}
	if why, asked := p.why.Load().(history.Why); asked {
		e.Why = why
	}
	if words := panicked(p.code, c.logs, p.logged); words != "" && e.Why != history.EndOfRun {
		e.Why, e.Text = history.Panicked, words
	}
	return e
}

// nextLine reads a line; of one that is too long to be one of the protocol it
// reports that it is not whole. The last line comes with an error.
func nextLine(r *bufio.Reader) (text []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if whole = whole && len(text)+len(part) <= maxLine; whole {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(text), whole, err
		}
	}
}

// hear records one line of a process.
func (c *candidate) hear(p *incarnation, text []byte) {
	line, understood := protocol.Parse(text)
	if !understood {
		if text = bytes.TrimSpace(text); len(text) > 0 {
			c.recorder.Stamp(history.Event{Kind: history.Note, Node: c.node, Text: string(text)})
		}
		return
	}
	switch line.Name {
	case protocol.EventReady:
		p.readyOnce.Do(func() { close(p.ready) }) // any command may say it, and say it twice
		return
	case protocol.EventClock, protocol.EventTransfer:
		answers := p.clocks
		if line.Name == protocol.EventTransfer {
			answers = p.handed
		}
		select {
		case answers <- line:
		default: // nobody asked
		}
		return
	case protocol.EventStall:
		if !c.steered {
			return // what excuses an elector must not come from it
		}
		c.stalls.add(c.node, time.Duration(line.LastedMS*float64(time.Millisecond)))
		return
	case protocol.EventUsage:
		c.recorder.Stamp(usageEvent(c.node, line))
		return
	}
	e := c.ownEvent(&line.Event)
	now := c.recorder.Now()
	e.At, e.Arrived = now, true
	if line.At != nil && *line.At <= now {
		e.At, e.Arrived = max(*line.At, 0), false
	}
	if c.steered && e.Call == history.Acquire { // what excuses an elector must not come from it
		e.Stands = line.Stands && e.Kind == history.Fail
		if line.Since != nil && e.Kind == history.Invoke {
			e.Since = history.At(min(*line.Since, e.At))
		}
	}
	if line.UntilMS != nil {
		e.Until = deadline(e.At, *line.UntilMS)
	}
	if !p.number(&e, c.recorder) {
		c.recorder.Stamp(history.Event{Kind: history.Note, Node: c.node, Text: "completion of no operation: " + string(text)})
		return
	}
	if c.steered && c.loads != nil { // what excuses an elector must not come from it
		c.loads.heard(&e)
	}
	c.recorder.Record(e)
}

// ownEvent is what a candidate may report about itself: everything else in an event is
// the harness's own to say.
func (c *candidate) ownEvent(e *history.Event) history.Event {
	return history.Event{
		Node: c.node, Kind: e.Kind,
		Op: e.Op, Call: e.Call, TTL: e.TTL, Nonce: e.Nonce, Try: e.Try, Token: e.Token, Holder: e.Holder,
		Value: e.Value, Fence: e.Fence, Error: e.Error,
		Until: e.Until, Why: e.Why, Text: e.Text,
	}
}

// deadline is the end of a belief that lasts so many milliseconds. One beyond
// what a duration can hold lasts until further notice: it must not wrap around
// to a belief that never was. If the process stood still before it reported,
// the end may be past.
func deadline(at time.Duration, ms float64) *time.Duration {
	lasts := ms * float64(time.Millisecond)
	if lasts >= float64(math.MaxInt64-at) {
		return nil
	}
	return history.At(at + time.Duration(max(lasts, -float64(at))))
}

// number gives an operation's event its number in the history. It reports
// false for the completion of an operation that was never invoked.
func (p *incarnation) number(e *history.Event, r *history.Recorder) bool {
	switch e.Kind {
	case history.Invoke:
		own := e.Op
		p.numbers[own] = r.NextOp()
		e.Op = p.numbers[own]
		pending := *e
		pending.Until, pending.Since = nil, nil
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
func (c *candidate) running() (*incarnation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return nil, faults.NoEffect("%s is not running", c.node)
	}
	return c.process, nil
}

// command sends a line to a steered candidate.
func (p *incarnation) command(cmd protocol.Command) error {
	text, err := json.Marshal(cmd)
	if err != nil {
		return fmt.Errorf("live: command %q: %w", cmd.Command, err)
	}
	if _, err := p.system.Stdin().Write(append(text, '\n')); err != nil {
		return fmt.Errorf("live: command %q: %w", cmd.Command, err)
	}
	return nil
}

// awaitReady waits until the process waits for the go. A candidate that does
// not speak that part of the protocol competes at once.
func (c *candidate) awaitReady(ctx context.Context, p *incarnation) error {
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

// died says how a process ended that should be running, with its last words; nil: the
// last one that ended.
func (c *candidate) died(p *incarnation) error {
	text := "it ended at once"
	if p == nil {
		c.mu.Lock()
		p = c.ended
		c.mu.Unlock()
	}
	if p != nil {
		text += " (" + p.status + ")"
	}
	words := ""
	if p != nil {
		words = lastLine(c.logs, p.logged)
		if said := panicked(p.code, c.logs, p.logged); said != "" {
			words = "it panicked: " + said
		}
	}
	if words != "" {
		text += ": " + words
	}
	return &CandidateError{Node: c.node, Err: errors.New(text + "; its log is " + c.logs)}
}

// lastLine is the last line of a log that is not empty, behind what was there before.
func lastLine(path string, before int64) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(content[min(before, int64(len(content))):]), []byte("\n"))
	return string(lines[len(lines)-1])
}
