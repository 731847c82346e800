package electortest

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/store"
)

// patience is how long a test waits for something that should happen, by the clock of the
// bubble if it is in one.
const patience = 2 * time.Minute

var (
	errDown = errors.New("electortest: the store is down")
	errLost = errors.New("electortest: the store's reply is lost")
)

// Store is a store of leases in memory whose outages are scripted. It has the methods of a
// memstore, too: Delete ends an election's lease, and Forget loses everything. Neither is
// announced, so a leader learns of it by its next renewal. A Store is safe for concurrent
// use.
type Store struct {
	*memstore.Store

	mu      sync.Mutex
	fails   error // nil: it does not
	lost    bool  // its replies are
	delay   time.Duration
	watches map[*context.CancelCauseFunc]struct{}
}

var (
	_ elector.Store         = (*Store)(nil)
	_ store.CandidateLister = (*Store)(nil)
	_ store.TermLister      = (*Store)(nil)
)

// NewStore returns an empty store. If it is made in a bubble of testing/synctest, its
// leases end by the bubble's time.
func NewStore() *Store { return linked(memstore.New(memstore.Options{})) }

func linked(s *memstore.Store) *Store {
	return &Store{Store: s, watches: make(map[*context.CancelCauseFunc]struct{})}
}

// Link returns another way to the same leases, with outages of its own. Two candidates
// with a link each can be cut off from the leases one by one.
func (s *Store) Link() *Store { return linked(s.Store) }

// Fail makes every request fail with err, without any effect, and ends all announcements.
// If err is nil, it is an error of the store's own. A leader that gets no other answers
// loses its term at the deadline; an *elector.FatalError ends its elector.
func (s *Store) Fail(err error) {
	if err == nil {
		err = errDown
	}
	s.mu.Lock()
	s.fails = err
	watches := s.watches
	s.watches = make(map[*context.CancelCauseFunc]struct{})
	s.mu.Unlock()
	for cut := range watches {
		(*cut)(err)
	}
}

// LoseReplies makes every request take effect, and fail nevertheless: its sender cannot
// know. Announcements go on.
func (s *Store) LoseReplies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
}

// Delay makes every request take effect d after it was sent, and be answered then. One
// whose context is done before has no effect. Announcements are not delayed.
func (s *Store) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Recover ends Fail, LoseReplies and Delay. What the store has forgotten stays forgotten.
func (s *Store) Recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails, s.lost, s.delay = nil, false, 0
}

// Expel takes the election's lease away from its holder, and gives it for d to a
// candidate that nobody runs. So does a store that fails over and loses its last writes,
// and it breaks the elector's promise: until its next renewal the leader does not know,
// and two are in a term. A resource can tell them apart by their tokens alone.
func (s *Store) Expel(election string, d time.Duration) {
	for {
		s.Delete(election)
		_, err := s.Store.Acquire(context.Background(), store.Attempt{
			Election: election, ID: "electortest/another", Nonce: rand.Text(), TTL: d,
		})
		if err == nil { // else somebody was faster
			return
		}
	}
}

// AwaitLeader waits until the election has a leader with a larger token than after, and
// returns it: any leader if after is 0. It looks past the store's outages, and ends the
// test after two minutes. Like Fatal it must be called on the test's own goroutine.
func (s *Store) AwaitLeader(t testing.TB, election string, after uint64) elector.Leader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for l, err := range elector.Observe(ctx, s.Store, election, elector.ObserveOptions{}) {
		if err == nil && l.Token > after {
			return l
		}
	}
	t.Fatalf("nobody has led the election %q with a larger token than %d for %v", election, after, patience)
	return elector.Leader{}
}

// Acquire implements elector.Store.
func (s *Store) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	return do(ctx, s, func() (store.Grant, error) { return s.Store.Acquire(ctx, a) })
}

// Renew implements elector.Store.
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	_, err := do(ctx, s, func() (struct{}, error) { return struct{}{}, s.Store.Renew(ctx, l) })
	return err
}

// Release implements elector.Store.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	_, err := do(ctx, s, func() (struct{}, error) { return struct{}{}, s.Store.Release(ctx, l) })
	return err
}

// Leader implements elector.Store.
func (s *Store) Leader(ctx context.Context, election string) (elector.Leader, error) {
	return do(ctx, s, func() (elector.Leader, error) { return s.Store.Leader(ctx, election) })
}

// Candidates implements store.CandidateLister.
func (s *Store) Candidates(ctx context.Context, election string) ([]store.Candidate, error) {
	return do(ctx, s, func() ([]store.Candidate, error) { return s.Store.Candidates(ctx, election) })
}

// History implements store.TermLister.
func (s *Store) History(ctx context.Context, election string, n int) ([]store.PastTerm, error) {
	return do(ctx, s, func() ([]store.PastTerm, error) { return s.Store.History(ctx, election, n) })
}

// Watch implements elector.Store. It ends with ctx, and by Fail.
func (s *Store) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	s.mu.Lock()
	if err := s.fails; err != nil {
		s.mu.Unlock()
		ended(err)
		return
	}
	ctx, cut := context.WithCancelCause(ctx)
	s.watches[&cut] = struct{}{}
	s.mu.Unlock()
	s.Store.Watch(ctx, election, hint, func(error) {
		s.mu.Lock()
		delete(s.watches, &cut)
		s.mu.Unlock()
		ended(context.Cause(ctx))
	})
}

// do makes a request, as well as the store does at the moment.
func do[T any](ctx context.Context, s *Store, request func() (T, error)) (answer T, err error) {
	s.mu.Lock()
	delay := s.delay
	s.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return answer, ctx.Err()
		}
	}
	s.mu.Lock()
	fails, lost := s.fails, s.lost
	s.mu.Unlock()
	if fails != nil {
		return answer, fails
	}
	got, err := request()
	if lost {
		return answer, errLost
	}
	return got, err
}
