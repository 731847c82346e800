package elector

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// Errors of the calls on an Elector.
var (
	ErrActive = errors.New("elector: already competing: only one of Run, Campaign and Terms may be active at a time; use another Elector for another candidate")
	ErrEnded  = errors.New("elector: the elector was stopped before it was elected")

	errNoContext = errors.New("elector: the context is nil: use context.Background() where there is none")

	ErrNotLeading  = errors.New("elector: this candidate does not lead")
	ErrNoCandidate = errors.New("elector: no other live candidate is called")
	ErrNotTaken    = errors.New("elector: the lease was given back, and the successor did not take it")
	ErrInsideWork  = errors.New("elector: Transfer would wait for the work that calls it: use Term.Transfer there, which returns at once")
)

// PanicError is what Run returns when OnStarted panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("elector: OnStarted panicked: %v\n%s", e.Value, e.Stack)
}

// Elector is one candidate in one election. It is safe for concurrent use.
type Elector struct {
	store Store
	cfg   Config // with defaults
	id    string
	seed  uint64

	current atomic.Pointer[Term] // the last term; the term itself knows whether it is over
	state   atomic.Pointer[State]
	repeats repeats
	muted   atomic.Bool // its logger did not want the last debug line that it was told

	mu          sync.Mutex
	asks        chan struct{} // bounds the calls of Leader; nil until there is one
	active      *session
	sessions    uint64
	floor       uint64 // handed from session to session, as the next two
	longest     time.Duration
	lastRequest uint64
}

// New returns an Elector that does not compete yet. Its error is a
// *ConfigError, or says which setting of the store does not suit the Config (store.Bounded).
// The store stays the caller's: it must live until the elector has stopped, and may
// serve others.
func New(s Store, cfg Config) (*Elector, error) {
	given := cfg
	cfg = cfg.withDefaults()
	if err := cfg.validate(given); err != nil {
		return nil, err
	}
	if _, ok := s.(store.CandidateLister); cfg.Failback > 0 && !ok {
		return nil, &ConfigError{"Failback", fmt.Sprintf("is %v and the store does not know who competes (it is no store.CandidateLister), so no better candidate would ever be found: leave Failback out, or use a store that is one", cfg.Failback)}
	}
	if err := store.Suits(s, store.Times{Lease: cfg.Lease, LongestLease: cfg.LongestLease, RequestTimeout: cfg.RequestTimeout}); err != nil {
		return nil, err
	}
	e := &Elector{
		store: s,
		cfg:   cfg,
		id:    cfg.ID + "/" + strings.ToLower(rand.Text()[:12]),
		seed:  unforeseen(),
	}
	e.setState(event.StateStopped)
	return e, nil
}

// unforeseen is a number that nobody can foresee.
func unforeseen() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return binary.LittleEndian.Uint64(b[:])
}

// ID is the candidate's whole identity: Config.ID, a slash and a random part
// of this Elector's own.
func (e *Elector) ID() string { return e.id }

// State is what the elector is at the moment. Whether it leads, IsLeader says.
func (e *Elector) State() State { return *e.state.Load() }

func (e *Elector) setState(s State) { e.state.Store(&s) }

// IsLeader reports whether this candidate leads at this moment, by the clock: it
// turns false at the deadline even if everything else in the process hangs.
// It is true for a moment only; what must not happen twice needs the token at
// the resource. It costs one reading of the clock.
func (e *Elector) IsLeader() bool {
	t := e.current.Load()
	return t != nil && t.leads()
}

// Leader asks the store who leads, and what that one publishes. A zero Leader means
// nobody. It may be
// called from anywhere, at any time, whether the elector competes or not.
func (e *Elector) Leader(ctx context.Context) (Leader, error) {
	e.mu.Lock()
	if e.asks == nil { // most never ask
		e.asks = make(chan struct{}, maxAsks)
	}
	asks := e.asks
	e.mu.Unlock()
	return ask(ctx, asks, e.cfg.RequestTimeout, func(ctx context.Context) (Leader, error) {
		return e.store.Leader(ctx, e.cfg.Election)
	})
}

