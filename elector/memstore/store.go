// Package memstore is a store of leases in memory: for tests, examples, and
// programs whose candidates live in one process. It forgets everything when the
// process ends.
package memstore

import (
	"context"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
)

// Options change what New makes. The zero value is fine.
type Options struct {
	// Now is the store's clock: the time since a fixed point. It must not go
	// back. The machine's own clock by default.
	Now func() time.Duration

	_ struct{}
}

// Store keeps leases in memory. Its answers come at once; it obeys a context
// that is done. It is safe for concurrent use.
type Store struct {
	now func() time.Duration

	mu        sync.Mutex
	elections map[string]*record
}

var _ elector.Store = (*Store)(nil)

// record is what is known of one election.
type record struct {
	lease    elector.Lease // of the last term
	until    time.Duration // it is held before
	last     uint64        // highest token
	watchers map[*watcher]struct{}
}

type watcher struct{ hint func(elector.Hint) }

// New returns an empty Store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = elector.SystemClock().Now
	}
	return &Store{now: o.Now, elections: make(map[string]*record)}
}

// Acquire implements elector.Store.
func (s *Store) Acquire(ctx context.Context, a elector.Attempt) (elector.Grant, error) {
	if err := ctx.Err(); err != nil {
		return elector.Grant{}, err
	}
	s.mu.Lock()
	r, now := s.record(a.Election), s.now()
	waiters := len(r.watchers)
	if now < r.until {
		defer s.mu.Unlock()
		if r.lease.ID == a.ID && r.lease.Nonce == a.Nonce {
			r.until = now + a.TTL
			return elector.Grant{Token: r.lease.Token, Waiters: waiters}, nil
		}
		return elector.Grant{}, &elector.HeldError{
			Holder: r.lease.ID, Token: r.lease.Token, Remaining: r.until - now, Waiters: waiters,
		}
	}
	r.last = max(r.last, a.Floor) + 1
	r.lease = elector.Lease{Election: a.Election, ID: a.ID, Nonce: a.Nonce, Token: r.last}
	r.until = now + a.TTL
	grant := elector.Grant{Token: r.last, Waiters: waiters}
	tell := r.listeners()
	s.mu.Unlock()
	tell(elector.Hint{Kind: elector.HintGranted, Token: grant.Token, Remaining: a.TTL, Waiters: waiters})
	return grant, nil
}

// Renew implements elector.Store.
func (s *Store) Renew(ctx context.Context, l elector.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, now := s.record(l.Election), s.now()
	if !r.holds(l, now) {
		return elector.ErrNotHeld
	}
	r.until = now + l.TTL
	return nil
}

// Release implements elector.Store.
func (s *Store) Release(ctx context.Context, l elector.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	r, now := s.record(l.Election), s.now()
	if !r.holds(l, now) {
		s.mu.Unlock()
		return elector.ErrNotHeld
	}
	r.until = now
	waiters, tell := len(r.watchers), r.listeners()
	s.mu.Unlock()
	tell(elector.Hint{Kind: elector.HintReleased, Token: l.Token, Waiters: waiters})
	return nil
}

// Leader implements elector.Store.
func (s *Store) Leader(ctx context.Context, election string) (elector.Leader, error) {
	if err := ctx.Err(); err != nil {
		return elector.Leader{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, now := s.record(election), s.now()
	if now >= r.until {
		return elector.Leader{}, nil
	}
	return elector.Leader{ID: r.lease.ID, Token: r.lease.Token, Remaining: r.until - now}, nil
}

// Watch implements elector.Store. It ends only with ctx.
func (s *Store) Watch(ctx context.Context, election string, hint func(elector.Hint)) error {
	w := &watcher{hint}
	s.mu.Lock()
	r := s.record(election)
	r.watchers[w] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(r.watchers, w)
		s.mu.Unlock()
	}()
	<-ctx.Done()
	return ctx.Err()
}

// Delete removes the election's lease without a word to anybody, as an operator
// may do with a key. The count of tokens stays.
func (s *Store) Delete(election string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(election).until = s.now()
}

// record returns the election's record. The caller holds mu.
func (s *Store) record(election string) *record {
	r := s.elections[election]
	if r == nil {
		r = &record{until: s.now(), watchers: make(map[*watcher]struct{})}
		s.elections[election] = r
	}
	return r
}

func (r *record) holds(l elector.Lease, now time.Duration) bool {
	return now < r.until && r.lease.ID == l.ID && r.lease.Nonce == l.Nonce && r.lease.Token == l.Token
}

// listeners returns a function that tells all who watch now. It is called
// without mu: a hint may lead to the next call at once.
func (r *record) listeners() func(elector.Hint) {
	all := make([]func(elector.Hint), 0, len(r.watchers))
	for w := range r.watchers {
		all = append(all, w.hint)
	}
	return func(h elector.Hint) {
		for _, hint := range all {
			hint(h)
		}
	}
}
