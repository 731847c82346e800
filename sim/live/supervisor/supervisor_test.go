//go:build linux || darwin

package supervisor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const role = "RECOUNT_SUPERVISOR_TEST"

// TestMain lets the test binary play the harness that is killed, and a program
// that forgot to call Main.
func TestMain(m *testing.M) {
	if os.Getenv(role) == "forgetful" {
		_, err := Start()
		fmt.Println(err)
		os.Exit(0)
	}
	Main()
	if os.Getenv(role) == "harness" {
		harness()
	}
	goleak.VerifyTestMain(m)
}

// started is what the harness that is killed tells of itself.
type started struct {
	Groups    []int
	Directory string
}

// harness starts one process of each sort, tells of them, and waits for its
// end.
func harness() {
	go func() { // a test that ends early ends this too
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	syscall.CloseOnExec(3) // the test's pipe: only the processes below hold it
	w, err := Start()
	check(err)
	var s started
	alive := os.NewFile(3, "alive") // of more than one, the collector would close the descriptor of another
	start := func(script string, variables ...string) *Process {
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(os.Environ(), variables...)
		stdout, err := cmd.StdoutPipe()
		check(err)
		cmd.ExtraFiles = []*os.File{alive}
		p, err := w.Start(cmd)
		check(err)
		_, err = bufio.NewReader(stdout).ReadString('\n')
		check(err)
		s.Groups = append(s.Groups, p.PID())
		return p
	}
	start("echo; exec sleep 1000")        // a child
	start("sleep 1000 & echo; wait")      // one with a grandchild
	p := start("sleep 1000 & echo; wait") // one with a grandchild, both stopped
	check(p.Pause(context.Background()))
	q := start("sleep 1000 & echo; exit 0") // one that leaves a grandchild behind
	go func() { _ = q.Wait() }()            // killed or not, it ends
	if found, _ := exec.LookPath("setsid"); runtime.GOOS == "linux" && found != "" {
		m, err := w.Marker()
		check(err)
		start("setsid sleep 1000 & echo; wait", m.Variable()) // one with a grandchild that leaves its group
	}
	s.Directory, err = w.Directory("test")
	check(err)
	check(os.WriteFile(filepath.Join(s.Directory, "file"), nil, 0o600))
	check(json.NewEncoder(os.Stdout).Encode(s))
	select {}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A harness that is killed with SIGKILL, with its whole process group, leaves
// nothing behind after two seconds: no child, no grandchild, no stopped process,
// no directory.
func TestEverythingEndsWithTheHarness(t *testing.T) {
	alive, theirs := pipe(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=harness")
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := cmd.StdinPipe(); err != nil { // open until the end
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // from here on only the processes hold it
	var s started
	if err := json.NewDecoder(stdout).Decode(&s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // if the test fails
		for _, pid := range s.Groups {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		_ = os.RemoveAll(s.Directory)
	})

	killed := time.Now()
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if err := alive.SetReadDeadline(killed.Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// The end of the file: none of the processes holds the other end any more.
	if _, err := alive.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("some process of groups %v still lives two seconds after its harness: %v", s.Groups, err)
	}
	awaitGone(t, s.Directory, killed.Add(2*time.Second))
	t.Logf("all was gone after %v", time.Since(killed))
}

// awaitGone waits until a directory is gone.
func awaitGone(t *testing.T, path string, deadline time.Time) {
	t.Helper()
	for {
		_, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there: %v", path, err)
		}
	}
}

// Close ends what is left while the harness lives on, and says that all went
// well; a second Close does nothing, and nothing can be started any more.
func TestCloseEndsWhatIsLeft(t *testing.T) {
	w := start(t)
	alive, theirs := pipe(t)
	cmd := exec.Command("sh", "-c", "sleep 1000 & wait")
	cmd.ExtraFiles = []*os.File{theirs}
	p, err := w.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // only the processes hold it
	directory, err := w.Directory("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := alive.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	awaitGone(t, directory, time.Now())
	if err := p.Wait(); err == nil {
		t.Error("a process that was killed reports success")
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := w.Start(exec.Command("true")); !errors.Is(err, errClosed) {
		t.Errorf("start after Close: %v", err)
	}
	if _, err := w.Directory("test"); !errors.Is(err, errClosed) {
		t.Errorf("directory after Close: %v", err)
	}
}

// Wait kills what a process leaves behind in its group, and only then may its
// number be used again: the supervisor has forgotten it by then.
func TestWaitEndsTheGroupAndForgetsIt(t *testing.T) {
	w := start(t)
	sent := &recorder{to: w.pipe}
	w.pipe = sent
	alive, theirs := pipe(t)
	cmd := exec.Command("sh", "-c", "sleep 1000 & exit 3")
	cmd.ExtraFiles = []*os.File{theirs}
	p, err := w.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // only the processes hold it
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("Wait: %v, want exit status 3", err)
	}
	if _, err := alive.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if got, want := sent.text.String(), fmt.Sprintf("process %d\nforget %d\n", p.PID(), p.PID()); got != want {
		t.Errorf("the supervisor got %q, want %q", got, want)
	}
	if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal after the end: %v, want os.ErrProcessDone", err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("Done is not closed")
	}
}

type recorder struct {
	to   io.WriteCloser
	text bytes.Buffer
}

func (r *recorder) Write(b []byte) (int, error) { r.text.Write(b); return r.to.Write(b) }
func (r *recorder) Close() error                { return r.to.Close() }

// A paused process answers nothing, keeps what it is sent, and answers when it
// is resumed. A paused one can be killed.
func TestPauseAndResume(t *testing.T) {
	w := start(t)
	cmd := exec.Command("sh", "-c", "while read -r line; do echo $line | cat; done")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, theirs := pipe(t)
	cmd.Stdout = theirs
	p, err := w.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // the process holds it
	replies := bufio.NewReader(stdout)
	say := func(text string) {
		if _, err := io.WriteString(stdin, text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(want string) {
		t.Helper()
		if line, err := replies.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("heard %q, %v; want %q", line, err, want)
		}
	}
	say("one")
	hear("one")
	if err := p.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	say("two")
	_ = stdout.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // the reads below tell
	if line, err := replies.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a paused process said %q, %v", line, err)
	}
	_ = stdout.SetReadDeadline(time.Time{}) // the reads below tell
	if err := p.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	hear("two")
	if err := p.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil {
		t.Error("a process that was killed reports success")
	}
	if err := p.Pause(t.Context()); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("pause after the end: %v, want os.ErrProcessDone", err)
	}
}

// Only what has not been forgotten is left at the end, and an order that would
// reach every process of the machine is not obeyed.
func TestOrders(t *testing.T) {
	g, err := readOrders(strings.NewReader(`process 100
process 101
forget 100
marker "recount-run-a"
marker "recount-run-b"
forget-marker "recount-run-a"
directory "/tmp/recount-a\nb"
directory "/tmp/recount-c"
forget-directory "/tmp/recount-c"
container "recount-x"
container "recount-y"
forget-container "recount-x"
network "recount-n"
network "recount-m"
forget-network "recount-m"
image "recount-i"
image "recount-j"
forget-image "recount-j"
process 1
process -5
process
dance "x"
directory unquoted
`))
	if want := map[int]bool{101: true}; !equal(g.processes, want) {
		t.Errorf("processes %v, want %v", g.processes, want)
	}
	if want := map[string]bool{"recount-run-b": true}; !equal(g.markers, want) {
		t.Errorf("markers %v, want %v", g.markers, want)
	}
	if want := map[string]bool{"/tmp/recount-a\nb": true}; !equal(g.directories, want) {
		t.Errorf("directories %v, want %v", g.directories, want)
	}
	if want := map[string]bool{"recount-y": true}; !equal(g.containers, want) {
		t.Errorf("containers %v, want %v", g.containers, want)
	}
	if want := map[string]bool{"recount-n": true}; !equal(g.networks, want) {
		t.Errorf("networks %v, want %v", g.networks, want)
	}
	if want := map[string]bool{"recount-i": true}; !equal(g.images, want) {
		t.Errorf("images %v, want %v", g.images, want)
	}
	if err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("want five complaints, got: %v", err)
	}
}

func equal[K comparable](a, b map[K]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

// A supervisor removes nothing but directories that a supervisor has made.
func TestForeignDirectoriesAreLeftAlone(t *testing.T) {
	root := t.TempDir()
	t.Setenv("TMPDIR", root)
	elsewhere := t.TempDir()
	target := filepath.Join(elsewhere, "recount-elsewhere")
	for _, path := range []string{
		target,
		filepath.Join(root, "other"),
		filepath.Join(root, "other", "recount-below"),
		filepath.Join(root, "recount-ours", "recount-below"),
	} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link, file := filepath.Join(root, "recount-link"), filepath.Join(root, "recount-file")
	if err := errors.Join(os.Symlink(target, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		root, target, link, file, "/", "",
		filepath.Join(root, "other"),
		filepath.Join(root, "other", "recount-below"),
		filepath.Join(root, "recount-ours", "recount-below"),
		root + "/recount-ours/../other",
		root + "/recount-ours/",
		root + "/recount-link/../recount-elsewhere", // which is target
		"recount-ours",
	} {
		if err := removeDirectory(path); !errors.Is(err, errNotOurs) {
			t.Errorf("%q: %v, want errNotOurs", path, err)
		}
	}
	for _, path := range []string{target, link, file, filepath.Join(root, "other", "recount-below"), filepath.Join(root, "recount-ours", "recount-below")} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if err := removeDirectory(filepath.Join(root, "recount-ours")); err != nil {
		t.Error(err)
	}
	if err := removeDirectory(filepath.Join(root, "recount-ours")); err != nil {
		t.Errorf("one that is gone already: %v", err)
	}
	removed := false
	err := removeUntil(t.Context(), "container somebody-elses", "somebody-elses", func() error { removed = true; return nil })
	if err == nil || !strings.Contains(err.Error(), "left alone") || removed {
		t.Errorf("container of somebody else: %v, removed: %v", err, removed)
	}
}

// What the supervisor could not do is Close's error.
func TestCloseReportsWhatIsLeft(t *testing.T) {
	w := start(t)
	outside := filepath.Join(t.TempDir(), "recount-outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.tell("directory", outside); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), outside) {
		t.Errorf("Close: %v, want a complaint about %s", err, outside)
	}
	if _, err := os.Lstat(outside); err != nil {
		t.Error(err)
	}
}

// A program that does not call Main gets an error that says so, and does not start itself
// for ever.
func TestProgramWithoutMain(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=forgetful")
	begun := time.Now()
	out, err := cmd.Output()
	if took := time.Since(begun); took > startTimeout/2 {
		t.Errorf("it took %v to be noticed", took)
	}
	if err != nil || strings.TrimSpace(string(out)) != ErrNoMain.Error() {
		t.Errorf("said %q, %v; want %q", out, err, ErrNoMain)
	}
}

// A harness hears at its next order that its supervisor was killed.
func TestLostSupervisor(t *testing.T) {
	w := start(t)
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitExit(w.cmd.Process.Pid)
	if _, err := w.Directory("test"); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("order to a dead supervisor: %v", err)
	}
	if p, err := w.Start(exec.Command("sleep", "1000")); err == nil || p != nil {
		t.Errorf("start under a dead supervisor: %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("Close of a dead supervisor reports success")
	}
}

// Signals that end a program leave the supervisor alone: only the end of its
// harness ends it.
func TestSignalsDoNotEndTheSupervisor(t *testing.T) {
	w := start(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := w.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	directory, err := w.Directory("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	awaitGone(t, directory, time.Now())
}

// Names do not repeat, and say whose they are.
func TestNames(t *testing.T) {
	names := []string{Name("a"), Name("a"), Name("b")}
	slices.Sort(names)
	if len(slices.Compact(names)) != 3 || !strings.HasPrefix(names[0], Prefix+"a-") {
		t.Error(names)
	}
}

func start(t *testing.T) *Supervisor {
	t.Helper()
	w, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() }) // where it matters the test closes it itself
	return w
}

// pipe ends in a read that returns io.EOF when every process that was given
// the other end is gone.
func pipe(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ours.Close()   // only read
		_ = theirs.Close() // closed already, unless the test failed
	})
	return ours, theirs
}
