package quorumstore_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/store"
)

// A renewal makes nodes hold the lease that did not, so the term outlives the
// loss of nodes that it began with.
func TestRenewalMends(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		b.raise(0, 7) // its count is ahead, so its token will differ
		b.set(down, 0, 1)
		l := b.acquire(b.store, "a", "a/1")
		b.set(up, 0, 1)
		time.Sleep(ttl / 3)
		b.renew(l)
		synctest.Wait()
		if n := b.holders("a"); n != 5 {
			b.Fatalf("%d nodes are held after a renewal, want all", n)
		}
		b.set(down, 2, 3)
		for range 6 {
			time.Sleep(ttl / 3)
			b.renew(l)
		}
		b.set(up, 2, 3)
		if err := b.store.Release(b.Context(), l); err != nil || b.holders("a") != 0 {
			b.Errorf("%d nodes are held after the release, error %v", b.holders("a"), err)
		}
	})
}

// A term goes on, with its token, while one node after the other loses its data;
// also a term that began with the smallest majority.
func TestRollingRestart(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		b.set(down, 3, 4)
		l := b.acquire(b.store, "a", "a/1")
		b.set(up, 3, 4)
		for i := range 15 {
			b.nodes[i%5].forget()
			for range 5 { // one lease of quarantine, and some
				time.Sleep(ttl / 3)
				b.renew(l)
			}
			synctest.Wait()
			if n := b.holders("a"); n < 4 {
				b.Fatalf("%d nodes are held after restart %d", n, i+1)
			}
		}
		leader, err := b.store.Leader(b.Context(), election)
		if err != nil || leader.ID != "a" || leader.Token < l.Token {
			b.Errorf("leader %+v, error %v", leader, err)
		}
		_, err = b.try(b.open(quorumstore.Options{}), "b", "b/1")
		if held := new(store.HeldError); !errors.As(err, &held) || held.Holder != "a" {
			b.Errorf("error %v, want held by a", err)
		}
		if err := b.store.Release(b.Context(), l); err != nil {
			b.Fatal(err)
		}
		if next := b.acquire(b.open(quorumstore.Options{}), "b", "b/2"); next.Token <= l.Token {
			b.Errorf("token %d after %d", next.Token, l.Token)
		}
	})
}

// "Not held" is said only when it is certain: nodes that are away may hold.
func TestNotHeldOnlyIfCertain(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		l := b.acquire(b.store, "a", "a/1")
		synctest.Wait()
		time.Sleep(time.Second)
		b.nodes[0].mem.Delete(election)
		b.nodes[1].mem.Delete(election)
		b.set(down, 2)
		if err := b.store.Renew(b.Context(), l); err == nil || errors.Is(err, store.ErrNotHeld) {
			b.Errorf("error %v, want an unknown outcome", err)
		}
		b.set(up, 2)
		b.nodes[2].mem.Delete(election)
		if err := b.store.Renew(b.Context(), l); !errors.Is(err, store.ErrNotHeld) {
			b.Errorf("error %v, want ErrNotHeld", err)
		}
	})
}

// lateAttempt holds attempts back once it is armed, until the gate is open.
type lateAttempt struct {
	store.Store
	armed atomic.Bool
	gate  chan struct{}
}

func (s *lateAttempt) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if s.armed.Load() {
		<-s.gate
		ctx = context.WithoutCancel(ctx)
	}
	return s.Store.Acquire(ctx, a)
}

// A term that another one has followed is never renewed, although nodes that are
// free again would take it: nodes that it began with, nodes that it never had,
// and nodes at which an attempt to mend it arrives late.
func TestTermIsNotRevived(t *testing.T) {
	for name, test := range map[string]struct {
		away   []int // when the term begins
		mended bool  // an attempt to do so is late
	}{"all": {}, "one never held": {away: []int{1}}, "late": {away: []int{1}, mended: true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(b *bench) { tryRevival(b, test.away, test.mended) })
		})
	}
}

