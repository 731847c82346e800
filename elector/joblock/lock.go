package joblock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
)

// Lock is an elector.Store for one term of one elector: a lease that is granted
// through it lasts for at least a time. It is for those who hold the lock in
// their own way; others call Run. It is safe for concurrent use.
//
// The lease is granted for that time at once, and no renewal shortens it. So the
// store alone keeps it, whatever becomes of the process. A release before that
// time leaves the lease to end by itself, once Begin was called.
//
// Of what a store may be besides (store.CandidateLister and the like) a Lock is only store.Bounded, and
// no attempt stands as a bid.
type Lock struct {
	elector.Store
	atLeast time.Duration // whole milliseconds
	drift   float64
	clock   elector.Clock

	granted atomic.Int64 // when the last grant was known
	begun   atomic.Bool
}

// New returns a Lock on the store. The drift is the one of the elector's Config
// and the clock is its Clock; their zero values stand for the same defaults.
func New(store elector.Store, atLeast time.Duration, drift float64, clock elector.Clock) *Lock {
	if drift == 0 {
		drift = elector.DefaultDrift
	}
	if clock == nil {
		clock = elector.SystemClock()
	}
	return &Lock{Store: store, atLeast: whole(atLeast), drift: drift, clock: clock}
}

// Begin says that the job begins. Before it a release is one: a host that was
// granted the lock and cannot start the job leaves it to the others.
func (l *Lock) Begin() { l.begun.Store(true) }

// Acquire implements elector.Store.
func (l *Lock) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	a.TTL, a.Longest = max(a.TTL, l.atLeast), max(a.Longest, a.TTL, l.atLeast)
	a.Stands = false // a bid is granted without a call, so nobody would know when
	grant, err := l.Store.Acquire(ctx, a)
	if err == nil {
		l.granted.Store(int64(l.clock.Now()))
	}
	return grant, err
}

// Renew implements elector.Store.
func (l *Lock) Renew(ctx context.Context, lease store.Lease) error {
	lease.TTL, lease.Longest = max(lease.TTL, l.rest()), max(lease.Longest, l.atLeast)
	return l.Store.Renew(ctx, lease)
}

// Release implements elector.Store.
func (l *Lock) Release(ctx context.Context, lease store.Lease) error {
	lease.Longest = max(lease.Longest, l.atLeast)
	rest := l.rest()
	if rest == 0 || !l.begun.Load() {
		return l.Store.Release(ctx, lease)
	}
	lease.TTL = rest
	return l.Store.Renew(ctx, lease)
}

// Suits implements store.Bounded: the store must suit the elector, and keep a lease for
// the least time.
func (l *Lock) Suits(t store.Times) error {
	err := store.Suits(l.Store, t)
	if err != nil || l.atLeast == 0 {
		return err
	}
	if err := (Options{AtLeast: l.atLeast}).validate(); err != nil {
		return err
	}
	if endsWithSession(l.Store) {
		return fmt.Errorf("joblock: AtLeast is %v, and leases of this store end with their process's session: leave out TakeOverDeadSessions, or AtLeast", l.atLeast)
	}
	t.Lease, t.LongestLease = max(t.Lease, l.atLeast), max(t.LongestLease, l.atLeast)
	err = store.Suits(l.Store, t)
	var wrong *elector.ConfigError
	if errors.As(err, &wrong) {
		return fmt.Errorf("joblock: AtLeast %s", wrong.Rule)
	}
	return err
}

// endsWithSession reports whether leases of the store, or of the one that it wraps, end with
// the session of their process.
func endsWithSession(store elector.Store) bool {
	for {
		if s, ok := store.(interface{ EndsWithSession() bool }); ok && s.EndsWithSession() {
			return true
		}
		w, ok := store.(interface{ Unwrap() elector.Store })
		if !ok {
			return false
		}
		store = w.Unwrap()
	}
}

// rest is how long the lease must still last. The store granted it before that
// was known here, and its clock may be the slower one.
func (l *Lock) rest() time.Duration {
	passed := l.clock.Now() - time.Duration(l.granted.Load())
	passed -= time.Duration(float64(passed) * l.drift)
	return whole(max(0, l.atLeast-passed))
}

// whole rounds up to milliseconds, in which stores count.
func whole(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}