// Run competes, and calls OnStarted for each term, until ctx is done (then its
// error is nil), or, with Config.Once, until one term is over. When ctx is done
// while this candidate leads, the term's context is cancelled, the lease is
// renewed until OnStarted has returned (at most for Config.DrainTimeout) and
// then released.
//
// Run returns after OnStarted, OnStopped and all other callbacks have
// returned, and leaves no goroutine behind, except for calls that hang in a
// store that does not obey its context. Its error is a *FatalError of the
// store, a *PanicError, or ErrActive. Work that outlives DrainTimeout is told of by the log
// and OnEvent (event.ErrDrainCapped), and is no error here.
//
// Without OnStarted, the elector leads until it loses the lease or is stopped.
func (e *Elector) Run(ctx context.Context) error {
	s, err := e.start(ctx, callbackWork)
	if s == nil {
		return err
	}
	if !s.ends(ctx) {
		s.stop()
		<-s.closed
	}
	return s.machine.Err()
}

// ends waits until the session is closed; false if ctx is done before. Like stop it is a
// function of its own since who waits in it does so for long, on a stack that had
// better be small.
//
//go:noinline
func (s *session) ends(ctx context.Context) bool {
	select {
	case <-s.closed:
		return true
	case <-ctx.Done():
		return false
	}
}

// Campaign competes until this candidate is elected and returns its term, or
// until ctx is done and returns ctx's error, with what went wrong last; it never returns nil
// and nil.
// After that ctx has no meaning for the term: the lease is renewed in the
// background until it is lost or Term.Resign is called, which the caller must
// do. Then the campaign may be repeated: it waits until the lease of the term before
// is given back, or has been tried to, and until OnEvent, OnLeader and the log have
// returned. If that takes longer than a Lease and two RequestTimeouts, the error is
// ErrActive: so it is where one of these callbacks competes itself. OnStarted and OnStopped are not called.
func (e *Elector) Campaign(ctx context.Context) (*Term, error) { return e.campaign(ctx, false) }

// TryAcquire asks for the lease once, for one critical operation say: it returns
// the term, as Campaign does, or a *HeldError if somebody else leads. A request
// whose outcome is unknown is repeated until ctx is done. A name that the store has
// never seen is granted at once if the store can be sure that it has forgotten no
// lease of it; else HeldError.Withheld says why it cannot, and Remaining until when.
func (e *Elector) TryAcquire(ctx context.Context) (*Term, error) { return e.campaign(ctx, true) }

func (e *Elector) campaign(ctx context.Context, single bool) (*Term, error) {
	s, err := e.startCampaign(ctx, single)
	if err != nil {
		return nil, err
	}
	t, over := s.comes(ctx)
	switch {
	case t != nil:
		return t, nil
	case over:
		return s.came()
	}
	// Even if it is elected in this moment: the caller gets either a term or an
	// error.
	s.stop()
	<-s.closed
	return nil, s.inVain(ctx.Err())
}

// inVain is the error of who has waited until ctx was done: with the last thing that went
// wrong, if nothing went right since.
func (s *session) inVain(err error) error {
	if s.trouble == nil {
		return err
	}
	return fmt.Errorf("%w; what went wrong last: %w", err, s.trouble)
}

// comes waits for a campaign's term; there is none if it is over before, or ctx is. See
// ends for why it is a function of its own.
//
//go:noinline
func (s *session) comes(ctx context.Context) (t *Term, over bool) {
	select {
	case t := <-s.terms:
		return t, true
	case <-s.closed:
		return nil, true
	case <-ctx.Done():
		return nil, false
	}
}

// came is what a campaign has come to that is over.
func (s *session) came() (*Term, error) {
	select {
	case t := <-s.terms: // elected and over already
		return t, nil
	default:
	}
	if err := s.machine.Err(); err != nil {
		return nil, err
	}
	if s.refused != nil {
		return nil, s.refused
	}
	return nil, ErrEnded
}

