package redisstore

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

func attempt(id, nonce string) store.Attempt {
	return store.Attempt{Election: "billing", ID: id, Nonce: nonce, Request: 1, TTL: time.Minute}
}

func lease(a store.Attempt, token uint64) store.Lease {
	return store.Lease{Election: a.Election, ID: a.ID, Nonce: a.Nonce, Token: token, Request: a.Request + 1, TTL: a.TTL}
}

func mustAcquire(t testing.TB, r *server, s *Store, a store.Attempt) store.Grant {
	t.Helper()
	g, err := s.Acquire(r.ctx, a)
	if err != nil {
		t.Fatalf("acquire by %q: %v", a.ID, err)
	}
	return g
}

func mustRefuse(t testing.TB, r *server, s *Store, a store.Attempt) *store.HeldError {
	t.Helper()
	g, err := s.Acquire(r.ctx, a)
	var held *store.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("acquire by %q gave %+v, %v; want a HeldError", a.ID, g, err)
	}
	return held
}

func ttl(t *testing.T, r *server, key string) time.Duration {
	t.Helper()
	d, err := r.admin.PTTL(r.ctx, key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const leaseKey = "recount:{billing}:lease"
const counterKey = "recount:{billing}:token"

// A term from its grant over renewals to its release: the lease lasts as long
// as asked for, the next term's token is larger, and everybody sees the leader.
func TestTerm(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("node one/7", "n1")
		if l, err := s.Leader(r.ctx, "billing"); err != nil || l != (store.Leader{}) {
			t.Fatalf("leader before: %+v, %v", l, err)
		}
		g := mustAcquire(t, r, s, a)
		if left := ttl(t, r, leaseKey); left <= 59*time.Second || left > time.Minute {
			t.Fatalf("the lease lasts %v", left)
		}
		held := mustRefuse(t, r, s, attempt("n2", "n2"))
		if held.Holder != a.ID || held.Token != g.Token || held.Remaining <= 59*time.Second || held.Remaining > time.Minute || held.Repaired != "" {
			t.Fatalf("refused with %+v", held)
		}
		l := lease(a, g.Token)
		l.TTL = 2 * time.Minute
		if err := s.Renew(r.ctx, l); err != nil {
			t.Fatal(err)
		}
		if left := ttl(t, r, leaseKey); left <= 119*time.Second {
			t.Fatalf("the renewed lease lasts %v", left)
		}
		if got, err := s.Leader(r.ctx, "billing"); err != nil || got.ID != a.ID || got.Token != g.Token || got.Remaining <= 119*time.Second {
			t.Fatalf("leader: %+v, %v", got, err)
		}
		if err := s.Release(r.ctx, l); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(r.ctx, l); !errors.Is(err, store.ErrNotHeld) {
			t.Fatalf("second release: %v", err)
		}
		if next := mustAcquire(t, r, s, attempt("n2", "n2")); next.Token <= g.Token {
			t.Fatalf("second token is %d, the first one %d", next.Token, g.Token)
		}
	})
}

// A reply that is lost: the same attempt repeated returns the same token, and
// the lease lasts its whole time again from then on; another attempt of the
// same candidate is refused.
func TestAcquireIsIdempotentByNonce(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("n1", "once")
		first := mustAcquire(t, r, s, a)
		r.do(t, "PEXPIRE", leaseKey, 1000)
		if again := mustAcquire(t, r, s, a); again.Token != first.Token {
			t.Fatalf("the repeated attempt got token %d, the first one %d", again.Token, first.Token)
		}
		if left := ttl(t, r, leaseKey); left <= 59*time.Second {
			t.Fatalf("after the repetition the lease lasts %v", left)
		}
		_ = mustRefuse(t, r, s, attempt("n1", "twice"))
		_ = mustRefuse(t, r, s, attempt("n2", "once"))
		if got := r.do(t, "GET", counterKey); got != strconv.FormatUint(first.Token, 10) {
			t.Fatalf("the counter is %v", got)
		}
	})
}

// A renewal that arrives after the lease's end changes and creates nothing.
func TestRenewAfterExpiryCreatesNothing(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("n1", "a")
		a.TTL = 20 * time.Millisecond
		g := mustAcquire(t, r, s, a)
		r.lapse(t, leaseKey)
		if err := s.Renew(r.ctx, lease(a, g.Token)); !errors.Is(err, store.ErrNotHeld) {
			t.Fatalf("renew: %v", err)
		}
		if n := r.do(t, "EXISTS", leaseKey); n != int64(0) {
			t.Fatal("the renewal created a lease")
		}
	})
}

