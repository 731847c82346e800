// Package memstore is a store of leases in memory: for examples, and programs whose
// candidates live in one process. It forgets everything when the process ends. For tests
// elector/electortest has one whose outages are scripted.
package memstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
)

// Options change what New makes. The zero value is fine.
type Options struct {
	// Now is the store's clock: the time since a fixed point. It must not go
	// back. elector.SystemClock by default.
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

var (
	_ store.Store           = (*Store)(nil)
	_ store.CandidateLister = (*Store)(nil)
	_ store.TermLister      = (*Store)(nil)
	_ store.Bounded         = (*Store)(nil)
)

// record is what is known of one election.
type record struct {
	lease    store.Lease   // of the last term
	until    time.Duration // it is held before
	last     uint64        // highest token
	value    string        // that is published in it
	version  uint64        // of value
	watchers map[*watcher]struct{}

	to       string        // gets the lease alone
	reserved time.Duration // until then
	seen     map[string]sign
	terms    []store.PastTerm // the latest last
}

// sign is a candidate's last sign of life.
type sign struct {
	at, ttl  time.Duration
	priority int
}

// maxTerms is how many past terms are remembered.
const maxTerms = 100

type watcher struct {
	mu   sync.Mutex // held while hint is called, so that there is one at a time
	hint func(store.Hint)
	over bool
}

func (w *watcher) tell(h store.Hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.hint(h)
	}
}

// end makes the last hint the last one.
func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// New returns an empty Store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = elector.SystemClock().Now
	}
	return &Store{now: o.Now, elections: make(map[string]*record)}
}

// Suits implements store.Bounded: a Store that New has not made suits nobody.
func (s *Store) Suits(store.Times) error {
	if s.now == nil {
		return errors.New("memstore: this Store is empty: make it with New")
	}
	return nil
}

// Acquire implements elector.Store.
func (s *Store) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if err := ctx.Err(); err != nil {
		return store.Grant{}, err
	}
	s.mu.Lock()
	r, now := s.record(a.Election), s.now()
	waiters := len(r.watchers)
	r.seen[a.ID] = sign{now, a.TTL, a.Priority}
	if now >= r.until && r.to != "" && r.to != a.ID && now < r.reserved {
		defer s.mu.Unlock()
		return store.Grant{}, &store.HeldError{
			Remaining: r.reserved - now, Waiters: waiters, Withheld: "the last leader has handed over to another candidate",
		}
	}
	if now < r.until {
		defer s.mu.Unlock()
		if r.lease.ID == a.ID && r.lease.Nonce == a.Nonce {
			r.until = now + a.TTL
			return store.Grant{Token: r.lease.Token, Waiters: waiters}, nil
		}
		return store.Grant{}, &store.HeldError{
			Holder: r.lease.ID, Token: r.lease.Token, Remaining: r.until - now, Waiters: waiters,
		}
	}
	r.forget(now)
	r.last = max(r.last, a.Floor) + 1
	r.lease = store.Lease{Election: a.Election, ID: a.ID, Nonce: a.Nonce, Token: r.last}
	r.until, r.to = now+a.TTL, ""
	r.value, r.version = a.Value, a.Version
	r.terms = append(r.terms[max(0, len(r.terms)-maxTerms+1):], store.PastTerm{ID: a.ID, Token: r.last, Began: wall(now)})
	grant := store.Grant{Token: r.last, Waiters: waiters}
	tell := r.listeners()
	s.mu.Unlock()
	tell(store.Hint{Kind: store.HintGranted, Token: grant.Token, Remaining: a.TTL, Waiters: waiters})
	return grant, nil
}

// Renew implements elector.Store.
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	r, now := s.record(l.Election), s.now()
	if !r.holds(l, now) {
		s.mu.Unlock()
		return store.ErrNotHeld
	}
	r.until = now + l.TTL
	r.seen[l.ID] = sign{now, l.TTL, l.Priority}
	if l.Version <= r.version {
		s.mu.Unlock()
		return nil
	}
	r.value, r.version = l.Value, l.Version
	tell := r.listeners()
	s.mu.Unlock()
	tell(store.Hint{Kind: store.HintPublished, Token: l.Token})
	return nil
}

