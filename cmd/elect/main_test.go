package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
)

// What the test binary is when it is started again.
const (
	asElect = "ELECT_TEST_AS_ELECT" // the command
	asJob   = "ELECT_TEST_AS_JOB"   // a job; the value is its folder
)

func TestMain(m *testing.M) {
	guardMain()
	treeMain()
	if dir := os.Getenv(asJob); dir != "" {
		os.Exit(work(dir))
	}
	if os.Getenv(asElect) != "" {
		main()
	}
	flag.Parse()
	// Jobs and those who supervise them mostly wait: more of them than cores may run at once.
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("4") // a number is always accepted
	}
	goleak.VerifyTestMain(m)
}

// work is a job that cannot hide what it does: it holds a lock for as long as
// it lives, which the kernel takes from it when it dies, and notes in a file,
// which all jobs of a test share, what happens to it. With a file "stubborn" in
// the folder it does not end when it is asked to, and with "slow" only when
// there is a file "enough".
func work(dir string) int {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	note := func(what string) {
		f, err := os.OpenFile(filepath.Join(dir, "notes"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(f, "%s %s %d %d\n", what, os.Getenv("ELECT_TOKEN"), os.Getpid(), elector.SystemClock().Now())
		_ = f.Close() // one write, and that was made
	}
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		note("OVERLAP")
		return 1
	}
	note("began")
	asked := false
	tooOld := time.After(2 * time.Minute) // the test that should have ended it was killed
	for tick := time.NewTicker(2 * time.Millisecond); ; {
		select {
		case <-terminated:
			note("asked")
			asked = true
		case <-tooOld:
			return 2
		case <-tick.C:
		}
		switch {
		case !asked || has("stubborn"):
		case has("slow") && !has("enough"):
		default:
			note("ended")
			return 0
		}
	}
}

// happened is one line of the notes.
type happened struct {
	what  string
	token uint64
	pid   int
	at    time.Duration
}

func notes(t *testing.T, dir string) []happened {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "notes"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var list []happened
	for line := range strings.Lines(string(content)) {
		var h happened
		if _, err := fmt.Sscan(line, &h.what, &h.token, &h.pid, &h.at); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, h)
	}
	return list
}

// await waits until n jobs have noted that.
func await(t *testing.T, dir, what string, n int) happened {
	t.Helper()
	var found []happened
	eventually(t, fmt.Sprintf("%d × %s", n, what), func() bool {
		found = nil
		for _, h := range notes(t, dir) {
			switch h.what {
			case what:
				found = append(found, h)
			case "OVERLAP":
				t.Fatalf("two jobs ran at one time: %+v", notes(t, dir))
			}
		}
		return len(found) >= n
	})
	return found[n-1]
}

// eventually asks until it is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(50 * time.Second); !so(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// inOrder shows that no two jobs were alive at one time, and that tokens grew.
func inOrder(t *testing.T, dir string) {
	t.Helper()
	last := uint64(0)
	for _, h := range notes(t, dir) {
		if h.what == "OVERLAP" {
			t.Errorf("two jobs at one time: %+v", notes(t, dir))
		}
		if h.what == "began" && h.token <= last {
			t.Errorf("token %d after %d", h.token, last)
		}
		last = max(last, h.token)
	}
}

// process is elect as a process of its own.
type process struct {
	*exec.Cmd
	out  output
	done chan struct{}
}

// output is what a process has said so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// launch starts elect as a process, which ends with the test at the latest. Its
// jobs work in dir.
func launch(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return launchTo(t, nil, dir, args...)
}

// launchTo is launch with a file for what elect says; nil for out.
func launchTo(t *testing.T, log *os.File, dir string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "TEST_DIR="+dir, "TEST_SELF="+self)
	cmd.SysProcAttr = attributes() // so that nothing is left if the test is killed
	if log != nil {
		cmd.Stderr = log
	}
	return launchAs(t, cmd)
}

// launchFrom is launch with a file for what elect reads.
func launchFrom(t *testing.T, in *os.File, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.SysProcAttr, cmd.Stdin = attributes(), in
	return launchAs(t, cmd)
}

// launchAs starts a command that is this program as elect.
func launchAs(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{Cmd: cmd, done: make(chan struct{})}
	p.Env = append(p.Environ(), asElect+"=1")
	p.Stdout = &p.out
	if p.Stderr == nil {
		p.Stderr = &p.out
	}
	p.WaitDelay = 10 * time.Second
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait() // the test looks at the state
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill() // mostly it has ended
		<-p.done
		if t.Failed() {
			t.Logf("elect %v said:\n%s", cmd.Args[1:], &p.out)
		}
	})
	return p
}

// theJob is a job with a shell between it and elect, so that it is an orphan
// when only the shell dies.
func theJob() []string {
	return []string{"--", "sh", "-c", asJob + `="$TEST_DIR" "$TEST_SELF" & wait; wait`}
}

// end waits for the end of the process and returns its status.
func (p *process) end(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(50 * time.Second):
		t.Fatal("elect never ended")
	}
	return p.ProcessState.ExitCode()
}

// send sends a signal.
func (p *process) send(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// result is what a call of elect in this process left.
type result struct {
	status      int
	out, errors string
}

// secret is a password that must appear in no output.
const secret = "s3cret-w0rd"

// call runs the command in this process.
func call(t *testing.T, ctx context.Context, environ []string, args ...string) result {
	t.Helper()
	var out, errors output
	m := Main{Stdout: &out, Stderr: &errors, Environ: append(environ, "PATH="+os.Getenv("PATH"))}
	r := result{status: m.Run(ctx, args)}
	r.out, r.errors = out.String(), errors.String()
	if strings.Contains(r.out+r.errors, secret) {
		t.Errorf("elect %v shows the password:\n%s%s", args, r.out, r.errors)
	}
	return r
}

// now is the time on the clock by which jobs make their notes.
func now() time.Duration { return elector.SystemClock().Now() }

func itoa(n int) string { return fmt.Sprint(n) }