// Late requests of an earlier term of the same candidate do nothing to the
// term that it holds now, whichever of token and nonce differs.
func TestLateRequestsOfAnEarlierTerm(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		earlier := attempt("n1", "a")
		old := lease(earlier, mustAcquire(t, r, s, earlier).Token)
		if err := s.Release(r.ctx, old); err != nil {
			t.Fatal(err)
		}
		now := attempt("n1", "b")
		now.TTL = 30 * time.Second
		g := mustAcquire(t, r, s, now)
		sameNonce, sameToken := old, old
		sameNonce.Nonce, sameToken.Token = now.Nonce, g.Token
		for _, l := range []store.Lease{old, sameNonce, sameToken} {
			if err := s.Renew(r.ctx, l); !errors.Is(err, store.ErrNotHeld) {
				t.Fatalf("renew of %+v: %v", l, err)
			}
			if err := s.Release(r.ctx, l); !errors.Is(err, store.ErrNotHeld) {
				t.Fatalf("release of %+v: %v", l, err)
			}
		}
		if left := ttl(t, r, leaseKey); left <= 29*time.Second || left > 30*time.Second {
			t.Fatalf("the lease lasts %v", left)
		}
	})
}

// Ids and nonces with separators in them cannot be mistaken for one another,
// and come back as they were given.
func TestNamesAreUnambiguous(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{Unprotected: true})
		for i, name := range []struct{ id, nonce string }{
			{"b c", "a"}, {"c", "a b"}, {"", ""}, {"1 x", "r1 1"}, {"new\nline", "tab\t"}, {"ünï\x00\xff", "{}%20"}, {"%20", " "},
		} {
			if name.id == "" {
				continue
			}
			a := attempt(name.id, name.nonce)
			a.Election = "e" + strconv.Itoa(i)
			g := mustAcquire(t, r, s, a)
			if again := mustAcquire(t, r, s, a); again.Token != g.Token {
				t.Fatalf("%q: repeated attempt got %d", name, again.Token)
			}
			if l, err := s.Leader(r.ctx, a.Election); err != nil || l.ID != name.id {
				t.Fatalf("%q: leader %+v, %v", name, l, err)
			}
			if err := s.Renew(r.ctx, lease(a, g.Token)); err != nil {
				t.Fatalf("%q: renew: %v", name, err)
			}
		}
		// "r1 1 a b c" and "r1 1 a%20b c": same letters, different terms.
		one, other := attempt("b c", "a"), attempt("c", "a b")
		g := mustAcquire(t, r, s, one)
		if err := s.Renew(r.ctx, lease(other, g.Token)); !errors.Is(err, store.ErrNotHeld) {
			t.Fatalf("the other's renewal: %v", err)
		}
	})
}

// An operator deletes the lease: the holder is told at its next renewal, and
// the next term's token is larger. Everything is flushed: a candidate's floor
// keeps tokens growing.
func TestDeletedKeys(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{Unprotected: true})
		a := attempt("n1", "a")
		a.Floor = 41
		if g := mustAcquire(t, r, s, a); g.Token != 42 {
			t.Fatalf("token %d after floor 41", g.Token)
		}
		r.do(t, "DEL", leaseKey)
		if err := s.Renew(r.ctx, lease(a, 42)); !errors.Is(err, store.ErrNotHeld) {
			t.Fatalf("renew of a deleted lease: %v", err)
		}
		if g := mustAcquire(t, r, s, attempt("n2", "b")); g.Token != 43 {
			t.Fatalf("token %d after a deleted lease", g.Token)
		}
		r.do(t, "FLUSHALL")
		c := attempt("n3", "c")
		c.Floor = 43
		if g := mustAcquire(t, r, s, c); g.Token != 44 {
			t.Fatalf("token %d after FLUSHALL with floor 43", g.Token)
		}
	})
}

