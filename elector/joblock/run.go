package joblock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recount-io/recount/elector"
)

// ErrUndecided is the error of Run if the store neither granted the lock nor said who has it,
// until Options.Wait or ctx ended the asking. The job did not run here. Perhaps it ran
// nowhere.
var ErrUndecided = errors.New("joblock: it is not known whether somebody else runs the job, and it was not run here")

// Errors of Run, when the lock ended before the job did. Each wraps
// elector.ErrTermOver.
var (
	ErrLost    = fmt.Errorf("joblock: the lock was lost while the job ran: %w", elector.ErrTermOver)
	ErrTooLong = fmt.Errorf("joblock: the job was not done when its longest time was over: %w", elector.ErrTermOver)
)

// Options are the times of a lock. The zero value is a lock for as long as
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

	// Wait is for how long Run asks the store. It asks again while the store does not answer,
	// and while the store withholds the lock: a Redis that started, or lost data, less than
	// AtLeast ago may have forgotten a run. 0: until ctx is done.
	Wait time.Duration

	_ struct{}
}

// tooLong is longer than any job: moments that lie so far in the future could not be
// computed with.
const tooLong = 10 * 365 * 24 * time.Hour

func (o Options) validate() error {
	switch {
	case o.AtLeast > tooLong || o.AtMost > tooLong:
		return fmt.Errorf("joblock: AtLeast is %v and AtMost is %v; either may be %v at the most", o.AtLeast, o.AtMost, tooLong)
	case o.AtLeast < 0 || o.AtMost < 0 || o.Wait < 0:
		return fmt.Errorf("joblock: AtLeast is %v, AtMost is %v and Wait is %v; none must be negative", o.AtLeast, o.AtMost, o.Wait)
	case o.AtMost > 0 && o.AtMost < o.AtLeast:
		return fmt.Errorf("joblock: AtLeast is %v and AtMost is %v; a lock cannot be free before it may be: AtLeast ≤ AtMost", o.AtLeast, o.AtMost)
	}
	return nil
}

// Run asks for the lock and runs the job if it gets it. The error is
//
//   - nil if the job ran and returned nil;
//   - an *elector.HeldError if somebody else has the lock, or had it a moment ago and
//     AtLeast is not over. The job was not run here and need not be. For a job of cron that
//     is the normal case on all hosts but one;
//   - ErrUndecided if nobody could say so until Options.Wait was over or ctx was done. It wraps
//     the store's last error. The caller should say so loudly: perhaps the job ran nowhere;
//   - the job's error, joined with ErrLost or ErrTooLong if the lock ended before the job;
//   - one of elector.New, or an *elector.FatalError.
//
// A deadline of ctx ends the job, too. Options.Wait limits only the asking.
//
// The job must return soon after its context is done, which is when ctx is done,
// when the lock is lost, or when AtMost has passed. When it has returned or
// panicked the lock is given back, or left to end by itself if AtLeast is not
// over; Run returns when the store has confirmed that or can no longer be waited
// for. Config.OnStarted and OnStopped are not called.
func Run(ctx context.Context, store elector.Store, cfg elector.Config, o Options, job func(ctx context.Context, t *elector.Term) error) error {
	if ctx == nil {
		return errors.New("joblock: the context is nil: use context.Background() where there is none")
	}
	if job == nil {
		return errors.New("joblock: Run needs a job, and was given nil")
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
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	term, err := o.ask(asking, stop, e, cfg.Clock)
	if err != nil {
		return err
	}
	lock.Begin()
	return o.run(ctx, term, cfg.Clock, job)
}

// ask asks for the lock until it is known who has it. It calls stop when Wait is over.
func (o Options) ask(ctx context.Context, stop context.CancelCauseFunc, e *elector.Elector, clock elector.Clock) (*elector.Term, error) {
	if o.Wait > 0 {
		timer := clock.AfterFunc(o.Wait, func() { stop(fmt.Errorf("nobody could say within Wait, %v", o.Wait)) })
		defer timer.Stop()
	}
	for {
		term, err := e.TryAcquire(ctx)
		held := new(elector.HeldError)
		switch {
		case err == nil:
			return term, nil // also if Wait was over at that moment
		case errors.As(err, &held) && held.Withheld != "":
			if pause(ctx, clock, held.Remaining+time.Millisecond) {
				continue
			}
			err = errors.New(err.Error()) // a HeldError would say that the job need not run
		case errors.As(err, &held) || ctx.Err() == nil:
			return nil, err
		}
		if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() { //nolint:errorlint // is it another one?
			return nil, fmt.Errorf("%w: %w: %w", ErrUndecided, cause, err)
		}
		return nil, fmt.Errorf("%w: %w", ErrUndecided, err)
	}
}

// pause waits, and reports whether ctx is not done.
func pause(ctx context.Context, clock elector.Clock, d time.Duration) bool {
	over := make(chan struct{})
	defer clock.AfterFunc(d, func() { close(over) }).Stop()
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
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
