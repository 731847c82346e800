package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// command is what to run for each term.
type command struct {
	path           string
	args           []string // the first is the name by which it was called
	env            []string
	cgroup         cgroup // below which each job gets one of its own; empty if there is none
	stdout, stderr io.Writer
}

// job is one run of the command: a process, and all that it has started, in its
// control group; without one, all that has not left its process group.
type job struct {
	group  int
	cgroup cgroup
	ended  chan struct{} // closed when the process has ended; others of the job may be left
	gone   chan struct{} // closed when nobody of the job is left
	state  exitState     // of the process; set before ended is closed
}

// exitState is how a process ended.
type exitState struct {
	status int // as a shell says it: 128 and the signal's number if by a signal
	err    error
}

// goneInterval is how often a group whose first process has ended is looked
// for: nothing tells when the last one of a group has ended.
const goneInterval = 2 * time.Millisecond

// start runs the command in a process group of its own, so that what is meant
// for the job reaches its children too, and what a terminal sends to elect does
// not reach the job before elect wants it to.
func (c command) start(env ...string) (*job, error) {
	c.cgroup = c.cgroup.child()
	j := &job{cgroup: c.cgroup, ended: make(chan struct{}), gone: make(chan struct{})}
	started := make(chan error)
	go func() {
		// On Linux the kernel ends the job when the thread that started it
		// ends, so that thread stays here for as long as the job does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd, err := c.spawn(env)
		if err == nil {
			j.group = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			j.wait(cmd)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return j, nil
}

// spawn starts the process, in its control group if the kernel lets elect do so.
func (c command) spawn(env []string) (*exec.Cmd, error) {
	cmd := &exec.Cmd{
		Path: c.path, Args: c.args, Env: append(append([]string(nil), c.env...), env...),
		Stdout: c.stdout, Stderr: c.stderr,
		SysProcAttr: attributes(),
	}
	if c.cgroup == "" {
		return cmd, children.start(cmd)
	}
	folder, err := os.Open(string(c.cgroup))
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // it was only pointed at
	into(cmd.SysProcAttr, folder)
	if children.start(cmd) == nil {
		return cmd, nil
	}
	c.cgroup = "" // the command itself may be to blame: then it fails again
	return c.spawn(env)
}

// wait waits for the process, and then for the rest of the job.
func (j *job) wait(cmd *exec.Cmd) {
	j.state = stateOf(children.wait(cmd))
	close(j.ended)
	ticker := time.NewTicker(goneInterval)
	defer ticker.Stop()
	for alive(j.group) || j.cgroup.alive() {
		<-ticker.C
	}
	j.cgroup.walk(func(dir string) { _ = os.Remove(dir) }) // what is left of them goes with the group above
	close(j.gone)
}

// alive says whether somebody of the group is left. Those who became children
// of this process because their parents died are buried first.
func alive(group int) bool {
	for {
		pid, err := syscall.Wait4(-group, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			break
		}
	}
	return syscall.Kill(-group, 0) == nil
}

func stateOf(err error) exitState {
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		if err != nil {
			return exitState{statusFailed, err}
		}
		return exitState{}
	}
	if s, ok := failed.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return exitState{statusSignal + int(s.Signal()), err}
	}
	return exitState{failed.ExitCode(), err}
}

// ask asks the whole job to end.
func (j *job) ask() {
	_ = syscall.Kill(-j.group, syscall.SIGTERM) // who is gone needs no asking
	j.cgroup.ask(j.group)
}

// kill ends the whole job.
func (j *job) kill() {
	killGroup(j.group)
	j.cgroup.kill()
}
