package joblock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recount-io/recount/elector"
)

// Errors of Run, when the lock ended before the job did. Each wraps
// elector.ErrTermOver.
var (
	ErrLost    = fmt.Errorf("joblock: the lock was lost while the job ran: %w", elector.ErrTermOver)
	ErrTooLong = fmt.Errorf("joblock: the job was not done when its longest time was over: %w", elector.ErrTermOver)
)

// Options are the two times of a lock. The zero value is a lock for as long as
// the job runs.
type Options struct {
	// AtLeast is for how long nobody else gets the lock, however soon the job is
	// done. It counts from the grant. A store whose leases end with a session
	// cannot keep it.
	AtLeast time.Duration

	// AtMost is after what time the job's context is done and the lock is given
	// back. It counts from when the grant was known here, and must not be below
	// AtLeast; 0 is for no such time. The clock by which it is counted may stand
	// still while the machine is suspended.
	AtMost time.Duration

	_ struct{}
}

// tooLong is longer than any job: moments that lie so far in the future could not be
// computed with.
const tooLong = 10 * 365 * 24 * time.Hour

func (o Options) validate() error {
	switch {
	case o.AtLeast > tooLong || o.AtMost > tooLong:
		return fmt.Errorf("joblock: AtLeast is %v and AtMost is %v; either may be %v at the most", o.AtLeast, o.AtMost, tooLong)
	case o.AtLeast < 0 || o.AtMost < 0:
		return fmt.Errorf("joblock: AtLeast is %v and AtMost is %v; neither must be negative", o.AtLeast, o.AtMost)
	case o.AtMost > 0 && o.AtMost < o.AtLeast:
		return fmt.Errorf("joblock: AtLeast is %v and AtMost is %v; a lock cannot be free before it may be: AtLeast ≤ AtMost", o.AtLeast, o.AtMost)
	}
	return nil
}

// Run asks for the lock and runs the job if it gets it. If somebody else has the
// lock, or had it a moment ago and AtLeast is not over, the job is not run and
// the error is an *elector.HeldError: for a job of cron that is the normal case
// on all hosts but one. Otherwise the error is the job's, joined with ErrLost or
// ErrTooLong if the lock ended before the job; or one of elector.New and
// elector.Elector.TryAcquire. While the store does not answer Run asks again,
// until ctx is done. A deadline of ctx ends the job, too: to limit only the asking,
// let a timer cancel ctx that the job stops.
//
// The job must return soon after its context is done, which is when ctx is done,
// when the lock is lost, or when AtMost has passed. When it has returned or
// panicked the lock is given back, or left to end by itself if AtLeast is not
// over; Run returns when the store has confirmed that or can no longer be waited
// for. Config.OnStarted and OnStopped are not called.
func Run(ctx context.Context, store elector.Store, cfg elector.Config, o Options, job func(ctx context.Context, t *elector.Term) error) error {
	if store == nil {
		return errors.New("joblock: Run needs a store, such as one of elector/redisstore")
	}
	if err := o.validate(); err != nil {
		return err
	}
	if cfg.Clock == nil {
		cfg.Clock = elector.SystemClock()
	}
	cfg.Failback = 0 // a job is not handed over
	lock := New(store, o.AtLeast, cfg.Drift, cfg.Clock)
	e, err := elector.New(lock, cfg)
	if err != nil {
		return err
	}
	term, err := e.TryAcquire(ctx)
	if err != nil {
		return err
	}
	lock.Begin()
	return o.run(ctx, term, cfg.Clock, job)
}

// run runs the job in its term.
func (o Options) run(parent context.Context, term *elector.Term, clock elector.Clock, job func(context.Context, *elector.Term) error) error {
	// What was not confirmed ends by itself; that the job is done is what counts.
	resign := func() { _ = term.Resign(context.WithoutCancel(parent)) }
	defer resign()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	defer context.AfterFunc(term.Context(), func() { cancel(ErrLost) })()
	if o.AtMost > 0 {
		timer := clock.AfterFunc(o.AtMost, func() {
			cancel(ErrTooLong)
			resign()
		})
		defer timer.Stop()
	}
	err := job(ctx, term)
	_ = term.Context().Err() // looks at the clock, even if no timer has
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrTooLong):
		return errors.Join(err, ErrTooLong)
	case term.Context().Err() != nil:
		return errors.Join(err, ErrLost)
	}
	return err
}
