package elector

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/internal/machine"
)

// Errors of Term.
var (
	ErrTermOver    = errors.New("elector: the term is over")
	ErrTermShort   = errors.New("elector: too little of the term is left")
	ErrNotReleased = machine.ErrNotReleased
)

// Term is one uninterrupted holding of the lease by this candidate. It is safe
// for concurrent use, and remains valid, though useless, when it is over.
type Term struct {
	session *session
	token   uint64
	ctx     *termContext
	cancel  context.CancelCauseFunc

	deadline atomic.Int64           // on the clock
	worker   atomic.Pointer[string] // the goroutine that runs the work; nil while none does
	draining atomic.Bool            // gives up: works off what it began, leads no more
	over     atomic.Bool

	published published

	// why and capped are set before ended is closed, releaseErr before released is.
	ended      chan struct{}
	why        Reason
	capped     bool // its work did not end in time
	released   chan struct{}
	releaseErr error
}

func newTerm(s *session, parent context.Context, token uint64, deadline time.Duration) *Term {
	t := &Term{session: s, token: token, ended: make(chan struct{}), released: make(chan struct{})}
	t.deadline.Store(int64(deadline))
	if s.e.cfg.Value != "" {
		t.published.last, t.published.shown = 1, 1 // it came with the grant
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	t.ctx, t.cancel = &termContext{ctx, t}, cancel
	return t
}

// Context is done as soon as the term's work must end: when the term is lost,
// at its deadline, and when it is resigned or stopped. It is done before the
// store can give the lease to anybody else, as long as the process runs; its
// Err looks at the clock itself. The cause is ErrTermOver, wrapped.
func (t *Term) Context() context.Context { return t.ctx }

// Token is the fencing token: larger for every later term of the election. Send
// it with every write; the resource must refuse tokens smaller than one it has
// seen. That, and nothing else, stops the writes of a process that was paused.
func (t *Term) Token() uint64 { return t.token }

// Deadline is when the term ends unless it is renewed before, on the wall clock as it is
// now: for whatever takes a time, such as context.WithDeadline. It moves with every
// renewal; whether the term goes on, Check says.
func (t *Term) Deadline() time.Time { return time.Now().Add(t.Until() - t.session.clock.Now()) }

// Until is the same moment on the elector's Clock, as Event.Until.
func (t *Term) Until() time.Duration { return time.Duration(t.deadline.Load()) }

// Remaining is the time to the deadline; 0 if the term is over.
func (t *Term) Remaining() time.Duration {
	if t.over.Load() {
		return 0
	}
	return max(0, t.Until()-t.session.clock.Now())
}

// Check is to be called before a step of the work. It returns nil if the lease
// is certainly held now and for at least another min, ErrTermShort if it is held
// but not for so long, and ErrTermOver if not. While the term drains, Check goes
// on passing, so that what was begun can be ended. It costs one reading of the
// clock; no check can say what will be true after a pause of the process.
func (t *Term) Check(min time.Duration) error {
	left := t.Remaining()
	switch {
	case left <= 0:
		return ErrTermOver
	case left < min:
		return ErrTermShort
	default:
		return nil
	}
}

// Resign ends the term: IsLeader is false and the context is done at once. The
// lease is renewed until the work has ended, and then released.
//
// The work is OnStarted with Run and the loop's body with Terms. There Resign
// returns at once and may be called from inside the work. A term of Campaign has
// no work that the elector knows of: call Resign when the work has ended. It
// then waits until the lease is released or ctx is done; ErrNotReleased means
// that the lease will end by itself.
//
// Resigning a term that is over does nothing.
func (t *Term) Resign(ctx context.Context) error { return t.Transfer(ctx, "") }

// Transfer is Resign in favour of a candidate: it alone is granted the lease
// for the next Lease and a retry's pause, and
// asks for it as soon as the release is announced, so that about two round trips
// lie between the two terms. A candidate that hears no announcements asks once in a lease.
// If it does not take the lease in that time, anybody
// gets it; so an ID that nobody competes under costs that time, and is no error.
// Elector.Transfer tells who leads afterwards.
// to is the candidate's whole ID, as Elector.Candidates lists it;
// anybody if it is empty. A store that cannot reserve a lease gives it to
// anybody at once.
func (t *Term) Transfer(ctx context.Context, to string) error {
	if ctx == nil {
		return errNoContext
	}
	if !t.over.Load() {
		// The successor first: giving up ends the work, which resigns too.
		t.session.put(machine.Input{Kind: machine.Resign, Token: t.token, Holder: to})
		t.giveUp(event.ReasonResigned)
	}
	if t.session.work != noWork {
		return nil
	}
	t.session.put(t.session.workEnded(t.token))
	select {
	case <-t.released:
		return t.releaseErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Refused tells the elector that a protected resource has refused the term's
// token: fence is the largest token that the resource has seen. The term is over
// then, with ReasonSuperseded, and no later term of this candidate will have a
// token up to fence, whatever the store answers: a store that is split in two,
// or has lost its count, does not know of the term that was granted elsewhere.
// For a fence that is not larger than the token Refused does nothing.
func (t *Term) Refused(fence uint64) {
	if fence > t.token {
		t.session.e.refused(fence, t.session).put(machine.Input{Kind: machine.Fenced, Token: fence})
		t.giveUp(event.ReasonSuperseded)
	}
}

// leads is IsLeader of this term.
func (t *Term) leads() bool {
	return !t.over.Load() && !t.draining.Load() && t.session.clock.Now() < t.Until()
}

// giveUp makes the work end. The lease is still held.
func (t *Term) giveUp(why Reason) {
	t.draining.Store(true)
	t.cancel(fmt.Errorf("%w: %s", ErrTermOver, why))
}

// end makes the term over.
func (t *Term) end(why Reason) {
	t.over.Store(true)
	t.cancel(fmt.Errorf("%w: %s", ErrTermOver, why))
	t.why = why
	close(t.ended)
}

// termContext is a term's context. Timers can be late, by as long as the
// machine was suspended; so Err asks the clock.
type termContext struct {
	context.Context
	term *Term
}

func (c *termContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if t := c.term; t.session.clock.Now() >= t.Until() {
		t.giveUp(event.ReasonExpired)
	}
	return c.Context.Err()
}
