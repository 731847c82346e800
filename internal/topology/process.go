package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// starter starts all processes of a launcher from one operating system thread:
// the kernel's parent-death signal comes when the thread that forked ends, and
// Go ends the thread of a goroutine that was locked to it and returned.
type starter struct {
	orders chan func()
	once   sync.Once
}

func newStarter() *starter {
	s := &starter{orders: make(chan func())}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread() // so that the thread lives on
		for order := range s.orders {
			order()
		}
	}()
	return s
}

func (s *starter) close() { s.once.Do(func() { close(s.orders) }) }

// start starts a process that dies with this one, where the system can see to
// that.
func (s *starter) start(cmd *exec.Cmd) (Process, error) {
	dieWithUs(cmd)
	done := make(chan error, 1)
	s.orders <- func() { done <- cmd.Start() }
	if err := <-done; err != nil {
		return nil, err
	}
	return &process{cmd: cmd, done: make(chan struct{})}, nil
}

// process is a child of this one.
type process struct {
	cmd  *exec.Cmd
	wait sync.Once
	done chan struct{}
	err  error
}

var _ Process = (*process)(nil)

func (p *process) PID() int              { return p.cmd.Process.Pid }
func (p *process) Name() string          { return fmt.Sprintf("process %d", p.PID()) }
func (p *process) Done() <-chan struct{} { return p.done }

func (p *process) Kill() error {
	if err := p.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (p *process) Wait() error {
	p.wait.Do(func() {
		p.err = p.cmd.Wait()
		close(p.done)
	})
	<-p.done
	return p.err
}

func (p *process) Pause(ctx context.Context) error  { return suspend(ctx, p.cmd.Process) }
func (p *process) Resume(ctx context.Context) error { return proceed(ctx, p.cmd.Process) }
