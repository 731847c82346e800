package quorumstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// listener is a Watch in the background.
type listener struct {
	hints   []store.Hint
	listens int // how often it was told that it listens
	ended   chan error
	stop    context.CancelFunc
}

func (b *bench) watch() *listener {
	ctx, cancel := context.WithCancel(b.Context())
	l := &listener{ended: make(chan error, 1), stop: cancel}
	b.store.Watch(ctx, election, func(h store.Hint) {
		if h.Kind == store.HintListening {
			l.listens++
			return
		}
		l.hints = append(l.hints, h)
	}, func(err error) { l.ended <- err })
	synctest.Wait()
	return l
}

// heard takes what was announced since the last time.
func (l *listener) heard() []store.Hint {
	synctest.Wait()
	hints := l.hints
	l.hints = nil
	return hints
}

// A grant and a release are announced once each, and not before a majority of
// the nodes has announced them; attempts that fail wake nobody.
func TestHintsAreOfAMajority(t *testing.T) {
	inBubble(t, 5, func(b *bench) {
		l := b.watch()
		defer l.stop()
		for n := range 2 {
			if _, err := b.nodes[n].Acquire(b.Context(), attempt("x", "x/1")); err != nil {
				b.Fatal(err)
			}
		}
		if hints := l.heard(); len(hints) != 0 {
			b.Errorf("%+v for two of five nodes", hints)
		}
		lease := b.acquire(b.store, "a", "a/1")
		if hints := l.heard(); len(hints) != 1 || hints[0].Kind != store.HintGranted || hints[0].Token != lease.Token || hints[0].Remaining != ttl {
			b.Errorf("%+v, want one grant of %d", hints, lease.Token)
		}
		for n := range 2 {
			if err := b.nodes[n].Release(b.Context(), store.Lease{Election: election, ID: "x", Nonce: "x/1", Token: 1}); err != nil {
				b.Fatal(err)
			}
		}
		if hints := l.heard(); len(hints) != 0 {
			b.Errorf("%+v while a majority is held", hints)
		}
		if err := b.store.Release(b.Context(), lease); err != nil {
			b.Fatal(err)
		}
		if hints := l.heard(); len(hints) != 1 || hints[0].Kind != store.HintReleased || hints[0].Token != lease.Token {
			b.Errorf("%+v, want one release of %d", hints, lease.Token)
		}
	})
}

// A release is announced with a token that is no old news to a watcher that knows
// one: where nodes have lost their data, each has its own for one term.
func TestReleaseIsNoOldNews(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		lease := b.acquire(b.store, "a", "a/1")
		for n := range b.nodes {
			b.nodes[n].forget()
			for range 5 {
				time.Sleep(ttl / 3)
				b.renew(lease)
			}
		}
		l := b.watch()
		defer l.stop()
		b.set(down, 0) // the smallest token is there
		_, err := b.try(b.store, "b", "b/1")
		held := new(store.HeldError)
		ok := errors.As(err, &held)
		if !ok || held.Holder != "a" {
			b.Fatalf("error %v, want held by a", err)
		}
		b.set(up, 0)
		time.Sleep(time.Second)
		b.set(down, 2)
		if err := b.store.Release(b.Context(), lease); err != nil {
			b.Fatal(err)
		}
		if hints := l.heard(); len(hints) != 1 || hints[0].Token < held.Token {
			b.Errorf("%+v after a refusal in favour of %d", hints, held.Token)
		}
	})
}

// A watch goes on while those of a majority of the nodes live, begins the others
// again, and ends when a majority's have broken off, saying why.
func TestWatchLivesOnAMajority(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		l := b.watch()
		b.set(down, 0)
		time.Sleep(time.Minute)
		b.set(up, 0)
		time.Sleep(time.Minute)
		if n := b.nodes[0].count("watch"); n < 5 || n > 20 {
			b.Errorf("the node's watch was begun %d times in a minute", n)
		}
		b.set(down, 1)
		time.Sleep(time.Minute)
		lease := b.acquire(b.store, "a", "a/1")
		if hints := l.heard(); len(hints) != 1 || hints[0].Token != lease.Token {
			b.Errorf("%+v, want one grant of %d", hints, lease.Token)
		}
		b.set(down, 2)
		select {
		case err := <-l.ended:
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "node 2: "+errDown.Error()) || !strings.Contains(err.Error(), "node 3") {
				b.Errorf("ended with %v", err)
			}
		case <-time.After(time.Minute):
			b.Error("goes on without a majority")
			l.stop()
		}
	})
}
