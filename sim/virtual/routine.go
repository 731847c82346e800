package virtual

import (
	"iter"
	"slices"
	"time"
)

// routine is code in blocking style that lives in virtual time: a coroutine.
// It runs until it waits for something, and goes on when that has come. There
// is never more than one that runs, and the world stands still meanwhile.
type routine struct {
	agenda *agenda
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	waits  uint64 // how often it has waited: older wake-ups are stale
	woken  bool   // by what it waited for, and not by the time
	done   bool
	defers func(actor, uint64) bool // of the process that it is part of; nil: it never stands still
}

// ended unwinds a routine whose world is gone.
type ended struct{}

// prepare makes a routine that begins with its first next.
func prepare(a *agenda, f func(r *routine)) *routine {
	r := &routine{agenda: a}
	r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		defer func() {
			r.done = true
			if v := recover(); v != nil {
				if _, gone := v.(ended); !gone {
					panic(v)
				}
			}
		}()
		f(r)
	})
	return r
}

// end ends the routine wherever it waits.
func (r *routine) end() {
	if !r.done {
		r.done = true
		r.stop()
	}
}

// act goes on with a routine that still waits for this.
func (r *routine) act(wait uint64) {
	if r.done || wait != r.waits || r.defers != nil && r.defers(r, wait) {
		return
	}
	r.next()
}

// pause gives the world its turn, until somebody calls wake or act.
func (r *routine) pause() {
	if !r.yield(struct{}{}) {
		panic(ended{})
	}
	r.waits++
}

// wake lets the routine go on, now, because what it waits for has come.
func (r *routine) wake(wait uint64) {
	if !r.done && wait == r.waits {
		r.woken = true
		r.agenda.plan(r.agenda.now, r, wait)
	}
}

// sleep lets d pass.
func (r *routine) sleep(d time.Duration) {
	r.agenda.plan(r.agenda.now+d, r, r.waits)
	r.pause()
}

// await waits for s, for d at the most, and reports whether it came.
func (r *routine) await(s *signal, d time.Duration) bool {
	r.woken = false
	s.waiting = append(s.waiting, waiter{r, r.waits})
	r.agenda.plan(r.agenda.now+d, r, r.waits)
	r.pause()
	if !r.woken {
		s.waiting = slices.DeleteFunc(s.waiting, func(w waiter) bool { return w.r == r })
	}
	return r.woken
}

// signal is something that routines can wait for.
type signal struct{ waiting []waiter }

type waiter struct {
	r    *routine
	wait uint64
}

// fire lets all go on who wait.
func (s *signal) fire() {
	for _, w := range s.waiting {
		w.r.wake(w.wait)
	}
	s.waiting = s.waiting[:0]
}
