package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process outlives the operating system thread that asked for its start: the
// parent-death signal is bound to the thread that forks, which is another one.
func TestProcessOutlivesTheThreadThatAskedForIt(t *testing.T) {
	w := start(t)
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	thread := make(chan int, 1)
	var p *Process
	var ask func()
	ask = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			done := make(chan struct{}) // the first thread of a program never ends: ask from another
			go func() { defer close(done); ask() }()
			<-done
			return
		}
		p, err = w.Start(cmd)
		thread <- unix.Gettid()
	}
	go ask()
	awaitGone(t, fmt.Sprintf("/proc/self/task/%d", <-thread), time.Now().Add(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(stdout); err != nil || string(said) != "hello" {
		t.Errorf("said %q, %v", said, err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// Without its supervisor a child still dies with its harness on Linux.
func TestChildDiesWithItsParent(t *testing.T) {
	cmd := exec.Command("true")
	supervise(cmd)
	if cmd.SysProcAttr.Pdeathsig != unix.SIGKILL || !cmd.SysProcAttr.Setpgid {
		t.Errorf("%+v", cmd.SysProcAttr)
	}
}

// A group that does not exist has no threads, and none of them can be paused.
func TestStatesOfNoGroup(t *testing.T) {
	states, err := groupStates(1 << 30)
	if err != nil || states != (threadStates{}) {
		t.Errorf("%+v, %v", states, err)
	}
	p := &Process{pid: 1 << 30}
	if err := p.await(t.Context(), "did not stop", true); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}
