package elector

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// workKind says who knows when a term's work has ended.
type workKind int

const (
	noWork       workKind = iota // nobody: it ends when the term does
	callbackWork                 // the goroutine that runs OnStarted
	bodyWork                     // the loop over Terms
)

// session is one Run, Campaign or loop over Terms: it runs a machine. All
// fields without a remark belong to the goroutine that works off the inbox; see inbox.
type session struct {
	e       *Elector
	clock   Clock    // immutable
	work    workKind // immutable
	once    bool     // immutable: it has one term
	machine *machine.Machine
	parent  context.Context // of the terms, for its values
	calls   *lean           // of the requests

	onStopped func(*Term, Reason) // nil but for Run
	hasty     atomic.Int32        // terms in a row whose work returned at once

	inbox  inbox         // shared
	terms  chan *Term    // shared; to Campaign or Terms; buffered
	ending atomic.Bool   // no further term will begin
	closed chan struct{} // shared; closed after everything

	single  bool          // immutable: it stops when it is refused
	refused *HeldError    // why it did
	trouble error         // what went wrong last, if nothing went right since
	look    time.Duration // for better candidates, at the earliest

	pending     []machine.Input // made by a step itself
	news        []Event         // of this step
	unlogged    int             // renewals that are not in the log, about
	term        *Term           // the last one
	unreleased  []*Term
	worked      sync.WaitGroup // while the goroutine of a term's work lives
	wake, early time.Duration  // of the machine
	roundTrip   time.Duration  // of the last request that was refused
	alarm       *alarm
	bell        bell
	rival       rival
	callbacks   announcer
	log         announcer
	watcher     watcher
}

func (e *Elector) newSession(work workKind, once, single bool) *session {
	var onStopped func(*Term, Reason)
	if work == callbackWork {
		onStopped = e.cfg.OnStopped
		if e.cfg.OnStarted == nil {
			work = noWork
		}
	}
	e.sessions++
	cfg := e.cfg.machine()
	cfg.ID, cfg.Once, cfg.Bids = e.id, once, !single
	cfg.Seed = e.seed + e.sessions
	cfg.Floor, cfg.FirstRequest = e.floor, e.lastRequest
	cfg.Learned = e.longest
	s := &session{
		e: e, clock: e.cfg.Clock, work: work, once: once, single: single, onStopped: onStopped,
		machine: machine.New(cfg),
		closed:  make(chan struct{}),
	}
	s.machine.Unforeseen(unforeseen)
	if work != callbackWork {
		s.terms = make(chan *Term, 1)
	}
	s.log = announcer{missed: func(n int) { s.e.write(slog.LevelError, "the log hangs: lines were lost", slog.Int("lines", n)) }}
	s.callbacks = announcer{missed: func(n int) {
		s.logs(slog.LevelError, "OnEvent or OnLeader hangs: events were lost", slog.Int("events", n))
	}}
	s.watcher.s, s.watcher.done = s, make(chan struct{})
	return s
}

// begin competes until the machine is done. The terms' contexts have the values of
// the parent.
func (s *session) begin(parent context.Context) {
	s.parent = parent
	s.calls = &lean{}
	s.bell.ring, s.bell.look = s.ring, max(s.e.cfg.Lease/20, minLook)
	s.alarm = joinAlarm(s.e.store, s.clock, &s.bell)
	s.e.setState(stateOf(s.machine.Role()))
	s.inbox.busy = true
	s.inbox.messages = []message{{input: machine.Input{Kind: machine.Start}}}
	if s.single {
		close(s.watcher.done) // it never waits for the lease
	} else {
		go s.watcher.run(s.calls, s.e.cfg.Retry) // a Watch that does not return at once hangs alone
	}
	go s.workOff()
}

// stop asks the session to end.
//
//go:noinline
func (s *session) stop() { s.put(machine.Input{Kind: machine.Stop}) }

// put hands an input to the machine; after the session's end it does nothing.
func (s *session) put(in machine.Input) { s.deliver(message{input: in}) }

