package mutants

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is how long a binary that is stopped has to end its own processes.
const patience = 10 * time.Second

// call is one use of a binary.
type call struct {
	world                *world
	binary, folder, root string
	args, env            []string
	limit                time.Duration // of a processor
	known                []string      // numbers of cases whose finds do not count

	busy   time.Duration
	f      find
	found  bool
	spared bool // a find did not count
}

// failed begins the line that a test ends with which has failed.
const failed = "--- FAIL: "

// run calls the binary, and stops it as soon as it has found something. If it finds
// nothing, run tells how many cases it had.
func (c *call) run(ctx context.Context) (find, bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.f.cases = max(c.world.cases, 1)
	out := &lines{see: func(line string) {
		if c.see(line); c.found {
			stop()
		}
	}}
	cmd := c.command(ctx)
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if state := cmd.ProcessState; state != nil {
		c.busy = state.UserTime() + state.SystemTime()
	}
	ended := err == nil || ctx.Err() != nil || c.busy >= c.limit-time.Second // by itself or by us
	if !c.found && !ended {
		if one, is := out.broke(); is && !(c.spared && strings.HasPrefix(one.words, failed)) {
			one.cases = c.f.cases
			return one, true
		}
	}
	return c.f, c.found
}

// command makes the call's process. A shell limits the processor's time. The limit is a
// soft one, so that a process which reaches it can say so.
func (c *call) command(ctx context.Context) *exec.Cmd {
	seconds := strconv.Itoa(max(int(c.limit.Seconds()), 1))
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -S -t "$0" && exec "$@"`, seconds, c.binary}, c.args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir, cmd.WaitDelay = c.folder, patience
	if strings.HasPrefix(c.args[0], "-test.") {
		cmd.Dir = filepath.Join(c.root, filepath.FromSlash(c.world.from)) // as the go command does
	}
	cmd.Env = append(os.Environ(), c.env...)
	return cmd
}

// see takes in one line.
func (c *call) see(line string) {
	if c.found {
		return // it was said to stop
	}
	if one, is := c.world.read(line); is {
		if one.number != "" && slices.Contains(c.known, one.number) {
			c.spared = true
			return
		}
		c.f, c.found = one, true
	}
}

// lines takes what a process writes apart. It is safe for concurrent use.
type lines struct {
	see func(line string)

	mu   sync.Mutex
	rest []byte
	odd  string // the first line of a panic, or of a test that failed
}

// Write implements io.Writer.
func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, text...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		l.rest = rest
		l.look(string(line))
	}
}

// look takes in one line. The caller holds mu.
func (l *lines) look(line string) {
	l.see(line)
	for _, begin := range []string{"panic: ", "fatal error: ", failed} {
		if l.odd == "" && strings.HasPrefix(line, begin) {
			l.odd = line
		}
	}
}

// broke is what was found by a process that failed, and has named no promise.
func (l *lines) broke() (find, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return find{promise: calls, words: l.odd, cases: 1}, l.odd != ""
}

// unitTime is how long a package's own tests may take.
const unitTime = 4 * time.Minute

// units are the tests of a package that fail with the overlay.
func (h *Hunt) units(ctx context.Context, folder, overlay string) (broken []string, err error) {
	if !h.Units {
		return nil, nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-timeout", unitTime.String(), "./"+folder)
	cmd.Dir = h.Root
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if name, is := strings.CutPrefix(line, failed); is {
			name, _, _ = strings.Cut(name, " ")
			broken = append(broken, name)
		}
	}
	switch {
	case err == nil:
		return nil, nil
	case len(broken) > 0:
		slices.Sort(broken)
		return slices.Compact(broken), nil
	case bytes.Contains(out, []byte("panic: ")):
		return []string{"a panic"}, nil
	default:
		return nil, fmt.Errorf("the tests of %s could not be run: %w\n%s", folder, err, out)
	}
}
