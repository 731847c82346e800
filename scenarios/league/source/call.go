package source

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is how long a binary that is stopped has to end its own processes.
const patience = 10 * time.Second

// once calls a binary once, and stops it as soon as it has found something. Of a
// call in which nothing was found it tells how many cases it had.
func (h *Hunt) once(ctx context.Context, w *world, binary, folder string, args, env []string) (f find, found bool, busy time.Duration) {
	f.cases = max(w.cases, 1)
	begun := 0
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir, cmd.WaitDelay = folder, patience
	if strings.HasPrefix(args[0], "-test.") {
		cmd.Dir = filepath.Join(h.Root, filepath.FromSlash(w.from)) // as the go command does
	}
	cmd.Env = append(os.Environ(), env...)
	out := &lines{see: func(line string) {
		if found {
			return // it was said to stop
		}
		if w.begins != "" && strings.HasPrefix(line, w.begins) {
			begun++
			f.cases = begun
		}
		if one, is := w.read(line); is {
			one.cases = max(one.cases, begun)
			f, found = one, true
			if !w.atEnd {
				stop()
			}
		}
	}}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if state := cmd.ProcessState; state != nil {
		busy = state.UserTime() + state.SystemTime()
	}
	switch {
	case w.atEnd && (err == nil || ctx.Err() != nil): // what it said was known, or may be
		return find{cases: f.cases}, false, busy
	case found || ctx.Err() != nil:
		return f, found, busy
	case err != nil:
		if one, is := out.broke(); is {
			one.cases = f.cases
			return one, true, busy
		}
	}
	return f, found, busy
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
	for _, begin := range []string{"panic: ", "fatal error: ", "--- FAIL: "} {
		if l.odd == "" && strings.HasPrefix(line, begin) {
			l.odd = line
		}
	}
}

// broke is what was found by a process that failed, and has named no promise.
func (l *lines) broke() (find, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return find{calls, l.odd, 1}, l.odd != ""
}

// unitTime is how long a package's own tests may take.
const unitTime = 4 * time.Minute

// units are the tests of a package that fail with the overlay.
func (h *Hunt) units(ctx context.Context, folder, overlay string) (failed []string, err error) {
	if !h.Units {
		return nil, nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-timeout", unitTime.String(), "./"+folder)
	cmd.Dir = h.Root
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if name, is := strings.CutPrefix(line, "--- FAIL: "); is {
			name, _, _ = strings.Cut(name, " ")
			failed = append(failed, name)
		}
	}
	switch {
	case err == nil:
		return nil, nil
	case len(failed) > 0:
		slices.Sort(failed)
		return slices.Compact(failed), nil
	case bytes.Contains(out, []byte("panic: ")):
		return []string{"a panic"}, nil
	default:
		return nil, fmt.Errorf("the tests of %s could not be run: %w\n%s", folder, err, out)
	}
}
