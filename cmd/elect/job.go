package main

import (
	"cmp"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/recount-io/recount/elector"
)

// command is what to run for each term.
type command struct {
	path           string
	args           []string // the first is the name by which it was called
	env            []string
	cgroup         cgroup   // below which each job gets one of its own; empty if there is none
	stdin          *os.File // nil: there is nothing to read
	stdout, stderr io.Writer
	stop           syscall.Signal // asks the job to end; 0: SIGTERM
}

// job is one run of the command: a process, and all that it has started. Where these
// cannot be seen, it is all that are in its control group and its process group.
type job struct {
	process *os.Process // the first one
	group   int
	stop    syscall.Signal
	began   time.Duration // on elector.SystemClock
	cgroup  cgroup
	ended   chan struct{} // closed when the process has ended; others of the job may be left
	gone    chan struct{} // closed when nobody of the job is left
	left    chan struct{} // closed when elect no longer waits for that
	zombies map[int]bool  // those that were seen; of alive alone
	asked   []relative    // who lived when the job was asked to end
	state   exitState     // of the process; set before ended is closed
}

// exitState is how a process ended.
type exitState struct {
	status int // as a shell says it: 128 and the signal's number if by a signal
	err    error
}

// goneInterval is how often the rest of a job is looked for whose first process has
// ended: nothing tells when the last one has.
const goneInterval = 2 * time.Millisecond

// rest is how long to wait after a look that took that long: looking takes at most a
// tenth of a processor where there are many processes. A look during which this process
// was stopped says nothing about its cost, so the wait has an end.
func rest(look time.Duration) time.Duration {
	return min(max(goneInterval, 9*look), tracedInterval)
}

// tracedInterval is how often elect looks whether a tracer keeps from it that the job's
// first process has ended.
const tracedInterval = 200 * time.Millisecond

// start runs the command in a process group of its own, so that what is meant
// for the job reaches its children too, and what a terminal sends to elect does
// not reach the job before elect wants it to.
func (c command) start(env ...string) (*job, error) {
	c.cgroup = c.cgroup.child()
	j := &job{
		began: elector.SystemClock().Now(), cgroup: c.cgroup, stop: cmp.Or(c.stop, syscall.SIGTERM),
		ended: make(chan struct{}), gone: make(chan struct{}), left: make(chan struct{}), zombies: map[int]bool{},
	}
	started, state := make(chan error), make(chan exitState, 1)
	go func() {
		// On Linux the kernel ends the job when the thread that started it
		// ends, so that thread stays here for as long as the job does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd, err := c.spawn(env)
		if err == nil {
			j.process, j.group = cmd.Process, cmd.Process.Pid
		}
		started <- err
		if err == nil {
			state <- stateOf(children.wait(cmd))
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	go j.wait(state)
	return j, nil
}

// spawn starts the process, in its control group if the kernel lets elect do so.
func (c command) spawn(env []string) (*exec.Cmd, error) {
	cmd := &exec.Cmd{
		Path: c.path, Args: c.args, Env: append(append([]string(nil), c.env...), env...),
		Stdout: c.stdout, Stderr: c.stderr,
		SysProcAttr: attributes(),
	}
	if c.stdin != nil { // a nil file is no nil reader
		cmd.Stdin = c.stdin
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
func (j *job) wait(state <-chan exitState) {
	j.state = j.first(state)
	close(j.ended)
	for {
		began := time.Now()
		if !j.alive() {
			break
		}
		select {
		case <-j.left:
			return
		case <-time.After(rest(time.Since(began))):
		}
	}
	j.cgroup.walk(func(dir string) { _ = os.Remove(dir) }) // what is left of them goes with the group above
	close(j.gone)
}

// first waits for the process. One whose tracer keeps its end to itself has the status
// of one that was killed.
func (j *job) first(state <-chan exitState) exitState {
	tick := time.NewTicker(tracedInterval)
	defer tick.Stop()
	for kept := 0; kept < 2; {
		select {
		case s := <-state:
			return s
		case <-j.left:
			return exitState{status: statusSignal + int(syscall.SIGKILL)}
		case <-tick.C:
			if kept++; !traced(j.group) {
				kept = 0
			}
		}
	}
	return exitState{status: statusSignal + int(syscall.SIGKILL)}
}

// members are the job's processes.
func (j *job) members() ([]relative, error) {
	all, err := everybody()
	if err != nil {
		return nil, err
	}
	children.mu.Lock()
	defer children.mu.Unlock()
	return j.among(all), nil
}

func (j *job) among(all []relative) []relative {
	return below(all, os.Getpid(), func(pid int) bool { return children.own[pid] && pid != j.group }, j.began, math.MaxInt64)
}

// alive reports whether somebody of the job is left. While it looks nobody else buries
// the orphans that elect has adopted, so none of them hides behind one that is buried:
// all that a process leaves behind is below elect as soon as that is a zombie.
func (j *job) alive() bool {
	children.mu.Lock()
	defer children.mu.Unlock()
	all, err := everybody()
	if err != nil {
		return alive(j.group) || j.cgroup.alive()
	}
	for _, p := range j.among(all) {
		// A zombie that cannot be buried, since it is traced, may have left somebody.
		if !p.dead || p.parent == os.Getpid() && (bury(p.pid) || !j.zombies[p.pid]) {
			j.zombies[p.pid] = p.dead
			return true
		}
	}
	return j.cgroup.alive()
}

// bury reports whether this was a child that has ended, which now is no more.
func bury(pid int) bool {
	for {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if !errors.Is(err, syscall.EINTR) {
			return err == nil && got != 0
		}
	}
}

// alive reports whether somebody of the group is left, as far as signals tell: a zombie
// is. Those who became children of this process because their parents died are buried
// first.
func alive(group int) bool {
	for bury(-group) {
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

// ask asks the whole job to end, and returns the processes of which elect knows.
func (j *job) ask() []relative {
	var err error
	if j.asked, err = lookup(j.members).ask(j.group, j.stop); err != nil {
		j.cgroup.ask(j.group, j.stop)
	}
	return j.asked
}

// kill ends the whole job, and returns the processes of which elect knows.
func (j *job) kill() []relative {
	select { // to look for others takes time, so those that are known come first
	case <-j.ended:
	default:
		killGroup(j.group)
	}
	j.cgroup.kill()
	for _, p := range j.asked {
		p.send(syscall.SIGKILL)
	}
	return lookup(j.members).kill(j.group)
}
