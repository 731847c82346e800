package supervisor

import (
	"os/exec"
	"runtime"
)

// starter starts all programs from one operating system thread. The kernel
// sends a parent-death signal when the *thread* that forked ends, not the
// process; and Go ends the thread of a goroutine that was locked to it and
// returned. A program started from any goroutine could thus be killed in the
// middle of a run. This thread lives as long as the supervisor.
type starter struct {
	requests chan startRequest
	ended    chan struct{}
}

type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

func newStarter() starter {
	s := starter{requests: make(chan startRequest), ended: make(chan struct{})}
	go s.run()
	return s
}

func (s starter) run() {
	runtime.LockOSThread()
	// Unlocked at the end, so that the thread outlives even a child that
	// somebody took out of the supervisor's guard.
	defer runtime.UnlockOSThread()
	for {
		select {
		case r := <-s.requests:
			r.done <- r.cmd.Start()
		case <-s.ended:
			return
		}
	}
}

func (s starter) start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	select {
	case s.requests <- startRequest{cmd, done}:
		return <-done
	case <-s.ended:
		return errClosed
	}
}

func (s starter) close() { close(s.ended) }
