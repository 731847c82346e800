package elector

import (
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/recount-io/recount/internal/machine"
)

// startWork runs OnStarted, then OnStopped, on a goroutine of their own. No other
// term begins before they have returned: the machine waits for that.
func (s *session) startWork(t *Term) {
	if s.work != callbackWork && s.onStopped == nil {
		return
	}
	s.worked.Go(func() {
		// Deferred, because both may end by runtime.Goexit.
		defer s.put(machine.Input{Kind: machine.Returned})
		defer s.stopWork(t)
		if s.work == callbackWork {
			s.doWork(t)
		}
	})
}

// doWork calls OnStarted, and reports its end and its panic.
func (s *session) doWork(t *Term) {
	ended := s.workEnded(t.token)
	defer func() {
		if v := recover(); v != nil {
			ended.Err = &PanicError{v, debug.Stack()}
		}
		s.put(ended)
	}()
	defer t.enter()()
	began := s.clock.Now()
	s.e.cfg.OnStarted(t.Context(), t)
	s.returned(t, s.clock.Now()-began)
}

// returned warns, once, of work that returns again and again as soon as it is called.
func (s *session) returned(t *Term, after time.Duration) {
	if after >= s.e.cfg.Retry || s.once || t.Context().Err() != nil {
		s.hasty.Store(0)
		return
	}
	if s.hasty.Add(1) == 3 {
		s.logs(slog.LevelWarn, "OnStarted has returned at once three times, and each return ends a term: wait in it until its context is done")
	}
}

// enter notes that the work of the term runs on this goroutine until leave is called.
func (t *Term) enter() (leave func()) {
	self := goroutine()
	t.worker.Store(&self)
	return func() { t.worker.Store(nil) }
}

// inside reports whether the term's work is the caller.
func (t *Term) inside() bool {
	worker := t.worker.Load()
	return worker != nil && *worker == goroutine()
}

// goroutine names the goroutine that calls it, as a panic would.
func goroutine() string {
	name, _, _ := strings.Cut(goroutineHead(), " [")
	return name
}

// goroutineHead is the first line of a trace of the goroutine that calls it: its name, and
// its state in brackets.
func goroutineHead() string {
	var trace [128]byte // the line has some 70 at the most, but for labels
	head, _, _ := strings.Cut(string(trace[:runtime.Stack(trace[:], false)]), "\n")
	return head
}

// workEnded is the report of the end of a term's work: its lease is given back.
func (s *session) workEnded(token uint64) machine.Input {
	return machine.Input{Kind: machine.WorkEnded, Token: token, Calling: s.work == callbackWork || s.onStopped != nil}
}

// stopWork calls OnStopped when the term is over.
func (s *session) stopWork(t *Term) {
	<-t.ended
	if s.onStopped != nil {
		s.protect("OnStopped", func() { s.onStopped(t, t.why) })
	}
}

// protect calls one of the user's notifications. Its panic is logged: it must
// not end an election.
func (s *session) protect(name string, call func()) {
	defer func() {
		if v := recover(); v != nil {
			stack := string(debug.Stack())
			level, times := slog.LevelError, s.e.repeats.again(name+" panicked", nil, s.clock.Now())
			if times == 0 {
				level = slog.LevelDebug
			}
			s.logs(level, name+" panicked", slog.Any("panic", v), slog.Int("times", times), slog.String("stack", stack))
		}
	}()
	call()
}
