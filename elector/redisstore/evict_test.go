package redisstore

import (
	"errors"
	"testing"

	"github.com/recount-io/recount/elector/store"
)

// A lease that was taken away is renewed by nobody, and granted to nobody before it would
// have ended: its holder may lead until then. That holds without protection, too.
func TestEvict(t *testing.T) {
	for name, options := range map[string]Options{"protected": {}, "unprotected": {Unprotected: true}} {
		t.Run(name, func(t *testing.T) {
			eachServer(t, func(t *testing.T, r *server) {
				s := r.open(t, options)
				if _, err := s.Evict(r.ctx, "billing", 0); !errors.Is(err, store.ErrNotHeld) {
					t.Fatalf("before anybody leads: %v", err)
				}
				a := attempt("n1", "a")
				l := lease(a, mustAcquire(t, r, s, a).Token)
				var held *store.HeldError
				if _, err := s.Evict(r.ctx, "billing", l.Token+1); !errors.As(err, &held) || held.Holder != "n1" || held.Token != l.Token {
					t.Fatalf("a later term: %v", err)
				}
				if err := s.Renew(r.ctx, l); err != nil {
					t.Fatalf("after the eviction of another term: %v", err)
				}
				r.advance(t, a.TTL/2)
				for _, token := range []uint64{l.Token, 0} { // it may be repeated
					got, err := s.Evict(r.ctx, "billing", token)
					if err != nil || got.ID != "n1" || got.Token != l.Token || got.Remaining <= 0 || got.Remaining > a.TTL/2 {
						t.Fatalf("evicted: %+v, %v", got, err)
					}
				}
				if err := s.Renew(r.ctx, l); !errors.Is(err, store.ErrNotHeld) {
					t.Errorf("a renewal: %v", err)
				}
				for what, next := range map[string]store.Attempt{"the others": attempt("n2", "b"), "the same attempt": a} {
					if _, err := s.Acquire(r.ctx, next); !errors.As(err, &held) || held.Holder != "n1" || held.Withheld != "" || held.Repaired != "" {
						t.Errorf("%s: %v", what, err)
					}
				}
				if err := s.Release(r.ctx, l); !errors.Is(err, store.ErrNotHeld) {
					t.Errorf("a release: %v", err)
				}
				if _, err := s.Acquire(r.ctx, attempt("n2", "c")); !errors.As(err, &held) || held.Remaining <= 0 {
					t.Errorf("after the release: %v", err)
				}
				r.advance(t, a.TTL/2)
				if g := mustAcquire(t, r, s, attempt("n2", "d")); g.Token <= l.Token {
					t.Errorf("token %d follows on %d", g.Token, l.Token)
				}
			})
		})
	}
}

// What no elector wrote is left as it is.
func TestEvictLeavesForeignValues(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		r.do(t, "SET", leaseKey, "foreign")
		var held *store.HeldError
		if _, err := s.Evict(r.ctx, "billing", 0); !errors.As(err, &held) || held.Holder != "foreign" || held.Token != 0 {
			t.Errorf("%v", err)
		}
		if got := r.do(t, "GET", leaseKey); got != "foreign" {
			t.Errorf("%v", got)
		}
	})
}