func (s *session) deliver(msg message) {
	if s.inbox.add(func() { s.inbox.messages = append(s.inbox.messages, msg) }) {
		s.workOff()
	}
}

// ring is called by the alarm.
func (s *session) ring() {
	if s.inbox.add(func() { s.inbox.rings = true }) {
		s.workOff()
	}
}

// heard takes in a hint. Its caller may hold a lock.
func (s *session) heard(h store.Hint) {
	put := func() { s.inbox.merge(h) }
	switch h.Kind {
	case store.HintReleased, store.HintGranted:
	case store.HintListening:
		put = func() {
			s.inbox.messages = append(s.inbox.messages, message{input: machine.Input{Kind: machine.HintListens}})
		}
	default:
		return
	}
	if s.inbox.add(put) {
		go s.workOff()
	}
}

// workOff lets the machine decide on all that has reached the session. It waits for
// nothing.
func (s *session) workOff() {
	for {
		msg, hint, ok := s.inbox.take()
		if !ok {
			s.alarm.set(&s.bell, s.early, s.wake, s.clock.Now())
			if s.inbox.leave() {
				return
			}
			continue
		}
		if hint != nil {
			msg.input = s.hint(*hint)
		}
		if s.step(msg) {
			s.inbox.close()
			s.alarm.leave(&s.bell)
			s.ending.Store(true)
			s.calls.cancel()
			s.watcher.stop()
			go s.end()
			return
		}
	}
}

// end waits for what still goes on when the machine is done.
func (s *session) end() {
	for _, t := range s.unreleased {
		t.releaseErr = ErrNotReleased
		close(t.released)
	}
	s.worked.Wait()
	await(s.clock, s.e.cfg.RequestTimeout, s.watcher.done) // a Watch that ignores its context is left behind
	s.callbacks.wait()
	s.log.wait()
	s.e.setState(event.StateStopped)
	s.e.leave(s)
	close(s.closed)
}

// leaving reports whether the session ends by itself soon. A campaign does when its term
// is over: its caller may know that by the clock, before the loop does.
func (s *session) leaving() bool {
	t := s.e.current.Load()
	return s.ending.Load() || s.once && s.work == noWork && t != nil && t.session == s && !t.leads()
}

// over reports whether the session has ended.
func (s *session) over() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

func (s *session) hint(h store.Hint) machine.Input {
	kind := machine.HintReleased
	switch {
	case h.Kind == store.HintGranted && h.Nonce != "" && h.To == s.e.id:
		kind = machine.HintPassed
	case h.Kind == store.HintGranted:
		kind = machine.HintGranted
	}
	s.watcher.heard(h.Token)
	return machine.Input{
		Kind: kind, Token: h.Token, Holder: h.To, Remaining: h.Remaining, Waiters: h.Waiters, RoundTrip: s.roundTrip,
		Nonce: h.Nonce, Request: h.Request,
	}
}

// step lets the machine decide on one message, and on what follows from it at
// once.
func (s *session) step(msg message) (done bool) {
	if msg.held != nil {
		s.roundTrip = s.clock.Now() - msg.sent
		s.inspect(msg.held, msg.sent)
	}
	s.pending = append(s.pending, msg.input)
	asks := s.machine.Role() == machine.Candidate
	for len(s.pending) > 0 { // apply adds to it
		in := s.pending[0]
		s.pending = s.pending[1:]
		out := s.machine.Step(s.clock.Now(), in)
		if asks && msg.held != nil && s.single && s.machine.Role() == machine.Follower {
			s.refused, asks = msg.held, false // by this answer, and not by one of yesterday
			s.pending = append(s.pending, machine.Input{Kind: machine.Stop})
		}
		for _, t := range out.Transitions {
			s.apply(t)
		}
		for _, r := range out.Requests {
			s.call(r)
		}
		s.wake, s.early, done = out.Wake, out.Early, out.Done
	}
	s.pending = nil // thousands of sessions wait
	s.tell()
	s.settled()
	return done
}

