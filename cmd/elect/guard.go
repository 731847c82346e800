package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/recount-io/recount/elector"
)

// asGuard in the environment makes this program a guard, of the elect with that
// number, and guardCgroup names the job's control group.
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
	signal.Ignore(append(passed(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...) // a signal to all that are called elect does not mean the guard
	c := cgroup(os.Getenv(guardCgroup))
	elect, _ := strconv.Atoi(os.Getenv(asGuard)) // elect wrote it
	var known []relative                         // to look takes time, so at the end those that are known come first
	var look time.Duration                       // how long
	clock := elector.SystemClock()
	watchOver(&mailbox{fd: int(os.Stdin.Fd())}, clock, func(o order) {
		began := clock.Now()
		if o.group == unborn && o.end-began < 3*look { // the end must not come meanwhile
			return
		}
		known, _ = o.members(elect) // if nobody can be seen, nobody is known
		look = clock.Now() - began
	}, func(o order) {
		o.kill(elect, known)
	})
	c.kill() // what has left the process group, and a job of which there was no time to tell
	c.remove()
	os.Exit(0)
}

// orders are what a guard is told, a line each: a job's process group, or 0, or unborn, the
// time on the system's clock when it began, and the time at which it is killed unless
// another order comes before.
type orders interface {
	// wait returns when there is an order, when there will be none any more, or
	// when d is over.
	wait(d time.Duration)
	// read returns the lines that have come, without waiting, and false after the
	// last one.
	read() ([]string, bool)
}

// watchOver obeys the orders until they end, and then kills the job that is
// left. It calls heard for each new order that it has time for, and again and again for one
// of a job that is about to begin.
func watchOver(from orders, clock elector.Clock, heard, kill func(order)) {
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
		last := now
		for _, line := range lines {
			var o order
			if _, err := fmt.Sscan(line, &o.group, &o.began, &o.end); err == nil {
				now = o
			}
		}
		if (now != last || now.group == unborn) && at < now.end {
			heard(now)
		}
		if now.group != 0 && (at >= now.end || !more) {
			kill(now)
			now = order{}
		}
		if !more {
			return
		}
	}
}

// order is what a guard is told.
type order struct {
	group      int
	began, end time.Duration
}

// unborn is the group of a job that is about to begin: whatever elect starts from now on.
const unborn = -1

// kill kills a job whose time is over, or whose elect is gone. While elect lives, all
// that the job has started is below it. An order that arrives late must not end the
// next job: that began when the time of this one was over.
func (o order) kill(elect int, known []relative) {
	if o.group != unborn {
		if p, ok := lookAt(o.group); ok && p.parent == elect {
			killGroup(o.group)
		}
	}
	for _, p := range known {
		p.send(syscall.SIGKILL)
	}
	lookup(func() ([]relative, error) { return o.members(elect) }).kill(o.group)
}

// members are the processes of the job, while elect lives.
func (o order) members(elect int) ([]relative, error) {
	all, err := everybody()
	if os.Getppid() != elect {
		return nil, errOrphan
	}
	return below(all, elect, func(pid int) bool { return pid == os.Getpid() }, o.began, o.end), err
}

var errOrphan = errors.New("elect has ended: others have adopted what is left of its job")

// killGroup kills a process group. One that is gone is no matter.
func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// guard is a guard's process, as elect sees it.
type guard struct {
	log    *slog.Logger
	cgroup cgroup

	mu    sync.Mutex
	pipe  *os.File
	cmd   *exec.Cmd
	gone  chan struct{} // closed when the process has ended
	last  order
	fails bool // the last order did not reach it, and the log was told
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
	cmd.Env = []string{asGuard + "=" + strconv.Itoa(os.Getpid()), guardCgroup + "=" + string(g.cgroup)} // and none of the passwords that elect may have there
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

// over tells the guard which job must be gone at what time; the zero order for none. A
// guard that has died is replaced.
func (g *guard) over(o order) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.gone:
		if !g.fails {
			g.log.Error("the job's guard has ended; starting another one")
		}
		_ = g.pipe.Close() // nobody reads from it
		if err := g.start(); err != nil {
			g.failed(slog.LevelError, "the job is without a guard: if elect is killed with SIGKILL now, it goes on", err)
			return
		}
	default:
		if o == g.last {
			return
		}
	}
	_ = g.pipe.SetWriteDeadline(time.Now().Add(guardPatience)) // a stopped guard must not hold up elect
	if _, err := fmt.Fprintln(g.pipe, o.group, int64(o.began), int64(o.end)); err != nil {
		g.failed(slog.LevelWarn, "the job's guard cannot be reached", err)
		return
	}
	if g.last = o; g.fails {
		g.fails = false
		g.log.Info("the job's guard is reached again")
	}
}

// failed tells the log that an order did not reach the guard, if the last one did: there
// are many in a second.
func (g *guard) failed(level slog.Level, text string, err error) {
	if !g.fails {
		g.log.Log(context.Background(), level, text, "error", err)
	}
	g.fails = true
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
