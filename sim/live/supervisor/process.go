package supervisor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Process is a program that runs in a process group of its own, guarded by a
// supervisor. Its methods may be called from several goroutines.
type Process struct {
	supervisor *Supervisor
	cmd        *exec.Cmd
	pid        int

	mu    sync.Mutex // held while signalling, so that no signal meets a reused pid
	ended bool

	wait sync.Once
	done chan struct{}
	err  error
}

// Start starts cmd as the leader of a new process group and guards it. On
// Linux it also dies with this process by itself (Pdeathsig), which covers the
// microseconds until the supervisor knows of it. The caller must call Wait.
func (w *Supervisor) Start(cmd *exec.Cmd) (*Process, error) {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	supervise(cmd)
	if err := w.starter.start(cmd); err != nil {
		return nil, err
	}
	p := &Process{supervisor: w, cmd: cmd, pid: cmd.Process.Pid, done: make(chan struct{})}
	if err := w.tell("process", p.pid); err != nil {
		_ = p.Kill() // it was started just now
		_ = p.Wait() // killed: that it failed is no news
		return nil, err
	}
	return p, nil
}

// PID is the process's number, and its group's.
func (p *Process) PID() int { return p.pid }

// Name is what it is called in errors.
func (p *Process) Name() string { return fmt.Sprintf("process %d", p.pid) }

// Done is closed when Wait has seen the end of the process.
func (p *Process) Done() <-chan struct{} { return p.done }

// AwaitEnd returns when the process has ended. Wait must still be called: until then
// nobody else gets its number.
func (p *Process) AwaitEnd() { awaitExit(p.pid) }

// Wait waits for the process to end, kills what is left of its group, and
// returns what exec.Cmd.Wait does. As there, a caller that reads a StdoutPipe
// reads it to its end first. Several callers may wait.
func (p *Process) Wait() error {
	p.wait.Do(func() {
		// Not reaped yet: as long as it is a zombie nobody else can get its
		// number, so neither the signal nor the supervisor can hit an unrelated process.
		awaitExit(p.pid)
		p.mu.Lock()
		p.ended = true
		_ = killGroup(p.pid)                   // there may be nothing left to kill
		_ = p.supervisor.tell("forget", p.pid) // a supervisor that is gone has forgotten
		p.mu.Unlock()
		p.err = p.cmd.Wait()
		close(p.done)
	})
	<-p.done
	return p.err
}

// Signal sends a signal to the whole group. It returns os.ErrProcessDone if
// the process has ended.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return os.ErrProcessDone
	}
	return signalGroup(p.pid, s)
}

// Kill sends SIGKILL to the whole group; a stopped process dies too. It does
// not wait.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }

// Pause stops the whole group (SIGSTOP) and returns when every thread of every
// process in it stands still: the proof that the fault took effect.
func (p *Process) Pause(ctx context.Context) error {
	if err := p.Signal(stopSignal); err != nil {
		return err
	}
	return p.await(ctx, "did not stop", true)
}

// Resume lets the whole group go on (SIGCONT) and returns when none of its
// threads is stopped any more.
func (p *Process) Resume(ctx context.Context) error {
	if err := p.Signal(continueSignal); err != nil {
		return err
	}
	return p.await(ctx, "did not go on", false)
}

// await polls: neither system announces the state of a grandchild.
func (p *Process) await(ctx context.Context, complaint string, stopped bool) error {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		states, err := groupStates(p.pid)
		if err != nil {
			return fmt.Errorf("supervisor: cannot read the state of process group %d: %w", p.pid, err)
		}
		if states.settled(stopped) {
			return nil
		}
		if states.alive() == 0 {
			return os.ErrProcessDone
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("supervisor: process group %d %s: %w", p.pid, complaint, context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

// threadStates counts the threads of a process group.
type threadStates struct {
	stopped, running, dead int
}

func (s threadStates) alive() int { return s.stopped + s.running }

func (s threadStates) settled(stopped bool) bool {
	if stopped {
		return s.stopped > 0 && s.running == 0
	}
	return s.running > 0 && s.stopped == 0
}