// apply makes a transition real. It must not block: a term that is
// over ends here, before anything is sent.
func (s *session) apply(t machine.Transition) {
	switch t.Kind {
	case machine.RoleChanged:
		s.roleChanged(t)
	case machine.Elected:
		s.elected(t)
	case machine.Extended:
		s.term.deadline.Store(int64(t.Until))
		if s.term.draining.Load() && t.Role == machine.Leader {
			// The context's own look at the clock ended the work just before
			// the renewal's answer was taken in.
			s.pending = append(s.pending, machine.Input{Kind: machine.Resign, Token: t.Token})
		}
		if t.Role == machine.Leader {
			s.failback(t)
		}
	case machine.Deposed:
		s.term.capped = errors.Is(t.Err, machine.ErrDrainCapped)
		s.term.end(Reason(t.Why.String()))
		s.workless(t.Token)
	case machine.Released:
		s.released(t)
	case machine.Trouble:
		s.crowded(t)
	case machine.Shown:
		s.term.published.acknowledge(t.Version)
	}
	if ev, ok := s.e.event(t); ok {
		s.announce(ev)
	}
}

func (s *session) roleChanged(t machine.Transition) {
	switch t.Role {
	case machine.Draining:
		s.term.giveUp(Reason(t.Why.String()))
		s.workless(s.term.token)
	case machine.Stopped:
		s.ending.Store(true)
	}
	s.e.setState(stateOf(t.Role))
}

func (s *session) elected(t machine.Transition) {
	s.term = newTerm(s, s.parent, t.Token, t.Until)
	s.unreleased = append(s.unreleased, s.term)
	s.e.current.Store(s.term)
	s.startWork(s.term)
	if s.work != callbackWork {
		select {
		case s.terms <- s.term:
		default: // nobody asks for terms: Run without OnStarted
		}
	}
}

// workless reports the end of the work where there is none.
func (s *session) workless(token uint64) {
	if s.work == noWork {
		s.pending = append(s.pending, s.workEnded(token))
	}
}

func (s *session) released(t machine.Transition) {
	i := slices.IndexFunc(s.unreleased, func(term *Term) bool { return term.token == t.Token })
	if i < 0 {
		return
	}
	term := s.unreleased[i]
	s.unreleased = slices.Delete(s.unreleased, i, i+1)
	term.releaseErr = t.Err
	close(term.released)
}

func (s *session) announce(ev Event) {
	switch ev.Kind {
	case event.Trouble:
		s.trouble = ev.Err
	case event.Elected, event.Extended, event.Reachable, event.LeaderSeen:
		s.trouble = nil
	}
	s.news = append(s.news, ev)
}

// tell hands on what was announced in a step, when its requests are on their way.
func (s *session) tell() {
	calls := s.e.cfg.OnEvent != nil || s.e.cfg.OnLeader != nil
	for _, ev := range s.news {
		if calls {
			s.callbacks.announce(func() { s.callBack(ev) })
		}
		times := 1
		if what := s.e.warns(ev); what != "" {
			times = s.e.repeats.again(what, ev.Err, ev.At)
		}
		if times > 0 && s.toLog(ev) || times == 0 && !s.e.muted.Load() {
			s.log.announce(func() { s.e.log(ev, times) })
		}
	}
	s.news = nil // there is none between most steps
}

// toLog reports whether an event belongs in the log. A renewal's line takes a goroutine, and
// most loggers do not want it: one that did not want the last such line is told of every
// tenth, lest it does by now.
func (s *session) toLog(ev Event) bool {
	if ev.Kind != event.Extended || s.e.overdue(ev) || !s.e.muted.Load() {
		return true
	}
	s.unlogged++
	return s.unlogged%10 == 0
}

// logs writes to the log, and waits for nothing.
func (s *session) logs(level slog.Level, text string, attrs ...slog.Attr) {
	s.log.announce(func() { s.e.write(level, text, attrs...) })
}

// trouble announces what the shell found.
func (s *session) troubled(err error) {
	s.announce(Event{
		Kind: event.Trouble, At: s.clock.Now(), Election: s.e.cfg.Election, ID: s.e.id,
		State: s.e.State(), Err: err,
	})
}
