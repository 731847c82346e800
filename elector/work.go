package elector

import (
	"runtime/debug"

	"github.com/recount-io/recount/internal/machine"
)

// startWork runs OnStarted, then OnStopped, on a goroutine of their own. The
// next term's wait for them: the work of two terms never overlaps.
func (s *session) startWork(t *Term) {
	if s.work != callbackWork && s.onStopped == nil {
		return
	}
	before, done := s.worked, make(chan struct{})
	s.worked = done
	go func() {
		// Deferred, so that the work may also end by runtime.Goexit.
		defer close(done)
		defer s.stopWork(t)
		<-before
		if s.work == callbackWork {
			s.doWork(t)
		}
	}()
}

// doWork calls OnStarted, and reports its end and its panic.
func (s *session) doWork(t *Term) {
	ended := machine.Input{Kind: machine.WorkEnded, Token: t.token}
	defer func() {
		if v := recover(); v != nil {
			ended.Err = &PanicError{v, debug.Stack()}
		}
		s.put(ended)
	}()
	s.e.cfg.OnStarted(t.Context(), t)
}

// stopWork calls OnStopped when the term is over.
func (s *session) stopWork(t *Term) {
	<-t.ended
	if s.onStopped != nil {
		s.e.protect("OnStopped", func() { s.onStopped(t, t.why) })
	}
}

// protect calls one of the user's notifications. Its panic is logged: it must
// not end an election.
func (e *Elector) protect(name string, call func()) {
	defer func() {
		if v := recover(); v != nil {
			e.cfg.Logger.Error(name+" panicked", "election", e.cfg.Election, "id", e.id, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	call()
}