// OnlyLeader makes fn a function that only the leader executes: called on a
// candidate that does not lead it returns ErrNotLeading and does nothing. The
// context of fn is done when that of the call is, or the term's. Who leads may
// change while fn runs: it has the term to Check, and its token to send. It panics if fn is nil.
func (e *Elector) OnlyLeader(fn func(context.Context, *Term) error) func(context.Context) error {
	if fn == nil {
		panic("elector: OnlyLeader needs a function, and was given nil")
	}
	return func(ctx context.Context) error {
		if ctx == nil {
			return errNoContext
		}
		t := e.current.Load()
		if t == nil || !t.leads() {
			return ErrNotLeading
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(t.Context(), func() { cancel(context.Cause(t.Context())) })()
		return fn(ctx, t)
	}
}

// Terms competes and yields each term of this candidate. The loop's body is the
// term's work: it must end soon after the term's context is done. When it ends,
// the elector resigns; after a break it also stops. The sequence ends when ctx
// is done, after the first term with Config.Once, and with the error (and a nil
// Term) on a fatal error. OnStarted and OnStopped are not called.
func (e *Elector) Terms(ctx context.Context) iter.Seq2[*Term, error] {
	return func(yield func(*Term, error) bool) {
		s, err := e.start(ctx, bodyWork)
		switch {
		case err != nil:
			yield(nil, err)
			return
		case s == nil:
			return
		}
		defer context.AfterFunc(ctx, s.stop)()
		if s.yieldTerms(yield) {
			if err := s.machine.Err(); err != nil {
				yield(nil, err)
			}
		}
	}
}

// yieldTerms reports whether the consumer wants more.
func (s *session) yieldTerms(yield func(*Term, error) bool) (more bool) {
	defer func() { // also when the body panics
		s.stop()
		for {
			select {
			case t := <-s.terms: // elected meanwhile: there is no body left for it
				s.put(s.workEnded(t.token))
			case <-s.closed:
				return
			}
		}
	}()
	for {
		select {
		case t := <-s.terms:
			if !s.yieldTerm(yield, t) {
				return false
			}
		case <-s.closed:
			return true
		}
	}
}

func (s *session) yieldTerm(yield func(*Term, error) bool, t *Term) bool {
	defer func() { s.put(s.workEnded(t.token)) }()
	defer t.enter()()
	return yield(t, nil)
}

// start begins to compete. There is no session if ctx is done already.
func (e *Elector) start(ctx context.Context, work workKind) (s *session, err error) {
	if ctx == nil {
		return nil, errNoContext
	}
	apart(func() {
		s, err = e.open(ctx, work, e.cfg.Once, false)
		switch {
		case err == nil:
			s.begin(ctx)
		case errors.Is(err, ctx.Err()): // it is done
			err = nil
		}
	})
	return s, err
}

// startCampaign begins to compete for one term, which is its own.
func (e *Elector) startCampaign(ctx context.Context, single bool) (s *session, err error) {
	if ctx == nil {
		return nil, errNoContext
	}
	apart(func() {
		if s, err = e.open(ctx, noWork, true, single); err == nil {
			s.begin(context.WithoutCancel(ctx))
		}
	})
	return s, err
}

// apart calls f on another goroutine. Its caller is about to wait, perhaps for years,
// and would keep the stack that f has needed.
func apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// open makes the session, if no other one is active; else the error is ErrActive.
// One that is about to end is waited for, or the error is that of ctx. It is not waited
// for longer than a lease is given back: a callback that competes waits for itself.
func (e *Elector) open(ctx context.Context, work workKind, once, single bool) (*session, error) {
	if err := e.outside(); err != nil {
		return nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e.mu.Lock()
		last := e.active
		if last == nil {
			s := e.newSession(work, once, single)
			e.active = s
			e.mu.Unlock()
			return s, nil
		}
		e.mu.Unlock()
		if t := e.current.Load(); !last.leaving() || t != nil && t.inside() {
			return nil, ErrActive
		}
		if e.ended(ctx, last); ctx.Err() == nil && !last.over() {
			return nil, ErrActive
		}
	}
}

// ended waits for the end of a session, or until ctx is done, or for a lease and the
// time that giving it back may take.
func (e *Elector) ended(ctx context.Context, s *session) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := e.cfg.Clock.AfterFunc(e.cfg.Lease+overtime*e.cfg.RequestTimeout, cancel)
	defer timer.Stop()
	select {
	case <-s.closed:
	case <-ctx.Done():
	}
}

// refused notes a token that a protected resource has seen, for terms of later sessions, and
// returns the session to tell of it: that of the term, or the one that competes by now.
func (e *Elector) refused(token uint64, of *session) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	if machine.Credible(token, e.floor) {
		e.floor = max(e.floor, token)
	}
	return cmp.Or(e.active, of)
}

// leave ends the session's hold on the elector.
func (e *Elector) leave(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active = nil
	e.floor = max(e.floor, s.machine.Floor())
	e.longest = s.machine.LongestLease()
	e.lastRequest = s.machine.LastRequest()
}
