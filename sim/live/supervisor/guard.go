package supervisor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// What is left must be gone two seconds after the harness.
	guardTimeout = 1800 * time.Millisecond
	// What Docker has to remove is killed by then; to clear it away takes a Docker with
	// other work longer.
	dockerTimeout = 60 * time.Second
)

// guarded is what the harness has asked the supervisor to guard.
type guarded struct {
	processes   map[int]bool
	markers     map[string]bool
	directories map[string]bool
	containers  map[string]bool
	networks    map[string]bool
	images      map[string]bool
}

// guard is the supervisor's whole life: it reads until the harness is gone, then
// ends what is left, and returns the exit status. Complaints go to report,
// which nobody may be reading any more.
func guard(orders io.Reader, report io.Writer) int {
	ignoreSignals()
	_, _ = fmt.Fprintln(report, greeting) // the read below finds a harness that is gone already
	g, err := readOrders(orders)
	return errorCount(report, append(g.end(), err))
}

func errorCount(report io.Writer, all []error) int {
	status := 0
	for _, err := range all {
		if err != nil {
			status = 1
			_, _ = fmt.Fprintln(report, err) // see guard
		}
	}
	return status
}

// readOrders reads to the end of the pipe, which is the end of the harness. It
// returns what is left to be guarded, and what it could not understand.
func readOrders(orders io.Reader) (*guarded, error) {
	g := &guarded{
		processes: map[int]bool{}, markers: map[string]bool{}, directories: map[string]bool{},
		containers: map[string]bool{}, networks: map[string]bool{}, images: map[string]bool{},
	}
	var bad error
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		if err := g.obey(lines.Text()); err != nil {
			bad = errors.Join(bad, err)
		}
	}
	return g, errors.Join(bad, lines.Err())
}

func (g *guarded) obey(line string) error {
	verb, argument, _ := strings.Cut(line, " ")
	if verb == "process" || verb == "forget" {
		pid, err := strconv.Atoi(argument)
		if err != nil || pid < 2 {
			return fmt.Errorf("%q names no process", line) // -1 and -0 would reach every process there is
		}
		set(g.processes, pid, verb == "process")
		return nil
	}
	text, err := strconv.Unquote(argument)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", line, err)
	}
	switch verb {
	case "marker", "forget-marker":
		set(g.markers, text, verb == "marker")
	case "directory", "forget-directory":
		set(g.directories, text, verb == "directory")
	case "container", "forget-container":
		set(g.containers, text, verb == "container")
	case "network", "forget-network":
		set(g.networks, text, verb == "network")
	case "image", "forget-image":
		set(g.images, text, verb == "image")
	default:
		return fmt.Errorf("unknown order %q", line)
	}
	return nil
}

func set[K comparable](m map[K]bool, key K, present bool) {
	if present {
		m[key] = true
		return
	}
	delete(m, key)
}

// quoted keeps a path with a line break in it on one line.
func quoted(argument any) any {
	if s, ok := argument.(string); ok {
		return strconv.Quote(s)
	}
	return argument
}

// end kills, then removes: a process that still lived could write into a
// directory that has just been emptied. Docker's things are ended meanwhile.
func (g *guarded) end() []error {
	ended := make(chan []error)
	go func() { ended <- g.endDocker() }()
	ctx, cancel := context.WithTimeout(context.Background(), guardTimeout)
	defer cancel()
	all := g.killProcesses(ctx)
	for name := range g.markers {
		all = append(all, endMarked(ctx, name))
	}
	for path := range g.directories {
		all = append(all, removeDirectoryUntil(ctx, path))
	}
	return append(all, <-ended...)
}

func (g *guarded) killProcesses(ctx context.Context) []error {
	for pid := range g.processes {
		_ = killGroup(pid) // one that is gone is what we want; one that stays is reported below
	}
	var all []error
	for pid := range g.processes {
		for groupLives(pid) {
			if !pause(ctx) {
				all = append(all, fmt.Errorf("process group %d is still alive after SIGKILL", pid))
				break
			}
			_ = killGroup(pid) // again: it may have forked meanwhile
		}
	}
	return all
}

// pause waits a little and reports whether there is time left.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Millisecond):
		return true
	}
}

// removeDirectoryUntil tries again: a process that is just dying may still
// have made a file.
func removeDirectoryUntil(ctx context.Context, path string) error {
	for {
		err := removeDirectory(path)
		if err == nil || errors.Is(err, errNotOurs) || !pause(ctx) {
			return err
		}
	}
}

var errNotOurs = errors.New("not a directory that a supervisor has made: left alone")

// removeDirectory removes nothing but a directory, directly under os.TempDir
// or memoryRoot, whose name begins with Prefix. A link is not followed.
func removeDirectory(path string) error {
	root, err := filepath.Abs(os.TempDir())
	if err != nil {
		return err
	}
	if filepath.Clean(path) != path || filepath.Dir(path) != root && filepath.Dir(path) != memoryRoot || !strings.HasPrefix(filepath.Base(path), Prefix) {
		return fmt.Errorf("%s: %w", path, errNotOurs)
	}
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: %w", path, errNotOurs)
	}
	return os.RemoveAll(path)
}