// A lease without a time to live does not block for ever: it gets the
// longest that any lease may have, once, and the refusal says so. Its holder may go on renewing it.
func TestPersistedLease(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("n1", "a")
		g := mustAcquire(t, r, s, a)
		r.do(t, "PERSIST", leaseKey)
		if l, err := s.Leader(r.ctx, "billing"); err != nil || l.ID != "n1" || l.Remaining != 0 {
			t.Fatalf("leader %+v, %v", l, err)
		}
		b := attempt("n2", "b")
		b.TTL = 30 * time.Second
		held := mustRefuse(t, r, s, b)
		if !strings.Contains(held.Repaired, "no time to live") || held.Remaining != time.Minute || held.Holder != "n1" {
			t.Fatalf("refused with %+v", held)
		}
		if left := ttl(t, r, leaseKey); left <= 59*time.Second || left > time.Minute {
			t.Fatalf("the repaired lease lasts %v", left)
		}
		if held := mustRefuse(t, r, s, b); held.Repaired != "" || held.Remaining > time.Minute {
			t.Fatalf("refused again with %+v", held)
		}
		if err := s.Renew(r.ctx, lease(a, g.Token)); err != nil {
			t.Fatal(err)
		}
	})
}

// A value that no elector wrote is honoured while it lives, and gets a time to
// live; then the election goes on.
func TestForeignLease(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		r.do(t, "SET", leaseKey, "host-a:4711")
		a := attempt("n1", "a")
		a.TTL = 50 * time.Millisecond
		held := mustRefuse(t, r, s, a)
		if held.Holder != "host-a:4711" || held.Token != 0 || held.Repaired == "" {
			t.Fatalf("refused with %+v", held)
		}
		if err := s.Renew(r.ctx, lease(a, 1)); !errors.Is(err, store.ErrNotHeld) {
			t.Fatalf("renew: %v", err)
		}
		r.lapse(t, leaseKey)
		mustAcquire(t, r, s, a)
	})
}

// Tokens stay exact where numbers of Lua are not: beyond 2^53, from the
// counter and from a floor, and the larger of the two counts by value, not by
// spelling.
func TestTokensBeyondLuaNumbers(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{Unprotected: true})
		const big = 1<<53 + 1 // the first that a float64 cannot hold
		for i, c := range []struct {
			counter string
			floor   uint64
			want    uint64
		}{
			{"9007199254740992", 0, big},
			{"9007199254740993", 9007199254740992, big + 1},
			{"9007199254740992", 9007199254740993, big + 1},
			{"9", 10, 11},
			{"10", 9, 11},
			{"0", 0, 1},
			{"9223372036854775806", 5, 9223372036854775807},
		} {
			a := attempt("n1", "a")
			a.Election, a.Floor = "e"+strconv.Itoa(i), c.floor
			r.do(t, "SET", s.Keys(a.Election)[1], c.counter)
			g := mustAcquire(t, r, s, a)
			if g.Token != c.want {
				t.Fatalf("counter %s, floor %d: token %d, want %d", c.counter, c.floor, g.Token, c.want)
			}
			if err := s.Renew(r.ctx, lease(a, g.Token)); err != nil {
				t.Fatalf("renew with token %d: %v", g.Token, err)
			}
			if l, err := s.Leader(r.ctx, a.Election); err != nil || l.Token != c.want {
				t.Fatalf("leader %+v, %v", l, err)
			}
			if held := mustRefuse(t, r, s, store.Attempt{Election: a.Election, ID: "n2", Nonce: "b", TTL: time.Second}); held.Token != c.want {
				t.Fatalf("refused with token %d, want %d", held.Token, c.want)
			}
		}
	})
}

