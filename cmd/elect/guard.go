package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/recount-io/recount/elector"
)

// asGuard in the environment makes this program a guard, and guardCgroup names
// the job's control group.
const (
	asGuard     = "ELECT_INTERNAL_GUARD"
	guardCgroup = "ELECT_INTERNAL_CGROUP"
)

// guardMain is called first in main, and in TestMain. In a guard's process it
// does the guard's work and ends the process.
//
// A guard is this program once more, as a small process in a session of its
// own, which knows the job's process group and the moment at which it must be
// gone. It ends the job when elect is killed, by whatever signal (the kernel
// then closes the pipe from which it reads), and at that moment if elect is
// stopped, starved or swapped out so that it cannot. In the end it removes the
// job's control group.
func guardMain() {
	if os.Getenv(asGuard) == "" {
		return
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	c := cgroup(os.Getenv(guardCgroup))
	// In time the process group only: an order that arrives late must not end the
	// next job, which is in the same control group.
	watchOver(&mailbox{fd: int(os.Stdin.Fd())}, elector.SystemClock(), killGroup)
	c.kill() // whoever has left the process group, and a job of which there was no time to tell
	c.remove()
	os.Exit(0)
}

// orders are what a guard is told, a line each: a process group, or 0, and the
// time on the system's clock at which it is killed unless another order comes
// before.
type orders interface {
	// wait returns when there is an order, when there will be none any more, or
	// when d is over.
	wait(d time.Duration)
	// read returns the lines that have come, without waiting, and false after the
	// last one.
	read() ([]string, bool)
}

// watchOver obeys the orders until they end, and then kills the job that is
// left.
func watchOver(from orders, clock elector.Clock, kill func(group int)) {
	// Never longer in one piece: timers stand still while a machine is suspended.
	const chunk = 50 * time.Millisecond
	var now order
	for {
		wait := chunk
		if now.group != 0 {
			wait = max(0, min(chunk, now.end-clock.Now()))
		}
		from.wait(wait)
		// A guard that was held up finds orders that are newer than the one it
		// knows. So the time is read first: the job is judged by all that was said
		// until then.
		at := clock.Now()
		lines, more := from.read()
		for _, line := range lines {
			var o order
			if _, err := fmt.Sscan(line, &o.group, &o.end); err == nil {
				now = o
			}
		}
		if now.group != 0 && (at >= now.end || !more) {
			kill(now.group)
			now = order{}
		}
		if !more {
			return
		}
	}
}

// order is what a guard is told.
type order struct {
	group int
	end   time.Duration
}

// killGroup kills a process group. One that is gone is no matter.
func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// guard is a guard's process, as elect sees it.
type guard struct {
	log    *slog.Logger
	cgroup cgroup

	mu   sync.Mutex
	pipe *os.File
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
	last order
}

func startGuard(log *slog.Logger, c cgroup) (*guard, error) {
	g := &guard{log: log, cgroup: c}
	if err := g.start(); err != nil {
		return nil, fmt.Errorf("the job's guard cannot be started: %w", err)
	}
	return g, nil
}

func (g *guard) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = []string{asGuard + "=1", guardCgroup + "=" + string(g.cgroup)} // and none of the passwords that elect may have there
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal's signal reaches it
	err = children.start(cmd)
	_ = r.Close() // the guard has its own
	if err != nil {
		return errors.Join(err, w.Close())
	}
	g.pipe, g.cmd, g.gone = w, cmd, make(chan struct{})
	go func(gone chan struct{}) {
		_ = children.wait(cmd) // how it ended changes nothing
		close(gone)
	}(g.gone)
	return nil
}

// over tells the guard which group must be gone at what time; 0 for none. A
// guard that has died is replaced.
func (g *guard) over(group int, end time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := order{group, end}
	select {
	case <-g.gone:
		g.log.Error("the job's guard has ended; starting another one")
		_ = g.pipe.Close() // nobody reads from it
		if err := g.start(); err != nil {
			g.log.Error("the job is without a guard: if elect is killed with SIGKILL now, it goes on", "error", err)
			return
		}
	default:
		if o == g.last {
			return
		}
	}
	_ = g.pipe.SetWriteDeadline(time.Now().Add(guardPatience)) // a stopped guard must not hold up elect
	if _, err := fmt.Fprintln(g.pipe, group, int64(end)); err != nil {
		g.log.Warn("the job's guard cannot be reached", "error", err)
		return
	}
	g.last = o
}

// guardPatience is for how long elect waits for room in the pipe to its guard,
// which has room for a thousand orders. The guard takes one in microseconds.
const guardPatience = minMargin / 2

// close ends the guard, after the last job.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.pipe.Close() // the order to end
	<-g.gone
}
