package redisstore_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

const billing = "billing"

// launcher starts real servers for a test. What servers agree on among
// themselves takes them seconds, most of them waiting: these tests run at one
// time, and not with -short.
func launcher(t *testing.T) (context.Context, *topology.Launcher) {
	t.Helper()
	if testing.Short() {
		t.Skip("several servers that have to agree take seconds")
	}
	t.Parallel()
	return topology.For(t, topology.ServerProgram, topology.SentinelProgram)
}

// stage is what happens to some electors: every event of each of them, in the
// order in which it was told.
type stage struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	events []elector.Event
	more   chan struct{} // closed and replaced with every event
}

func newStage(t *testing.T, ctx context.Context) *stage {
	return &stage{t: t, ctx: ctx, more: make(chan struct{})}
}

// openURL opens a store that is closed after all electors of the test have ended.
func openURL(t *testing.T, url string, o redisstore.Options) *redisstore.Store {
	t.Helper()
	opts, err := redisstore.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	return openStore(t, opts, o)
}

func openStore(t *testing.T, opts *redis.UniversalOptions, o redisstore.Options) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(opts, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a server that is gone says no goodbye
	return s
}

// direct opens a store on one server, past Sentinels.
func direct(t *testing.T, s *topology.Server, password string, o redisstore.Options) *redisstore.Store {
	t.Helper()
	return openStore(t, &redis.UniversalOptions{Addrs: []string{s.Addr}, Password: password}, o)
}

// enter makes an elector compete until the test ends. Its error is reported:
// nothing that passes is fatal.
func (s *stage) enter(id string, store store.Store, lease time.Duration) *elector.Elector {
	s.t.Helper()
	e, err := elector.New(store, elector.Config{
		Election: billing, ID: id, Lease: lease, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnEvent: s.add,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			s.t.Errorf("%s: %v", e.ID(), err)
		}
	})
	return e
}

func (s *stage) add(ev elector.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, ev)
	close(s.more)
	s.more = make(chan struct{})
}

// seen is how many events there were so far.
func (s *stage) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

// await waits for an event of this kind, of those that come after the first
// skip ones.
func (s *stage) await(skip int, what string, is func(elector.Event) bool) elector.Event {
	s.t.Helper()
	for {
		s.mu.Lock()
		more := s.more
		for ; skip < len(s.events); skip++ {
			if is(s.events[skip]) {
				defer s.mu.Unlock()
				return s.events[skip]
			}
		}
		s.mu.Unlock()
		select {
		case <-more:
		case <-s.ctx.Done():
			s.t.Fatalf("%s: it did not come\n%s", what, s)
		}
	}
}

func elected(ev elector.Event) bool { return ev.Kind == event.Elected }

// leads is true of an event that says that its elector's request was granted,
// whether its term began or goes on.
func leads(ev elector.Event) bool {
	return ev.Kind == event.Elected || ev.Kind == event.Extended
}

// term is the time in which one candidate leads, on the clock that all electors of this process share.
type term struct {
	id         string
	token      uint64
	from, till time.Duration
}

// terms are all terms so far. One that goes on lasts till its deadline.
func (s *stage) terms() []term {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []term
	for _, ev := range s.events {
		i := slices.IndexFunc(all, func(t term) bool { return t.id == ev.ID && t.token == ev.Token })
		switch {
		case ev.Kind == event.Elected:
			all = append(all, term{ev.ID, ev.Token, ev.At, ev.Until})
		case ev.Kind == event.Extended && i >= 0:
			all[i].till = ev.Until
		case ev.Kind == event.Deposed && i >= 0:
			all[i].till = min(all[i].till, ev.At)
		}
	}
	slices.SortStableFunc(all, func(a, b term) int { return cmp.Compare(a.from, b.from) })
	return all
}

// doubles counts the pairs of terms that overlap, and repeated those of which
// the later one has no larger token.
func (s *stage) doubles() (doubles, repeated int) {
	all := s.terms()
	for i, a := range all {
		for _, b := range all[i+1:] {
			if b.from < a.till {
				doubles++
			}
			if b.token <= a.token {
				repeated++
			}
		}
	}
	return doubles, repeated
}

// demandOne fails the test if two led at one time, or a token did not grow.
func (s *stage) demandOne() {
	s.t.Helper()
	if doubles, repeated := s.doubles(); doubles > 0 || repeated > 0 {
		s.t.Errorf("%d terms overlap, %d have no larger token\n%s", doubles, repeated, s)
	}
}

// String is what happened last, for a test that failed.
func (s *stage) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := ""
	for _, ev := range s.events[max(0, len(s.events)-60):] {
		text += fmt.Sprintf("%9.3fs %s %s token %d until %.3fs %s %v\n", ev.At.Seconds(), ev.ID, ev.Kind, ev.Token, ev.Until.Seconds(), ev.Reason, ev.Err)
	}
	return text
}

// prime makes the server know elections that begin: one that knows nothing of them
// grants nothing for as long as an earlier lease could last. When a short lease was
// granted, those follow the server who have to confirm.
func prime(ctx context.Context, t *testing.T, s *redisstore.Store, elections ...string) {
	t.Helper()
	const ttl = 50 * time.Millisecond
	insist := func(what string, do func() error) {
		for err := do(); err != nil; err = do() {
			if ctx.Err() != nil {
				t.Fatalf("prime: %s: %v", what, err)
			}
		}
	}
	for i, election := range elections {
		a := store.Attempt{Election: election, ID: "prime", Nonce: fmt.Sprint("prime/", i), Request: 1, TTL: ttl}
		insist("acquire "+election, func() error {
			g, err := s.Acquire(ctx, a)
			if err == nil { // it may end by itself
				_ = s.Release(ctx, store.Lease{Election: election, ID: a.ID, Nonce: a.Nonce, Token: g.Token, TTL: ttl})
			}
			return err
		})
		insist("retire "+election, func() error { return s.Retire(ctx, election) })
		insist("vouch for "+election, func() error { return s.Vouch(ctx, election) })
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
