package elector

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/internal/machine"
)

// workKind says who knows when a term's work has ended.
type workKind int

const (
	noWork       workKind = iota // nobody: it ends when the term does
	callbackWork                 // the goroutine that runs OnStarted
	bodyWork                     // the loop over Terms
)

// minChunk is the shortest time that a leader sleeps in one piece. See sleep.
const minChunk = 20 * time.Millisecond

// message is what reaches the loop: an input for the machine, and what only
// the shell wants to know.
type message struct {
	input machine.Input
	held  *HeldError
	sent  time.Duration // held: when the request was
}

// session is one Run, Campaign or loop over Terms: it runs a machine. All
// fields without a remark belong to the loop's goroutine.
type session struct {
	e       *Elector
	clock   Clock    // immutable
	work    workKind // immutable
	once    bool     // immutable: it has one term
	machine *machine.Machine
	parent  context.Context // of the terms, for its values
	calls   context.Context // of the requests

	onStopped func(*Term, Reason) // nil but for Run

	messages chan message  // shared
	tick     chan struct{} // shared; buffered, one is enough
	hints    chan Hint     // shared; buffered, full ones are lost
	terms    chan *Term    // shared; to Campaign or Terms; buffered
	ending   atomic.Bool   // no further term will begin
	finished chan struct{} // shared; closed after the loop
	closed   chan struct{} // shared; closed after everything

	single  bool          // stops when it is refused
	refused *HeldError    // why it did
	look    time.Duration // for better candidates, at the earliest

	pending    []machine.Input  // made by the loop itself
	news       []Event          // of this step
	term       *Term            // the last one
	unreleased map[uint64]*Term // by token
	worked     sync.WaitGroup   // while the goroutine of a term's work lives
	wake       time.Duration
	rival      rival
	callbacks  *announcer
	log        *announcer
	watcher    *watcher
}

func (e *Elector) newSession(work workKind, once bool) *session {
	var onStopped func(*Term, Reason)
	if work == callbackWork {
		onStopped = e.cfg.OnStopped
		if e.cfg.OnStarted == nil {
			work = noWork
		}
	}
	e.sessions++
	cfg := e.cfg.machine()
	cfg.ID, cfg.Once = e.id, once
	cfg.Seed = e.seed + e.sessions
	cfg.Floor, cfg.FirstRequest = e.floor, e.lastRequest
	s := &session{
		e: e, clock: e.cfg.Clock, work: work, once: once, onStopped: onStopped,
		machine:    machine.New(cfg),
		messages:   make(chan message),
		tick:       make(chan struct{}, 1),
		hints:      make(chan Hint, 64),
		terms:      make(chan *Term, 1),
		finished:   make(chan struct{}),
		closed:     make(chan struct{}),
		unreleased: make(map[uint64]*Term),
	}
	s.log = &announcer{missed: func(n int) { s.e.write(slog.LevelError, "the log hangs: lines were lost", slog.Int("lines", n)) }}
	s.callbacks = &announcer{missed: func(n int) {
		s.logs(slog.LevelError, "OnEvent or OnLeader hangs: events were lost", slog.Int("events", n))
	}}
	s.watcher = newWatcher(s)
	return s
}

// run competes until the machine is done, and cleans up. A stop is asked for
// by ctx.
func (s *session) run(ctx context.Context) {
	calls, cancel := context.WithCancel(context.Background())
	s.parent, s.calls = ctx, calls
	if s.single {
		close(s.watcher.done) // it never waits for the lease
	} else {
		go s.watcher.run(calls, s.e.cfg.Retry) // a Watch that does not return at once hangs alone
	}
	s.e.setState(stateOf(s.machine.Role()))

	s.loop(ctx.Done())

	s.ending.Store(true)
	close(s.finished)
	cancel()
	for _, t := range s.unreleased {
		t.releaseErr = ErrNotReleased
		close(t.released)
	}
	s.worked.Wait()
	await(s.clock, s.e.cfg.RequestTimeout, s.watcher.done) // a Watch that ignores its context is left behind
	s.callbacks.wait()
	s.log.wait()
	s.e.setState(StateStopped)
	s.e.leave(s)
	close(s.closed)
}

