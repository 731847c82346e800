package elector_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/store"
)

// refusing is a store that answers no renewal as long as it is closed.
type refusing struct {
	*memstore.Store
	closed chan struct{} // closed when it is open
}

func (s *refusing) Renew(ctx context.Context, l store.Lease) error {
	select {
	case <-s.closed:
		return s.Store.Renew(ctx, l)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func publisher(t *testing.T, store elector.Store, value string) (*elector.Elector, *elector.Term) {
	t.Helper()
	e, err := elector.New(store, elector.Config{Election: "billing", ID: "a", Value: value, Lease: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	term, err := e.Campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e, term
}

func checkShown(t *testing.T, e *elector.Elector, want string) {
	t.Helper()
	if l, err := e.Leader(t.Context()); err != nil || l.Value != want {
		t.Errorf("the leader shows %q, %v, want %q", l.Value, err, want)
	}
}

// A term begins with Config.Value and shows what Publish has returned for; the next one
// begins with Config.Value again.
func TestPublish(t *testing.T) {
	e, term := publisher(t, memstore.New(memstore.Options{}), "begin")
	checkShown(t, e, "begin")
	for _, value := range []string{"one", "", "two", "two"} {
		if err := term.Publish(t.Context(), value); err != nil {
			t.Fatal(err)
		}
		checkShown(t, e, value)
	}
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkShown(t, e, "")
	if err := term.Publish(t.Context(), "late"); !errors.Is(err, elector.ErrTermOver) {
		t.Errorf("published after the term: %v", err)
	}
	next, err := e.Campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkShown(t, e, "begin")
	_ = next.Resign(t.Context()) // the lease would end by itself
}

// Publish waits for the store, and returns when its context or the term is over before.
func TestPublishWaits(t *testing.T) {
	store := &refusing{memstore.New(memstore.Options{}), make(chan struct{})}
	e, term := publisher(t, store, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := term.Publish(ctx, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("published with a context that is done: %v", err)
	}
	if err := term.Publish(t.Context(), "two"); !errors.Is(err, elector.ErrTermOver) {
		t.Errorf("published in a term that is over: %v", err)
	}
	close(store.closed)
	term, err := e.Campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkShown(t, e, "")
	_ = term.Resign(t.Context()) // the lease would end by itself
}

// What is too long is refused, with how long it may be.
func TestPublishTooMuch(t *testing.T) {
	long := strings.Repeat("x", store.MaxValue+1)
	store := memstore.New(memstore.Options{})
	var refused *elector.ConfigError
	if _, err := elector.New(store, elector.Config{Election: "billing", Value: long}); !errors.As(err, &refused) || refused.Field != "Value" {
		t.Errorf("a Config with it: %v", err)
	}
	e, term := publisher(t, store, long[1:])
	if err := term.Publish(t.Context(), long); err == nil || !strings.Contains(err.Error(), "4096") {
		t.Errorf("published: %v", err)
	}
	checkShown(t, e, long[1:])
	_ = term.Resign(t.Context()) // the lease would end by itself
}
