// Package workbench has electors in a bubble of testing/synctest, with a clock
// and a store that fail when they are told to: for the tests of those who
// observe electors.
package workbench

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/store"
)

// T is the part of a testing.TB that a bench needs. Fatal must not return.
type T interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

// Bench is a clock and a store, and what observes the electors on them.
type Bench struct {
	Clock *Clock
	Store *Store

	t           T
	instruments []instrument.Instrument
}

// New returns a bench for a test in a bubble. The test calls Free at its end.
func New(t T, instruments ...instrument.Instrument) *Bench {
	clock := &Clock{Start: time.Now(), Free: make(chan struct{})}
	store := &Store{Store: memstore.New(memstore.Options{Now: clock.Now}), Free: make(chan struct{})}
	return &Bench{Clock: clock, Store: store, t: t, instruments: instruments}
}

// Free lets everything go on that hangs or is stuck, for good.
func (b *Bench) Free() {
	close(b.Clock.Free)
	close(b.Store.Free)
}

// Elector is an elector that the instruments observe, with the default timings
// unless they are changed.
func (b *Bench) Elector(election, id string, change ...func(*elector.Config)) *elector.Elector {
	b.t.Helper()
	cfg := elector.Config{Election: election, ID: id, Clock: b.Clock, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	e, err := instrument.New(b.Store, cfg, b.instruments...)
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

// Start runs the elector in the background. stop ends it and returns Run's error.
func (b *Bench) Start(e *elector.Elector) (stop func() error) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// Clock is that of a bubble. It goes on while the bubble is suspended, and its
// timers can get stuck, which stops the elector's goroutine.
type Clock struct {
	Start     time.Time
	Suspended atomic.Int64 // for how long it was, in nanoseconds
	Stuck     atomic.Bool
	Free      chan struct{} // what is received frees one timer
}

var _ elector.Clock = (*Clock)(nil)

// Now is elector.Clock's.
func (c *Clock) Now() time.Duration { return time.Since(c.Start) + time.Duration(c.Suspended.Load()) }

// AfterFunc is elector.Clock's.
func (c *Clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	if c.Stuck.Load() {
		<-c.Free
	}
	return time.AfterFunc(d, f)
}

// Store is a memstore that can take its time, fail, or hang without regard to
// contexts.
type Store struct {
	*memstore.Store
	Takes atomic.Int64          // how long a request is on its way, in nanoseconds
	Late  atomic.Int64          // how long an answer about who leads is
	Fails atomic.Pointer[error] // the error of every request; nil for none
	Hangs atomic.Bool           // requests wait until they are freed, and fail with context.DeadlineExceeded
	Free  chan struct{}         // what is received frees one request
}

func (s *Store) trouble() error {
	if s.Hangs.Load() {
		<-s.Free
		return context.DeadlineExceeded
	}
	time.Sleep(time.Duration(s.Takes.Load()))
	if err := s.Fails.Load(); err != nil {
		return *err
	}
	return nil
}

// Acquire is elector.Store's.
func (s *Store) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if err := s.trouble(); err != nil {
		return store.Grant{}, err
	}
	return s.Store.Acquire(ctx, a)
}

// Renew is elector.Store's.
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := s.trouble(); err != nil {
		return err
	}
	return s.Store.Renew(ctx, l)
}

// Release is elector.Store's.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := s.trouble(); err != nil {
		return err
	}
	return s.Store.Release(ctx, l)
}

// Leader is elector.Store's.
func (s *Store) Leader(ctx context.Context, election string) (elector.Leader, error) {
	l, err := s.Store.Leader(ctx, election)
	time.Sleep(time.Duration(s.Late.Load()))
	return l, err
}