func (s *session) loop(stop <-chan struct{}) {
	done := s.step(message{input: machine.Input{Kind: machine.Start}})
	for !done {
		timer := s.sleep()
		select {
		case msg := <-s.messages:
			done = s.step(msg)
		case h := <-s.hints:
			done = s.step(message{input: s.hint(h)})
		case <-s.tick:
			done = s.step(message{input: machine.Input{Kind: machine.Wake}})
		case <-stop:
			stop = nil
			done = s.step(message{input: machine.Input{Kind: machine.Stop}})
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// sleep sets the timer for the machine's wake-up. While a term lives, no timer
// is set for long: one that was set before the machine was suspended fires late
// by as long as that lasted, and the context must be cancelled after it.
func (s *session) sleep() Timer {
	if s.wake == machine.Never {
		return nil
	}
	d := max(0, s.wake-s.clock.Now())
	if s.term != nil && !s.term.over.Load() {
		d = min(d, max(s.e.cfg.Lease/20, minChunk))
	}
	return s.clock.AfterFunc(d, func() {
		select {
		case s.tick <- struct{}{}:
		default:
		}
	})
}

// leaving says whether the session ends by itself soon. A campaign does when its term
// is over: its caller may know that by the clock, before the loop does.
func (s *session) leaving() bool {
	t := s.e.current.Load()
	return s.ending.Load() || s.once && s.work == noWork && t != nil && t.session == s && !t.leads()
}

// put hands an input to the loop; after the loop's end it does nothing.
func (s *session) put(in machine.Input) { s.deliver(message{input: in}) }

func (s *session) deliver(msg message) {
	select {
	case s.messages <- msg:
	case <-s.finished:
	}
}

func (s *session) hint(h Hint) machine.Input {
	kind := machine.HintReleased
	if h.Kind == HintGranted {
		kind = machine.HintGranted
	}
	s.watcher.heard(h.Token)
	return machine.Input{Kind: kind, Token: h.Token, Holder: h.To, Remaining: h.Remaining, Waiters: h.Waiters}
}

// step lets the machine decide on one message, and on what follows from it at
// once.
func (s *session) step(msg message) (done bool) {
	if msg.held != nil {
		s.inspect(msg.held, msg.sent)
	}
	s.pending = append(s.pending, msg.input)
	if msg.held != nil && s.single {
		s.refused = msg.held
		s.pending = append(s.pending, machine.Input{Kind: machine.Stop})
	}
	for len(s.pending) > 0 { // apply adds to it
		in := s.pending[0]
		s.pending = s.pending[1:]
		out := s.machine.Step(s.clock.Now(), in)
		for _, t := range out.Transitions {
			s.apply(t)
		}
		for _, r := range out.Requests {
			s.call(r)
		}
		s.wake, done = out.Wake, out.Done
	}
	s.tell()
	return done
}

// apply makes a transition real. It must not block: a belief that ends is
// taken back here, before anything is sent.
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
		s.term.end(Reason(t.Why.String()))
		s.workless(t.Token)
	case machine.Released:
		s.released(t)
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
	s.unreleased[t.Token] = s.term
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
	term := s.unreleased[t.Token]
	if term == nil {
		return
	}
	delete(s.unreleased, t.Token)
	term.releaseErr = t.Err
	close(term.released)
}

func (s *session) announce(ev Event) { s.news = append(s.news, ev) }

// tell hands on what was announced in a step, when its requests are on their way.
func (s *session) tell() {
	calls := s.e.cfg.OnEvent != nil || s.e.cfg.OnLeader != nil
	for _, ev := range s.news {
		if calls {
			s.callbacks.announce(func() { s.callBack(ev) })
		}
		s.log.announce(func() { s.e.log(ev) })
	}
	s.news = s.news[:0]
}

// logs writes to the log, and waits for nothing.
func (s *session) logs(level slog.Level, text string, attrs ...slog.Attr) {
	s.log.announce(func() { s.e.write(level, text, attrs...) })
}

// trouble announces what the shell found.
func (s *session) trouble(err error) {
	s.announce(Event{
		Kind: EventTrouble, At: s.clock.Now(), Election: s.e.cfg.Election, ID: s.e.id,
		State: s.e.State(), Err: err,
	})
}
