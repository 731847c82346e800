package supervisor

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Prefix begins the name of every directory, container, network and image that a
// supervisor guards. It removes nothing that is named otherwise.
const Prefix = "recount-"

// ErrUnsupported says that processes cannot be supervised on this system.
var ErrUnsupported = errors.New("supervisor: the live world runs on Linux and macOS")

// ErrNoMain says that the program does not call Main before anything else.
var ErrNoMain = errors.New("supervisor: this program was started as a supervisor but does not call supervisor.Main first in main or TestMain")

var errClosed = errors.New("supervisor: closed already")

const (
	environment = "RECOUNT_SUPERVISOR"
	greeting    = "supervisor ready"

	// A machine under load may take long to start a program.
	startTimeout = 20 * time.Second
	// The guards need two seconds at most, and Docker its time; the rest is for a
	// loaded machine.
	closeTimeout = dockerTimeout + 10*time.Second
)

// Main is called first in main and in TestMain. In a supervisor's process it does
// the supervisor's work and ends the process; in every other one it returns at
// once.
func Main() {
	if os.Getenv(environment) == "" {
		return
	}
	os.Exit(guard(os.Stdin, os.Stdout))
}

// Supervisor is the harness's end of the pipe. Its methods may be called from
// several goroutines.
type Supervisor struct {
	cmd     *exec.Cmd
	pipe    io.WriteCloser
	report  *bufio.Reader
	starter starter

	mu     sync.Mutex
	closed bool
}

// Start starts a supervisor. The program must call Main first of all, and the
// caller calls Close at the end of its work. The arguments are for a program that
// comes to call Main only if it is started with them: what it prints before it does
// is passed over.
func Start(arguments ...string) (*Supervisor, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if os.Getenv(environment) != "" {
		return nil, ErrNoMain // or else supervisors would start supervisors for ever
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("supervisor: cannot find the path of this program: %w", err)
	}
	cmd := exec.Command(self, arguments...)
	cmd.Env = append(os.Environ(), environment+"=1")
	cmd.SysProcAttr = ownSession()
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("supervisor: cannot start %s again: %w", self, err)
	}
	w := &Supervisor{cmd: cmd, pipe: pipe, report: bufio.NewReader(out)}
	if err := w.awaitGreeting(len(arguments) > 0); err != nil {
		return nil, err
	}
	w.starter = newStarter()
	return w, nil
}

// awaitGreeting proves that the program really is a supervisor now.
func (w *Supervisor) awaitGreeting(talks bool) error {
	timer := time.AfterFunc(startTimeout, func() { _ = w.cmd.Process.Kill() }) // the reads below then end
	line, err := w.report.ReadString('\n')
	for talks && err == nil && strings.TrimSpace(line) != greeting {
		line, err = w.report.ReadString('\n')
	}
	timer.Stop()
	if err == nil && strings.TrimSpace(line) == greeting {
		return nil
	}
	_ = w.cmd.Process.Kill() // it may be gone already
	_ = w.cmd.Wait()         // killed: that it failed is no news
	return ErrNoMain
}

// Close ends everything that is still guarded, then the supervisor, and returns
// what could not be removed. It takes a few milliseconds if nothing is left,
// and about two seconds at most. A second Close does nothing.
func (w *Supervisor) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()

	closeErr := w.pipe.Close()
	timer := time.AfterFunc(closeTimeout, func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	report, readErr := io.ReadAll(w.report)
	waitErr := w.cmd.Wait()
	w.starter.close()
	if text := strings.TrimSpace(string(report)); text != "" {
		return fmt.Errorf("supervisor: %s", strings.ReplaceAll(text, "\n", "; "))
	}
	if err := errors.Join(closeErr, readErr, waitErr); err != nil {
		return fmt.Errorf("supervisor: it ended before its work was done: %w", err)
	}
	return nil
}

// Directory makes an empty directory under os.TempDir that is removed, with
// everything in it, when the harness ends. kind is a word for its name.
// Remove it with RemoveDirectory, or leave it to Close.
func (w *Supervisor) Directory(kind string) (string, error) {
	root, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("supervisor: %w", err)
	}
	return w.directory(root, kind)
}

// MemoryDirectory is a Directory in the machine's memory, where a file is
// synced in no time: a server that syncs every write is then as fast on a busy
// disk as on an idle one. Where there is no such place with room for least
// bytes it is a Directory like any other.
func (w *Supervisor) MemoryDirectory(kind string, least uint64) (string, error) {
	if memoryRoom() < least {
		return w.Directory(kind)
	}
	return w.directory(memoryRoot, kind)
}

func (w *Supervisor) directory(root, kind string) (string, error) {
	path := filepath.Join(root, Name(kind))
	// Announced before it is made: there is no moment in which it exists unguarded.
	if err := w.tell("directory", path); err != nil {
		return "", err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", errors.Join(fmt.Errorf("supervisor: cannot make a directory for temporary files: %w", err), w.tell("forget-directory", path))
	}
	return path, nil
}

// RemoveDirectory removes a directory that Directory has made.
func (w *Supervisor) RemoveDirectory(path string) error {
	if err := removeDirectory(path); err != nil {
		return fmt.Errorf("supervisor: %w", err)
	}
	return w.tell("forget-directory", path)
}

// Container has a Docker container removed by force, with its anonymous
// volumes, when the harness ends. Give its name, made by Name, before it is
// created: then there is no moment in which it exists unguarded.
func (w *Supervisor) Container(name string) error {
	return w.tell("container", name)
}

// ForgetContainer is called once a container has been removed.
func (w *Supervisor) ForgetContainer(name string) error {
	return w.tell("forget-container", name)
}

// Network has a Docker network removed when the harness ends, after the containers.
// As with Container, give its name before it is created.
func (w *Supervisor) Network(name string) error { return w.tell("network", name) }

// ForgetNetwork is called once a network has been removed.
func (w *Supervisor) ForgetNetwork(name string) error { return w.tell("forget-network", name) }

// Image has a Docker image removed when the harness ends, after the containers. As
// with Container, give its name before it is made.
func (w *Supervisor) Image(name string) error { return w.tell("image", name) }

// ForgetImage is called once an image has been removed.
func (w *Supervisor) ForgetImage(name string) error { return w.tell("forget-image", name) }

// Name is a new name, with Prefix, the kind, and 80 random bits.
func Name(kind string) string {
	var bits [10]byte
	_, _ = rand.Read(bits[:]) // never fails, says its documentation
	return Prefix + kind + "-" + hex.EncodeToString(bits[:])
}

// tell writes one line. The pipe keeps it even if the harness dies at once.
func (w *Supervisor) tell(verb string, argument any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	if _, err := fmt.Fprintf(w.pipe, "%s %v\n", verb, quoted(argument)); err != nil {
		return fmt.Errorf("supervisor: it is gone, nothing is guarded any more: %w", err)
	}
	return nil
}
