package pgstore

import (
	"errors"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// A lease that was taken away is renewed by nobody, and granted to nobody before it would
// have ended: its holder may lead until then.
func TestEvict(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	if _, err := s.Evict(d.ctx, "billing", 0); !errors.Is(err, store.ErrNotHeld) {
		t.Fatalf("before anybody leads: %v", err)
	}
	a, b := attemptOf("n1", "1"), attemptOf("n2", "2")
	a.TTL, b.TTL = 3*time.Second, 3*time.Second
	l := d.acquire(t, s, a)
	var held *store.HeldError
	if _, err := s.Evict(d.ctx, "billing", l.Token+1); !errors.As(err, &held) || held.Holder != "n1" || held.Token != l.Token {
		t.Fatalf("a later term: %v", err)
	}
	if err := s.Renew(d.ctx, l); err != nil {
		t.Fatalf("after the eviction of another term: %v", err)
	}
	for _, token := range []uint64{l.Token, 0} { // it may be repeated
		got, err := s.Evict(d.ctx, "billing", token)
		if err != nil || got.ID != "n1" || got.Token != l.Token || got.Remaining <= 0 || got.Remaining > a.TTL {
			t.Fatalf("evicted: %+v, %v", got, err)
		}
	}
	if err := s.Renew(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("a renewal: %v", err)
	}
	if err := s.Release(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("a release: %v", err)
	}
	for what, next := range map[string]store.Attempt{"the others": b, "the same attempt": a} {
		if _, err := s.Acquire(d.ctx, next); !errors.As(err, &held) || held.Holder != "n1" || held.Remaining <= 0 {
			t.Errorf("%s: %v", what, err)
		}
	}
	d.until(t, "select clock_timestamp() > until from recount_lease where election = 'billing'")
	if next := d.acquire(t, s, b); next.Token <= l.Token {
		t.Errorf("token %d follows on %d", next.Token, l.Token)
	}
}

// A lease that is tied to a session is left: with TakeOverDeadSessions others get it as
// soon as the session ends, which a refused renewal ends before its candidate knows.
func TestEvictLeavesSessions(t *testing.T) {
	d := open(t)
	s := d.sessions(t, Options{TakeOverDeadSessions: true})
	l := d.acquire(t, s, attemptOf("n1", "1"))
	var fatal *store.FatalError
	if _, err := s.Evict(d.ctx, "billing", 0); !errors.As(err, &fatal) || fatal.Fix == "" {
		t.Errorf("%v, want a FatalError", err)
	}
	if err := s.Renew(d.ctx, l); err != nil {
		t.Errorf("a renewal: %v", err)
	}
}
