package chaostest

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// virtualPlace is virtual time: one agenda, and candidates that are processes, each in
// fake time of its own, one of which lives at a time.
type virtualPlace struct {
	settings *settings
	test     string // the name of the test that called Run
}

var _ place = (*virtualPlace)(nil)

func (v *virtualPlace) world() World { return Virtual }

func (v *virtualPlace) lacks(s scenarios.Scenario) string {
	if s.NeedsAttendedStore() {
		return s.Name + " changes connections or users of the store, which virtual time does not have: use Worlds(Bubble) or Worlds(Live)"
	}
	return ""
}

// Run implements scenarios.World.
func (v *virtualPlace) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	var cells sync.WaitGroup
	defer cells.Wait()
	world := &virtual.World{Subjects: map[string]virtual.Subject{subject: {Program: func(seat virtual.Seat) (virtual.Program, error) {
		return startCell(ctx, &cells, v.test, seat, logs)
	}}}}
	return world.Run(ctx, plan, "")
}

// cellProgram is such a process, as seen from outside.
type cellProgram struct {
	node  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	tell  *gob.Encoder
	hear  *gob.Decoder
	said  *lastWords
	log   string
	hangs atomic.Bool // it was ended for that
	end   sync.Once
	ended chan struct{}
	gone  chan struct{}
}

var _ virtual.Program = (*cellProgram)(nil)

// cellPatience bounds how long a turn may take in real time.
const cellPatience = time.Minute

// startCell starts a candidate. running counts it until it is gone.
func startCell(ctx context.Context, running *sync.WaitGroup, test string, seat virtual.Seat, logs string) (*cellProgram, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("chaostest: find this program: %w", err)
	}
	p := &cellProgram{node: seat.Node, said: &lastWords{}, ended: make(chan struct{}), gone: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, self, again(test)...)
	p.cmd.Env = append(os.Environ(), envCell+"="+seat.Node, "GOMAXPROCS=1")
	p.cmd.Stderr, p.cmd.WaitDelay = p.said, 5*time.Second
	if logs != "" {
		p.log = filepath.Join(logs, seat.Node+".log")
		file, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("chaostest: %w", err)
		}
		p.said.file = file
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("chaostest: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("chaostest: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("chaostest: %w", err)
	}
	running.Go(func() {
		<-p.ended
		_ = p.cmd.Wait() // how it ended is told by what it said
		p.said.close()
		close(p.gone)
	})
	read := bufio.NewReader(out)
	if err := skipToReady(read); err != nil {
		p.Kill()
		return nil, fmt.Errorf("%w%s", errNotThere, p.where())
	}
	p.tell, p.hear = gob.NewEncoder(p.in), gob.NewDecoder(read)
	if err := p.tell.Encode(seat); err != nil {
		p.Kill()
		return nil, fmt.Errorf("chaostest: %w", err)
	}
	return p, nil
}

// errNotThere says that a process did not come to the call of Run.
var errNotThere = errors.New("a candidate's process ended before it came to chaostest.Run: what stands before it in the test, or TestMain, did not let it")

// Live implements virtual.Program. A process that is gone has ended by the elector's
// fault, and nothing is wrong with the world.
func (p *cellProgram) Live(until time.Duration, came []virtual.Came) (lived virtual.Lived, err error) {
	late := time.AfterFunc(cellPatience, func() {
		p.hangs.Store(true)
		_ = p.cmd.Process.Kill() // it may have ended
	})
	defer late.Stop()
	if err = p.tell.Encode(turn{until, came}); err == nil {
		err = p.hear.Decode(&lived)
	}
	if err == nil {
		return lived, nil
	}
	p.Kill()
	<-p.gone
	text := p.why()
	note := history.Event{Kind: history.Note, Text: firstLine(text)}
	return virtual.Lived{Did: []virtual.Did{{What: virtual.Tells, Event: note}, {What: virtual.Panics, Text: strings.TrimPrefix(firstLine(text), blame)}}}, nil
}

// why is why the process has ended.
func (p *cellProgram) why() string {
	if p.hangs.Load() {
		return fmt.Sprintf(blame+"did not come to rest within %v: does it wait in a loop without sleeping, or for something outside of fake time?%s", cellPatience, p.where())
	}
	said := p.said.text()
	if words := panicOf(said); words != "" {
		return fmt.Sprintf(blame+"panicked, outside of the goroutine that called New: %s%s", words, p.where())
	}
	return fmt.Sprintf(blame+"ended its process: %s%s", lastLine(said), p.where())
}

// where is where there is more to read.
func (p *cellProgram) where() string {
	if p.log == "" {
		return ""
	}
	return "; see " + p.log
}

// Kill implements virtual.Program.
func (p *cellProgram) Kill() {
	p.end.Do(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		close(p.ended)
	})
}

// skipToReady reads until after what a candidate's process says first.
func skipToReady(from *bufio.Reader) error {
	for {
		line, err := from.ReadString('\n')
		if err != nil || strings.HasSuffix(line, cellReady) {
			return err
		}
	}
}

// lastWords is what a process says: all of it in a file, if there is one, and the end of
// it.
type lastWords struct {
	file *os.File

	mu  sync.Mutex
	end []byte
}

// kept is how much of the end is kept.
const kept = 64 << 10

// Write implements io.Writer.
func (w *lastWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = append(w.end, b...)
	w.end = w.end[max(0, len(w.end)-kept):]
	if w.file != nil {
		return w.file.Write(b)
	}
	return len(b), nil
}

func (w *lastWords) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.end)
}

func (w *lastWords) close() {
	if w.file != nil {
		_ = w.file.Close() // what is lost of a log is lost
	}
}
