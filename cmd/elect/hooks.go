package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/recount-io/recount/elector"
)

// hooks are two commands of a shell: one for the begin of a term and one for its end.
type hooks struct {
	elected, lost string
	limit         time.Duration // for each of them
}

func (h hooks) validate() error {
	if h.limit <= 0 {
		return fmt.Errorf("--hook-timeout is %v; it must be above zero, such as 10s", h.limit)
	}
	return nil
}

// hook is one run of such a command. It is a job as the command is: each process that it starts is
// found, and killed in the end, by the guard if elect cannot.
type hook struct {
	*leader
	job    *job
	name   string
	term   *elector.Term
	within bool // it must be gone before the term ends
	until  time.Duration
	killed bool
}

// runHook runs a command in a shell, and returns when none of its processes is left, or
// none that elect can end. How it ends changes nothing.
func (l *leader) runHook(name, script string, t *elector.Term, within bool) {
	if script == "" {
		return
	}
	c := l.command
	c.path, c.args, c.stdin, c.stop = "/bin/sh", []string{"sh", "-c", script}, nil, 0
	began := l.clock.Now()
	h := hook{leader: l, name: name, term: t, within: within, until: began + l.hooks.limit}
	l.guard.over(order{unborn, began, h.deadline()})
	j, err := c.start(environment(t, l)...)
	if err != nil {
		l.guard.over(order{})
		l.log.Error("a hook cannot be started", "hook", name, "error", err)
		return
	}
	h.job = j
	err = h.run()
	l.guard.over(order{})
	args := []any{"hook", name, "token", t.Token(), "after", l.clock.Now() - began}
	if err != nil {
		l.log.Error("a hook has failed", append(args, "error", err)...)
		return
	}
	l.log.Info("a hook has ended", args...)
}

// deadline is when the guard kills the hook: a moment after elect itself would do it.
func (h *hook) deadline() time.Duration { return h.clock.Now() + h.left() + h.margin/2 }

// run waits for the end of the hook, and kills it when its time is over.
func (h *hook) run() error {
	over := h.term.Context().Done()
	if !h.within {
		over = nil
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		left := h.left()
		switch {
		case left > 0:
		case !h.killed:
			h.job.kill()
			h.killed, h.until = true, h.clock.Now()+killedPatience
			continue
		default:
			close(h.job.left)
			return errors.New("its time is over, and processes of it are left that elect cannot end")
		}
		h.guard.over(order{h.job.group, h.job.began, h.deadline()})
		timer.Reset(min(left, h.chunk()))
		select {
		case <-h.job.gone:
			if h.killed {
				return errors.New("its time was over: it was killed")
			}
			return h.job.state.err
		case <-over:
			over = nil // the lease may be kept, until the work is done
		case <-timer.C:
		}
	}
}

// left is how much time the hook has.
func (h *hook) left() time.Duration {
	left := h.until - h.clock.Now()
	if h.within && !h.killed {
		left = min(left, h.term.Remaining()-h.margin)
	}
	return left
}