func tryRevival(b *bench, away []int, mended bool) {
	late := &lateAttempt{Store: b.nodes[1], gate: make(chan struct{})}
	s, err := quorumstore.New([]store.Store{b.nodes[0], late, b.nodes[2]}, quorumstore.Options{Now: b.now})
	if err != nil {
		b.Fatal(err)
	}
	b.set(down, away...)
	l := b.acquire(s, "a", "a/1")
	synctest.Wait()
	b.set(down, 1, 2)
	time.Sleep(10 * time.Second)
	if mended {
		b.set(up, 1)
		late.armed.Store(true)
	}
	if err := s.Renew(b.Context(), l); err == nil {
		b.Fatal("renewed on one of three nodes")
	}
	time.Sleep(6 * time.Second)
	b.set(up, 1, 2)
	other := b.open(quorumstore.Options{})
	next := b.acquire(other, "b", "b/1")
	if err := other.Release(b.Context(), next); err != nil {
		b.Fatal(err)
	}
	close(late.gate)
	synctest.Wait()
	for range 3 {
		if err := s.Renew(b.Context(), l); !errors.Is(err, store.ErrNotHeld) {
			b.Errorf("error %v for token %d after %d, want ErrNotHeld", err, l.Token, next.Token)
		}
		synctest.Wait()
	}
	if b.on(2).ID != "" || b.on(1).ID != "" && !mended {
		b.Error("a renewal that failed created a lease")
	}
}

// A node that is mended so slowly that the majority's leases may have ended
// meanwhile does not count, even for the renewal that asked it, nor for a release.
func TestSlowMendDoesNotCount(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		late := &lateAttempt{Store: b.nodes[1], gate: make(chan struct{})}
		s, err := quorumstore.New([]store.Store{b.nodes[0], late, b.nodes[2]}, quorumstore.Options{Now: b.now, NodeTimeout: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		b.set(down, 1)
		l := b.acquire(s, "a", "a/1")
		synctest.Wait()
		b.set(up, 1)
		b.set(down, 2)
		late.armed.Store(true)
		time.Sleep(10 * time.Second)
		renewed := make(chan error, 1)
		go func() { renewed <- s.Renew(b.Context(), l) }()
		time.Sleep(6 * time.Second)
		b.set(up, 2)
		other := b.open(quorumstore.Options{})
		next := b.acquire(other, "b", "b/1")
		if err := other.Release(b.Context(), next); err != nil {
			b.Fatal(err)
		}
		close(late.gate)
		if err := <-renewed; err == nil {
			b.Errorf("token %d was renewed after %d", l.Token, next.Token)
		}
		if err := s.Release(b.Context(), l); err == nil || errors.Is(err, store.ErrNotHeld) || b.holders("a") != 0 {
			b.Errorf("token %d was released after %d: error %v, want an unknown outcome; %d nodes are held, want none", l.Token, next.Token, err, b.holders("a"))
		}
	})
}

// A lease that another Store granted is renewed and released as well.
func TestLeaseFromElsewhere(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		l := b.acquire(b.open(quorumstore.Options{}), "a", "a/1")
		synctest.Wait()
		time.Sleep(ttl / 2)
		b.renew(l)
		time.Sleep(ttl * 3 / 4)
		b.renew(l)
		if err := b.store.Release(b.Context(), l); err != nil || b.holders("a") != 0 {
			b.Errorf("%d nodes are held after the release, error %v", b.holders("a"), err)
		}
	})
}

// A release is repeated until a majority has answered one. Only the first one that a
// majority agrees to is known to have ended the lease.
func TestReleaseWithNodesAway(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		l := b.acquire(b.store, "a", "a/1")
		synctest.Wait()
		b.set(down, 0, 1, 2)
		if err := b.store.Release(b.Context(), l); err == nil || errors.Is(err, store.ErrNotHeld) {
			b.Errorf("error %v, want an unknown outcome", err)
		}
		b.set(up, 0, 1)
		var unknown *quorumstore.UndecidedError
		if err := b.store.Release(b.Context(), l); !errors.As(err, &unknown) || b.holders("a") != 1 {
			b.Errorf("%d nodes are held, error %v; want 1 and an unknown outcome, since two nodes were free before and one is away", b.holders("a"), err)
		}
		if err := b.store.Release(b.Context(), l); !errors.Is(err, store.ErrNotHeld) {
			b.Errorf("error %v, want not held: four nodes are free", err)
		}
		b.acquire(b.store, "b", "b/1")
	})
}

// A release by a candidate that was deposed does not succeed, although one node still
// held its lease and nobody knows of two: another term has begun since.
func TestReleaseAfterAnotherTermIsNotDone(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		l := b.acquire(b.store, "a", "a/1")
		synctest.Wait()
		time.Sleep(ttl / 2)
		b.set(down, 1, 2, 3, 4)
		if err := b.store.Renew(b.Context(), l); err == nil {
			b.Fatal("one node of five renewed a lease")
		}
		b.set(up, 1, 2, 3, 4)
		time.Sleep(ttl * 3 / 4)
		next := b.acquire(b.open(quorumstore.Options{}), "b", "b/1")
		synctest.Wait()
		b.set(down, 1, 2)
		if err := b.store.Release(b.Context(), l); err == nil {
			b.Errorf("token %d was released after the term %d had begun", l.Token, next.Token)
		}
	})
}
