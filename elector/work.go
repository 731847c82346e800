package elector

import (
	"runtime/debug"

	"github.com/recount-io/recount/internal/machine"
)

// startWork runs OnStarted, then OnStopped, on a goroutine of their own. The
// next term's wait for them: the work of two terms never overlaps. Work whose
// term is over before it could begin is not begun.
func (s *session) startWork(t *Term) {
	if s.work != callbackWork && s.onStopped == nil {
		return
	}
	before, done := s.worked, make(chan struct{})
	s.worked = done
	go func() {
		defer close(done)
		<-before
		if s.work == callbackWork && t.Context().Err() != nil {
			// Over before it began, while the last OnStopped took its time.
			s.put(machine.Input{Kind: machine.WorkEnded, Token: t.token})
			return
		}
		defer s.stopWork(t) // deferred, because the work may end by runtime.Goexit
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
