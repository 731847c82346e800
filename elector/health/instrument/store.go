package instrument

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
)

// Operation is what a Store is asked to do.
type Operation string

// The operations that are observed. Watch is none: it lasts as long as the
// elector runs, and its end means nothing.
const (
	Acquire Operation = "acquire"
	Renew   Operation = "renew"
	Release Operation = "release"
	Leader  Operation = "leader"
)

// Operations are all of them.
func Operations() []Operation { return []Operation{Acquire, Renew, Release, Leader} }

// Outcome is what an operation came to.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"     // it took effect
	Held    Outcome = "held"     // Acquire: somebody else holds the lease
	NotHeld Outcome = "not_held" // Renew, Release: the lease is over
	Fatal   Outcome = "fatal"    // no repetition will change the answer
	Unknown Outcome = "unknown"  // no answer, or none that tells
)

// Outcomes are all of them.
func Outcomes() []Outcome { return []Outcome{Done, Held, NotHeld, Fatal, Unknown} }

// Definite reports whether the store has answered: everything but Unknown. It is a
// sign of life, even if the answer is a refusal.
func (o Outcome) Definite() bool { return o != Unknown }

// Call is one operation under way.
type Call struct {
	Operation Operation
	Election  string
	ID        string // the candidate; empty for Leader
	Token     uint64 // Renew, Release
	Request   uint64
	TTL       time.Duration // Acquire, Renew: the lease
}

// Answer is what a Call came to.
type Answer struct {
	Outcome Outcome
	Leader  elector.Leader // who holds the lease now, as far as the answer tells
	Err     error
}

// Begin is called on the caller's goroutine before each operation. It returns
// the context for it and a function that is called, once, with its answer; if
// the operation panics, with an Unknown one. Neither may block or panic.
type Begin func(ctx context.Context, c Call) (context.Context, func(Answer))

// Store returns a store that does what inner does, and tells begin. It has
// exactly those of store.CandidateLister, store.TermLister and store.Preflighter that
// inner has.
func Store(inner elector.Store, begin Begin) elector.Store {
	s := &observed{inner, begin}
	lister, isLister := inner.(store.CandidateLister)
	terms, isTermLister := inner.(store.TermLister)
	preflighter, isPreflighter := inner.(store.Preflighter)
	// A struct has its methods or has not: a caller that asks a store what it can do
	// must get inner's answer, so there is one type for each answer.
	switch {
	case isLister && isTermLister && isPreflighter:
		return struct {
			*observed
			store.CandidateLister
			store.TermLister
			store.Preflighter
		}{s, lister, terms, preflighter}
	case isLister && isTermLister:
		return struct {
			*observed
			store.CandidateLister
			store.TermLister
		}{s, lister, terms}
	case isLister && isPreflighter:
		return struct {
			*observed
			store.CandidateLister
			store.Preflighter
		}{s, lister, preflighter}
	case isTermLister && isPreflighter:
		return struct {
			*observed
			store.TermLister
			store.Preflighter
		}{s, terms, preflighter}
	case isLister:
		return struct {
			*observed
			store.CandidateLister
		}{s, lister}
	case isTermLister:
		return struct {
			*observed
			store.TermLister
		}{s, terms}
	case isPreflighter:
		return struct {
			*observed
			store.Preflighter
		}{s, preflighter}
	default:
		return s
	}
}

// observed is a store whose operations are told.
type observed struct {
	inner elector.Store
	begin Begin
}

var _ elector.Store = (*observed)(nil)

// Unwrap is the store that is observed: electors that have it in common are woken
// together, each of them observed or not.
func (s *observed) Unwrap() elector.Store { return s.inner }

// Suits is store.Bounded: what suits the store that is observed.
func (s *observed) Suits(t store.Times) error { return store.Suits(s.inner, t) }

// observe runs one operation. A panic passes through: the elector knows what to
// do about it, and the observer is told before.
func (s *observed) observe(ctx context.Context, c Call, do func(context.Context) (elector.Leader, error)) (err error) {
	ctx, end := s.begin(ctx, c)
	a := Answer{Outcome: Unknown, Err: event.ErrPanic}
	defer func() { end(a) }()
	leader, err := do(ctx)
	a.Outcome, a.Err = outcome(c.Operation, err), err
	var held *elector.HeldError
	if errors.As(err, &held) && a.Outcome == Held {
		a.Leader = elector.Leader{ID: held.Holder, Token: held.Token, Remaining: held.Remaining}
	} else if a.Outcome == Done {
		a.Leader = leader
	}
	return err
}

// outcome reads an error as the elector does.
func outcome(of Operation, err error) Outcome {
	var held *elector.HeldError
	var fatal *elector.FatalError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &fatal):
		return Fatal
	case of == Acquire && errors.As(err, &held):
		return Held
	case (of == Renew || of == Release) && errors.Is(err, store.ErrNotHeld):
		return NotHeld
	default:
		return Unknown
	}
}

func (s *observed) Acquire(ctx context.Context, a store.Attempt) (g store.Grant, err error) {
	c := Call{Operation: Acquire, Election: a.Election, ID: a.ID, Request: a.Request, TTL: a.TTL}
	err = s.observe(ctx, c, func(ctx context.Context) (elector.Leader, error) {
		var err error
		g, err = s.inner.Acquire(ctx, a)
		return elector.Leader{ID: a.ID, Token: g.Token, Remaining: a.TTL}, err
	})
	return g, err
}

func (s *observed) Renew(ctx context.Context, l store.Lease) error {
	return s.observe(ctx, call(Renew, l), func(ctx context.Context) (elector.Leader, error) {
		return elector.Leader{ID: l.ID, Token: l.Token, Remaining: l.TTL}, s.inner.Renew(ctx, l)
	})
}

func (s *observed) Release(ctx context.Context, l store.Lease) error {
	if l.Token == 0 { // a bid that is taken back
		return s.inner.Release(ctx, l)
	}
	return s.observe(ctx, call(Release, l), func(ctx context.Context) (elector.Leader, error) {
		return elector.Leader{}, s.inner.Release(ctx, l)
	})
}

func call(of Operation, l store.Lease) Call {
	return Call{Operation: of, Election: l.Election, ID: l.ID, Token: l.Token, Request: l.Request, TTL: l.TTL}
}

func (s *observed) Leader(ctx context.Context, election string) (l elector.Leader, err error) {
	err = s.observe(ctx, Call{Operation: Leader, Election: election}, func(ctx context.Context) (elector.Leader, error) {
		var err error
		l, err = s.inner.Leader(ctx, election)
		return l, err
	})
	return l, err
}

func (s *observed) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	s.inner.Watch(ctx, election, hint, ended)
}
