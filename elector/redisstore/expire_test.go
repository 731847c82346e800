package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// With Expire every key that a store leaves has a time to live, whatever was called
// last, and each call that finds half of it over makes it whole again. The lease has
// its own.
func TestExpire(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{Audit: true, Expire: 2 * time.Minute})
		expiring := func(after string) {
			t.Helper()
			for _, key := range r.do(t, "KEYS", "*").([]any) {
				least, most := time.Minute, 2*time.Minute
				if key == leaseKey {
					least, most = 59*time.Second, time.Minute
				}
				if left := ttl(t, r, key.(string)); left < least || left > most {
					t.Errorf("after %s %v has %v to live", after, key, left)
				}
			}
		}
		if _, err := s.Create(r.ctx, "billing"); err != nil {
			t.Fatal(err)
		}
		expiring("create")
		a := attempt("n1", "a")
		g := mustAcquire(t, r, s, a)
		expiring("a grant")
		_ = mustRefuse(t, r, s, attempt("n2", "b"))
		expiring("a refusal")
		r.do(t, "PEXPIRE", "recount:{billing}:guard", 59_000)
		if err := s.Renew(r.ctx, lease(a, g.Token)); err != nil {
			t.Fatal(err)
		}
		expiring("a renewal")
		for _, key := range s.Keys("billing")[1:] {
			r.do(t, "PEXPIRE", key, 59_000)
		}
		if err := s.Release(r.ctx, lease(a, g.Token)); err != nil {
			t.Fatal(err)
		}
		expiring("a release")
		for _, key := range append(s.Keys("billing")[1:], s.Witness()) {
			if r.do(t, "EXISTS", key) != int64(1) {
				t.Errorf("%s is not there", key)
			}
		}
	})
}

// What expires too soon for any lease, or cannot be said to the server, is refused.
func TestExpireIsChecked(t *testing.T) {
	for _, d := range []time.Duration{-time.Hour, time.Second, time.Minute + time.Microsecond} {
		if s, err := New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, Options{Expire: d}); err == nil {
			t.Errorf("%v is accepted", d)
			_ = s.Close()
		}
	}
}
