package elector_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/store"
)

// What no test in a bubble can show: with real clocks, too, nothing is left
// behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const usable = 14849 * time.Millisecond // of a lease of 15 s: less 1 % and 1 ms

var errLost = errors.New("connection reset")

// bubble is the clock of a synctest bubble. It can run ahead of the bubble's
// timers, as the boot-time clock does when a machine is suspended.
type bubble struct {
	start     time.Time
	suspended atomic.Int64
}

func newBubble() *bubble { return &bubble{start: time.Now()} }

func (b *bubble) Now() time.Duration {
	return time.Since(b.start) + time.Duration(b.suspended.Load())
}

func (b *bubble) AfterFunc(d time.Duration, f func()) elector.Timer { return time.AfterFunc(d, f) }

func (b *bubble) suspend(d time.Duration) { b.suspended.Add(int64(d)) }

// store is a memstore that misbehaves on demand. A hook that returns an error
// takes the call's place; one that blocks makes it hang.
type rigStore struct {
	*memstore.Store
	mu                             sync.Mutex
	acquire, renew, release, watch func(context.Context) error
	lose                           atomic.Bool // replies of acquire, after they took effect
	acquires, releases             atomic.Int64
	watches                        atomic.Int64
	held                           func(*elector.HeldError)
	attempts                       []store.Attempt
	hint                           func(store.Hint) // of the latest Watch
}

func (s *rigStore) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	s.acquires.Add(1)
	s.mu.Lock()
	s.attempts = append(s.attempts, a)
	s.mu.Unlock()
	if s.acquire != nil {
		if err := s.acquire(ctx); err != nil {
			return store.Grant{}, err
		}
	}
	g, err := s.Store.Acquire(ctx, a)
	if held := new(elector.HeldError); errors.As(err, &held) && s.held != nil {
		s.held(held)
	}
	if s.lose.Load() {
		return store.Grant{}, errLost
	}
	return g, err
}

func (s *rigStore) Renew(ctx context.Context, l store.Lease) error {
	if s.renew != nil {
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	return s.Store.Renew(ctx, l)
}

func (s *rigStore) Release(ctx context.Context, l store.Lease) error {
	s.releases.Add(1)
	if s.release != nil {
		if err := s.release(ctx); err != nil {
			return err
		}
	}
	return s.Store.Release(ctx, l)
}

func (s *rigStore) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	s.watches.Add(1)
	s.mu.Lock()
	s.hint = hint
	s.mu.Unlock()
	if s.watch != nil {
		if err := s.watch(ctx); err != nil {
			ended(err)
			return
		}
	}
	s.Store.Watch(ctx, election, hint, ended)
}

// bench is a bubble with a clock and a store.
type bench struct {
	*testing.T
	clock *bubble
	store *rigStore
	hang  chan struct{} // closed at the end: what ignores its context waits for it
}

func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := newBubble()
		b := &bench{T: t, clock: clock, hang: make(chan struct{})}
		b.store = &rigStore{Store: memstore.New(memstore.Options{Now: clock.Now})}
		defer close(b.hang)
		test(b)
	})
}

// deaf hangs without regard to its context.
func (b *bench) deaf(context.Context) error {
	<-b.hang
	return errLost
}

func (b *bench) elector(id string, change ...func(*elector.Config)) *elector.Elector {
	b.Helper()
	return b.on(b.store, id, change...)
}

func (b *bench) on(s elector.Store, id string, change ...func(*elector.Config)) *elector.Elector {
	b.Helper()
	cfg := elector.Config{Election: "billing", ID: id, Clock: b.clock, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	e, err := elector.New(s, cfg)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// run runs e in the background. stop ends it and returns Run's error.
func (b *bench) run(e *elector.Elector) (stop func() error) {
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func (b *bench) campaign(e *elector.Elector) *elector.Term {
	b.Helper()
	term, err := e.Campaign(b.Context())
	if err != nil || term == nil {
		b.Fatalf("campaign: term %v, error %v", term, err)
	}
	return term
}

func (b *bench) resign(term *elector.Term) {
	b.Helper()
	if err := term.Resign(b.Context()); err != nil {
		b.Fatalf("resign: %v", err)
	}
}

// leads demands who leads by the store's own account: a token, or 0 for nobody.
func (b *bench) leads(token uint64) {
	b.Helper()
	l, err := b.store.Leader(b.Context(), "billing")
	if err != nil || l.Token != token {
		b.Fatalf("at %v: token %d leads (error %v), want %d", b.clock.Now(), l.Token, err, token)
	}
}

// log collects events.
type log struct {
	mu     sync.Mutex
	events []elector.Event
}

func (l *log) add(ev elector.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, ev)
}

func (l *log) into(cfg *elector.Config) { cfg.OnEvent = l.add }

func (l *log) of(kind event.Kind) []elector.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []elector.Event
	for _, ev := range l.events {
		if ev.Kind == kind {
			found = append(found, ev)
		}
	}
	return found
}

func (l *log) troubles(err error) int {
	n := 0
	for _, ev := range l.of(event.Trouble) {
		if errors.Is(ev.Err, err) {
			n++
		}
	}
	return n
}

// untilDone is work that ends with its context.
func untilDone(ctx context.Context, _ *elector.Term) { <-ctx.Done() }