// Release implements elector.Store.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	r, now := s.record(l.Election), s.now()
	if !r.holds(l, now) {
		s.mu.Unlock()
		return store.ErrNotHeld
	}
	r.until, r.to, r.reserved = now, l.To, now+l.Reserve
	r.terms[len(r.terms)-1].Ended = wall(now)
	waiters, tell := len(r.watchers), r.listeners()
	s.mu.Unlock()
	h := store.Hint{Kind: store.HintReleased, Token: l.Token, Waiters: waiters}
	if l.To != "" {
		h.To, h.Remaining = l.To, l.Reserve
	}
	tell(h)
	return nil
}

// Leader implements elector.Store.
func (s *Store) Leader(ctx context.Context, election string) (store.Leader, error) {
	if err := ctx.Err(); err != nil {
		return store.Leader{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, now := s.record(election), s.now()
	if now >= r.until {
		return store.Leader{}, nil
	}
	return store.Leader{ID: r.lease.ID, Token: r.lease.Token, Remaining: r.until - now, Value: r.value, Version: r.version}, nil
}

// Candidates implements store.CandidateLister.
func (s *Store) Candidates(ctx context.Context, election string) ([]store.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, now := s.record(election), s.now()
	r.forget(now)
	var all []store.Candidate
	for _, id := range slices.Sorted(maps.Keys(r.seen)) {
		x := r.seen[id]
		all = append(all, store.Candidate{ID: id, Priority: x.priority, Seen: now - x.at})
	}
	return all, nil
}

// forget removes the candidates that were not heard of for long.
func (r *record) forget(now time.Duration) {
	maps.DeleteFunc(r.seen, func(_ string, x sign) bool { return now-x.at > 2*x.ttl })
}

// History implements store.TermLister. The times are those of the store's
// clock, since the Unix epoch.
func (s *Store) History(ctx context.Context, election string, n int) ([]store.PastTerm, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	terms := s.record(election).terms
	terms = slices.Clone(terms[max(0, len(terms)-max(n, 0)):])
	slices.Reverse(terms)
	return terms, nil
}

func wall(now time.Duration) time.Time { return time.Unix(0, int64(now)) }

// Watch implements elector.Store. It ends only with ctx.
func (s *Store) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	w := &watcher{hint: hint}
	s.mu.Lock()
	r := s.record(election)
	r.watchers[w] = struct{}{}
	s.mu.Unlock()
	w.tell(store.Hint{Kind: store.HintListening})
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		delete(r.watchers, w)
		s.mu.Unlock()
		w.end()
		ended(ctx.Err())
	})
}

// Delete removes the election's lease without a word to anybody, as an operator
// may do with a key. The count of tokens stays.
func (s *Store) Delete(election string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(election).until = s.now()
}

// Forget removes everything without a word to anybody, as a server does that restarts
// without its data: leases, counts of tokens, candidates, history. Who watches still does.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.elections {
		*r = s.newRecord(r.watchers)
	}
}

// record returns the election's record. The caller holds mu.
func (s *Store) record(election string) *record {
	r := s.elections[election]
	if r == nil {
		empty := s.newRecord(make(map[*watcher]struct{}))
		r = &empty
		s.elections[election] = r
	}
	return r
}

func (s *Store) newRecord(watchers map[*watcher]struct{}) record {
	return record{until: s.now(), watchers: watchers, seen: make(map[string]sign)}
}

func (r *record) holds(l store.Lease, now time.Duration) bool {
	return now < r.until && r.lease.ID == l.ID && r.lease.Nonce == l.Nonce && r.lease.Token == l.Token
}

// listeners returns a function that tells all who watch now. It is called
// without mu: a hint may lead to the next call at once.
func (r *record) listeners() func(store.Hint) {
	all := slices.Collect(maps.Keys(r.watchers))
	return func(h store.Hint) {
		for _, w := range all {
			w.tell(h)
		}
	}
}