// What no repetition can mend is said at once, and changes nothing: keys of
// the wrong type, a counter that is no number or at its end, and arguments
// that make no sense.
func TestFatal(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{Unprotected: true})
		fatal := func(what string, err error) {
			t.Helper()
			var f *store.FatalError
			if !errors.As(err, &f) || f.Fix == "" {
				t.Errorf("%s: %v, want a FatalError with a fix", what, err)
			}
		}
		acquire := func(change func(*store.Attempt)) error {
			a := attempt("n1", "a")
			change(&a)
			_, err := s.Acquire(r.ctx, a)
			return err
		}
		same := func(*store.Attempt) {}

		r.do(t, "RPUSH", leaseKey, "x")
		fatal("lease is a list", acquire(same))
		fatal("renew of a list", s.Renew(r.ctx, lease(attempt("n1", "a"), 1)))
		_, err := s.Leader(r.ctx, "billing")
		fatal("leader in a list", err)
		r.do(t, "DEL", leaseKey)

		r.do(t, "RPUSH", counterKey, "x")
		fatal("counter is a list", acquire(same))
		r.do(t, "DEL", counterKey)
		for _, bad := range []string{"abc", "-1", "007", "1.5", "", "9223372036854775807"} {
			r.do(t, "SET", counterKey, bad)
			fatal("counter is "+bad, acquire(func(a *store.Attempt) { a.Floor = 7 }))
			if got := r.do(t, "GET", counterKey); got != bad {
				t.Errorf("the refused attempt changed the counter from %q to %v", bad, got)
			}
			if r.do(t, "EXISTS", leaseKey) != int64(0) {
				t.Errorf("the attempt with counter %q left a lease", bad)
			}
		}
		r.do(t, "DEL", counterKey)

		fatal("no election", acquire(func(a *store.Attempt) { a.Election = "" }))
		fatal("no id", acquire(func(a *store.Attempt) { a.ID = "" }))
		fatal("no nonce", acquire(func(a *store.Attempt) { a.Nonce = "" }))
		fatal("no time", acquire(func(a *store.Attempt) { a.TTL = 0 }))
		fatal("999µs", acquire(func(a *store.Attempt) { a.TTL = 999 * time.Microsecond }))
		fatal("1.5ms", acquire(func(a *store.Attempt) { a.TTL = 1500 * time.Microsecond }))
		fatal("floor at the end", acquire(func(a *store.Attempt) { a.Floor = 1<<63 - 1 }))
		if err := acquire(func(a *store.Attempt) { a.TTL = time.Millisecond }); err != nil {
			t.Errorf("1ms: %v", err)
		}
	})
}

// Elections do not see each other, whatever their names, nor do prefixes; and
// every name is a key of its own.
func TestElectionsAreApart(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s, other := r.open(t, Options{Unprotected: true}), r.open(t, Options{Unprotected: true, Prefix: "other:"})
		seen := map[string]string{}
		for _, name := range []string{"a", "a b", "a%20b", "a\nb", "{a}", "}{", "{}", "a}:lease", " ", "%", "ä"} {
			for _, store := range []*Store{s, other} {
				a := attempt("n1", "x")
				a.Election = name
				mustAcquire(t, r, store, a)
				for _, key := range store.Keys(name) {
					if was, ok := seen[key]; ok {
						t.Errorf("elections %q and %q share the key %q", was, name, key)
					}
					seen[key] = name
				}
			}
		}
		left, err := r.admin.Keys(r.ctx, "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range left {
			if _, ok := seen[key]; !ok && key != s.Witness() && key != other.Witness() {
				t.Errorf("Keys does not list %q", key)
			}
		}
	})
}

// Retire removes every key of an election, but not while its lease is held.
func TestRetire(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{Audit: true, Unprotected: true})
		a := attempt("n1", "a")
		g := mustAcquire(t, r, s, a)
		var held *store.HeldError
		if err := s.Retire(r.ctx, "billing"); !errors.As(err, &held) || held.Holder != "n1" || held.Token != g.Token || held.Remaining == 0 {
			t.Fatalf("retire of a held lease: %v", err)
		}
		_ = mustRefuse(t, r, s, attempt("n2", "b"))
		if n := r.do(t, "DBSIZE"); n != int64(len(s.Keys("billing"))+1) {
			t.Fatalf("%v keys are there, the store names %d and the witness", n, len(s.Keys("billing")))
		}
		if err := s.Release(r.ctx, lease(a, g.Token)); err != nil {
			t.Fatal(err)
		}
		if err := s.Retire(r.ctx, "billing"); err != nil {
			t.Fatal(err)
		}
		if left := r.do(t, "DBSIZE"); left != int64(0) {
			t.Fatalf("%v keys are left", left)
		}
	})
}

// What is kept of elections does not grow with the number of names that a
// program makes up.
func TestNamesAreBounded(t *testing.T) {
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, Options{})
	for i := range 3 * maxKnown {
		name := "e" + strconv.Itoa(i)
		if n := s.names(name); n.acquire[0] != s.keys(name).lease() || s.names(name) != n {
			t.Fatalf("%s: %q", name, n.acquire)
		}
	}
	kept := 0
	s.known.Range(func(any, any) bool { kept++; return true })
	if kept > maxKnown {
		t.Errorf("the names of %d elections are kept", kept)
	}
}
