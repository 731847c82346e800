package elector_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
)

// script is a store whose watches last and end as it says.
type script struct {
	elector.Store
	lasts func(watch int) time.Duration
	times int // that ended is called

	mu    sync.Mutex
	began []time.Time
	ctxs  []context.Context
}

func (s *script) Watch(ctx context.Context, _ string, _ func(store.Hint), ended func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.ctxs = append(s.began, time.Now()), append(s.ctxs, ctx)
	over := time.NewTimer(s.lasts(len(s.began)))
	go func() {
		select {
		case <-over.C:
		case <-ctx.Done():
		}
		for range s.times {
			ended(errLost)
		}
	}()
}

// Each Watch that ends is followed by one, be it reported twice, and nothing of
// it stays. The pause between two of them grows as long as they end at once, and
// is short again after one that lasted.
func TestWatchIsFollowedByOne(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := &script{Store: b.store, times: 2, lasts: func(watch int) time.Duration {
			if watch%6 == 0 {
				return time.Minute
			}
			return 0
		}}
		stop := b.run(b.on(s, "a"))
		time.Sleep(10 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if n := len(s.began); n < 20 || n > 60 {
			t.Fatalf("watched %d times in 10 minutes", n)
		}
		for i, ctx := range s.ctxs {
			if ctx.Err() == nil {
				t.Errorf("the context of watch %d outlives it", i+1)
			}
		}
		long, after := s.began[6].Sub(s.began[5])-time.Minute, s.began[7].Sub(s.began[6])
		if before := s.began[5].Sub(s.began[4]); before < 10*time.Second || long > 2*time.Second || after > 4*time.Second {
			t.Errorf("pauses of %v before a watch that lasts, %v and %v after it", before, long, after)
		}
	})
}

// Who hears of every change doubts nothing, however many terms it is refused in.
func TestWatchThatHearsIsKept(t *testing.T) {
	inBubble(t, func(b *bench) {
		near := &rigStore{Store: b.store.Store}
		var events log
		var stop func() error
		for i := range 4 {
			attempt := store.Attempt{Election: "billing", ID: "other", Nonce: strconv.Itoa(i), TTL: 15 * time.Second}
			grant, err := near.Store.Acquire(b.Context(), attempt)
			if err != nil {
				t.Fatal(err)
			}
			if stop == nil {
				stop = b.run(b.on(near, "waits", events.into))
			}
			time.Sleep(10 * time.Second)
			lease := store.Lease{Election: "billing", ID: "other", Nonce: attempt.Nonce, Token: grant.Token, TTL: attempt.TTL, To: "other", Reserve: time.Second}
			if err := near.Store.Renew(b.Context(), lease); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // in which the one who waits is refused
			if err := near.Store.Release(b.Context(), lease); err != nil {
				t.Fatal(err)
			}
		}
		if n := near.acquires.Load(); n < 4 {
			t.Errorf("refused %d times", n)
		}
		if n := near.watches.Load(); n != 1 || events.troubles(event.ErrNoHints) != 0 {
			t.Errorf("watched %d times", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Who waits is mostly refused just after a renewal, when the lease is as fresh as after
// a grant. That a hint has not come shows all the same, by the second refusal.
func TestDeafWatchIsNoticedInSpiteOfRenewals(t *testing.T) {
	inBubble(t, func(b *bench) {
		deaf := &script{Store: b.store, times: 1, lasts: func(int) time.Duration { return time.Hour }}
		var events log
		e := b.on(deaf, "waits", events.into)
		var stop func() error
		for i := range 2 {
			attempt := store.Attempt{Election: "billing", ID: "other", Nonce: strconv.Itoa(i), TTL: 15 * time.Second}
			grant, err := b.store.Store.Acquire(b.Context(), attempt)
			if err != nil {
				t.Fatal(err)
			}
			if stop == nil {
				stop = b.run(e)
			}
			lease := store.Lease{Election: "billing", ID: "other", Nonce: attempt.Nonce, Token: grant.Token, TTL: attempt.TTL}
			for range 40 { // a refusal tells of more than 14 s always
				time.Sleep(time.Second)
				if err := b.store.Store.Renew(b.Context(), lease); err != nil {
					t.Error(err)
				}
			}
			if i == 0 {
				if err := b.store.Store.Release(b.Context(), lease); err != nil {
					t.Fatal(err)
				}
			}
		}
		deaf.mu.Lock()
		n := len(deaf.began)
		deaf.mu.Unlock()
		if n != 2 || events.troubles(event.ErrNoHints) != 1 {
			t.Errorf("watched %d times, told %d times", n, events.troubles(event.ErrNoHints))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// tardy delivers its hints late.
type tardy struct {
	elector.Store
	by time.Duration
}

func (s tardy) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	s.Store.Watch(ctx, election, func(h store.Hint) { time.AfterFunc(s.by, func() { hint(h) }) }, ended)
}

// A refusal that comes before the hint of a grant says nothing of the announcements,
// also if the other one's lease is shorter: how long ago it was granted, what remains
// of it does not tell.
func TestRefusalBeforeTheHint(t *testing.T) {
	inBubble(t, func(b *bench) {
		const short = 5 * time.Second
		var lease store.Lease
		grant := func(nonce string) {
			g, err := b.store.Store.Acquire(b.Context(), store.Attempt{Election: "billing", ID: "other", Nonce: nonce, TTL: short})
			if err != nil {
				t.Fatal(err)
			}
			lease = store.Lease{Election: "billing", ID: "other", Nonce: nonce, Token: g.Token, TTL: short}
		}
		grant("first")
		var events log
		stop := b.run(b.on(tardy{b.store, 50 * time.Millisecond}, "waits", events.into))
		time.Sleep(short - 10*time.Millisecond)
		if err := b.store.Store.Release(b.Context(), lease); err != nil {
			t.Fatal(err)
		}
		grant("second")
		before := b.store.acquires.Load()
		time.Sleep(time.Second)
		if b.store.acquires.Load() == before {
			t.Error("it was not refused meanwhile")
		}
		if n := b.store.watches.Load(); n != 1 || events.troubles(event.ErrNoHints) != 0 {
			t.Errorf("watched %d times, told %d times", n, events.troubles(event.ErrNoHints))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
