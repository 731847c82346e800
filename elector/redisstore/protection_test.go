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

// mustWithhold wants an attempt to be refused although nobody holds the lease,
// and returns for how long.
func mustWithhold(t *testing.T, r *server, s *Store, a store.Attempt, why string) time.Duration {
	t.Helper()
	held := mustRefuse(t, r, s, a)
	if held.Holder != "" || held.Token != 0 || !strings.Contains(held.Withheld, why) || held.Remaining <= 0 || held.Remaining > a.TTL {
		t.Fatalf("refused with %+v, want a lease withheld because %q", held, why)
	}
	return held.Remaining
}

func mustRelease(t *testing.T, r *server, s *Store, l store.Lease) {
	t.Helper()
	if err := s.Release(r.ctx, l); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// A server that knows nothing of an election may have forgotten it: it grants
// nobody a lease for as long as one lasts, and then a token that is larger than
// any that was counted from another time.
func TestForgottenElectionIsWithheld(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("n1", "a")
		first := mustAcquire(t, r, s, a).Token
		for _, loss := range [][]any{{"FLUSHALL"}, {"DEL", leaseKey, "recount:{billing}:guard"}} {
			r.do(t, loss...)
			b := attempt("n2", "b"+loss[0].(string))
			mustWithhold(t, r, s, b, "")
			if err := s.Renew(r.ctx, lease(a, first)); !errors.Is(err, store.ErrNotHeld) {
				t.Fatalf("renewal of a forgotten lease: %v", err)
			}
			mustWithhold(t, r, s, attempt("n3", "c"), "") // and how long it waits
			r.advance(t, b.TTL)
			second := mustAcquire(t, r, s, b).Token
			if second <= first {
				t.Fatalf("token %d, and after %v %d", first, loss, second)
			}
			first = second
		}
	})
}

// An election that the server knows is not created again.
func TestCreate(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		for _, want := range []bool{true, false} {
			if created, err := s.Create(r.ctx, "payroll"); err != nil || created != want {
				t.Fatalf("created %v, %v; want %v", created, err, want)
			}
		}
		mustAcquire(t, r, s, attempt("n1", "a"))
		if created, err := s.Create(r.ctx, "billing"); err != nil || created {
			t.Fatalf("an election that is there was created: %v, %v", created, err)
		}
	})
}

// The holder of a lease that was deleted or evicted may still lead: others wait
// for its end, unless its holder says that it is over.
func TestLeaseGoneBeforeItsTime(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("n1", "a")
		l := lease(a, mustAcquire(t, r, s, a).Token)
		r.do(t, "DEL", leaseKey)
		mustWithhold(t, r, s, attempt("n2", "b"), "before its time")
		if err := s.Release(r.ctx, l); !errors.Is(err, store.ErrNotHeld) {
			t.Fatalf("release of a deleted lease: %v", err)
		}
		if token := mustAcquire(t, r, s, attempt("n2", "b")).Token; token <= l.Token {
			t.Fatalf("token %d after %d", token, l.Token)
		}
	})
}

// What a lease that was deleted or evicted leaves behind is not retired as long as
// its holder may lead: a new election of the name would grant at once.
func TestRetireWaitsForLostLease(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("n1", "a")
		refused := func(why string) {
			t.Helper()
			var held *store.HeldError
			err := s.Retire(r.ctx, "billing")
			if !errors.As(err, &held) || held.Holder != "" || held.Withheld == "" || held.Remaining <= 0 || held.Remaining > a.TTL {
				t.Errorf("retire of an election whose lease is %s: %v", why, err)
			}
			if r.do(t, "EXISTS", counterKey) != int64(1) {
				t.Error("the count of tokens is gone")
			}
		}
		l := lease(a, mustAcquire(t, r, s, a).Token)
		r.do(t, "DEL", leaseKey)
		refused("gone before its time")
		if err := s.Release(r.ctx, l); !errors.Is(err, store.ErrNotHeld) {
			t.Fatalf("release of a deleted lease: %v", err)
		}
		seconds, err := strconv.ParseInt(r.do(t, "TIME").([]any)[0].(string), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		r.do(t, "HSET", "recount:{billing}:guard", "unsure", time.Unix(seconds, 0).Add(a.TTL/2).UnixMilli())
		refused("over, and perhaps not the last one")
		r.advance(t, a.TTL)
		if err := s.Retire(r.ctx, "billing"); err != nil {
			t.Error(err)
		}
	})
}

// What was lost of an election is not made new by retiring it: somebody may lead by a
// lease that the server does not know.
func TestRetireOfWhatWasLost(t *testing.T) {
	r := startOwn(t, &redis.Options{})
	s := r.open(t, Options{})
	mustAcquire(t, r, s, attempt("n1", "a"))
	r.do(t, "DEL", leaseKey, counterKey, "recount:{billing}:guard", "recount:{billing}:candidates", "recount:{billing}:terms")
	var held *store.HeldError
	if err := s.Retire(r.ctx, "billing"); !errors.As(err, &held) || held.Remaining <= 0 {
		t.Fatalf("retire of what was lost: %v", err)
	}
	mustWithhold(t, r, s, attempt("n2", "b"), "before its time")
}

// Another run of the server, or another server, does not know whether what it
// has is all that was granted. Nor does it after a renewal, which may be an old one.
func TestReplacedServerWithholds(t *testing.T) {
	r := startOwn(t, &redis.Options{})
	s := r.open(t, Options{})
	a := attempt("n1", "a")
	l := lease(a, mustAcquire(t, r, s, a).Token)
	replace := func() { r.do(t, "HSET", "recount:witness", "history", "another") }
	replace()
	if err := s.Renew(r.ctx, l); err != nil {
		t.Fatal(err)
	}
	mustRelease(t, r, s, l)
	b := attempt("n2", "b")
	mustWithhold(t, r, s, b, "promoted")
	r.advance(t, b.TTL)
	g := mustAcquire(t, r, s, b)
	l = lease(b, g.Token)
	replace()
	mustRelease(t, r, s, l)
	c := attempt("n3", "c")
	mustWithhold(t, r, s, c, "promoted")
	r.advance(t, c.TTL)
	if token := mustAcquire(t, r, s, c).Token; token <= g.Token {
		t.Errorf("token %d after %d from a count that may be an old one", token, g.Token)
	}
}

// Without protection nobody waits, and a token comes a second time: that is
// what the protection is for.
func TestUnprotected(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{Unprotected: true})
		first := mustAcquire(t, r, s, attempt("n1", "a")).Token
		r.do(t, "FLUSHALL")
		if second := mustAcquire(t, r, s, attempt("n2", "b")).Token; second != first {
			t.Fatalf("token %d, and after FLUSHALL %d", first, second)
		}
	})
}

// A lease that is handed over is the successor's alone for a time, and then
// anybody's.
func TestHandOver(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("n1", "a")
		l := lease(a, mustAcquire(t, r, s, a).Token)
		l.To, l.Reserve = "n2", time.Second
		mustRelease(t, r, s, l)
		mustWithhold(t, r, s, attempt("n3", "c"), "handed over")
		b := attempt("n2", "b")
		l = lease(b, mustAcquire(t, r, s, b).Token)
		mustRelease(t, r, s, l)
		mustAcquire(t, r, s, attempt("n3", "d")) // the reservation ended with the successor's grant
	})
}

// A hand-over whose time the server's clock has left behind, since it went back, lasts
// for a lease from when somebody asks, and not until the clock is there again.
func TestHandOverAfterTheClockWentBack(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a, b := attempt("n1", "a"), attempt("n3", "b")
		l := lease(a, mustAcquire(t, r, s, a).Token)
		l.To, l.Reserve = "n2", time.Second
		mustRelease(t, r, s, l)
		later, err := strconv.ParseInt(r.do(t, "TIME").([]any)[0].(string), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		r.do(t, "HSET", "recount:{billing}:guard", "reserved", (later+3600)*1000)
		mustWithhold(t, r, s, b, "handed over")
		r.advance(t, b.TTL)
		mustAcquire(t, r, s, b)
	})
}

// How long a lease may last, where the guard is lost too, its holder has said when it
// was heard of. Where that is lost as well, none lasts longer than who asks counts on.
func TestOverlongLeaseWithoutAGuard(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		for _, lasts := range []time.Duration{time.Minute, 3 * time.Minute} {
			r.do(t, "FLUSHALL")
			s := r.open(t, Options{})
			a := attempt("n1", "a")
			a.TTL = lasts
			mustAcquire(t, r, s, a)
			r.do(t, "DEL", "recount:{billing}:guard")
			if held := mustRefuse(t, r, s, attempt("n2", "b")); held.Repaired != "" || held.Remaining < lasts*9/10 {
				t.Errorf("a lease of %v: %+v", lasts, held)
			}
			r.do(t, "PEXPIRE", leaseKey, time.Hour.Milliseconds())
			if held := mustRefuse(t, r, s, attempt("n2", "c")); held.Repaired == "" || held.Remaining != lasts {
				t.Errorf("a lease of %v that lasts an hour: %+v", lasts, held)
			}
			r.do(t, "PEXPIRE", leaseKey, time.Hour.Milliseconds())
			r.do(t, "DEL", "recount:{billing}:candidates") // now nobody knows
			d := attempt("n2", "d")
			if held := mustRefuse(t, r, s, d); held.Repaired == "" || held.Remaining != d.TTL {
				t.Errorf("a lease of which nothing is known: %+v", held)
			}
		}
	})
}

// Candidates that come and go leave nothing behind, though none is ever refused.
func TestCandidatesAreForgotten(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		before := int64(0)
		for i := range 20_000 {
			a := attempt("n"+strconv.Itoa(i), "a")
			a.TTL = 200 * time.Millisecond
			mustRelease(t, r, s, lease(a, mustAcquire(t, r, s, a).Token))
			known, err := r.admin.HLen(r.ctx, "recount:{billing}:candidates").Result()
			if err != nil || known == 0 {
				t.Fatalf("%d candidates, %v", known, err)
			}
			if known < before {
				return
			}
			before = known
		}
		t.Errorf("%d candidates are remembered", before)
	})
}

// What the store notes for those who look: who competes, and past terms.
func TestCandidatesAndHistory(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a, b := attempt("n1", "a"), attempt("n2 with spaces", "b")
		b.Priority = -3
		l := lease(a, mustAcquire(t, r, s, a).Token)
		_ = mustRefuse(t, r, s, b)
		all, err := s.Candidates(r.ctx, "billing")
		if err != nil || len(all) != 2 || all[0].ID != "n1" || all[1].ID != b.ID || all[1].Priority != -3 || all[1].Seen > time.Minute {
			t.Fatalf("candidates %+v, %v", all, err)
		}
		mustRelease(t, r, s, l)
		second := mustAcquire(t, r, s, b).Token
		terms, err := s.History(r.ctx, "billing", 5)
		if err != nil || len(terms) != 2 {
			t.Fatalf("history %+v, %v", terms, err)
		}
		if last, first := terms[0], terms[1]; last.ID != b.ID || last.Token != second || !last.Ended.IsZero() ||
			first.ID != "n1" || first.Token != l.Token || first.Ended.Before(first.Began) || first.Began.IsZero() {
			t.Fatalf("history %+v", terms)
		}
		if terms, err := s.History(r.ctx, "billing", 1); err != nil || len(terms) != 1 || terms[0].Token != second {
			t.Fatalf("the last term: %+v, %v", terms, err)
		}
	})
}

// What candidates count on is looked at where the guard is lost, too: it is not only the
// last leader who may count on a shorter lease.
func TestLeasesDifferWhereTheGuardIsLost(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("n1", "a")
		mustAcquire(t, r, s, a)
		_ = mustRefuse(t, r, s, attempt("n2", "b")) // it counts on leases like that one
		r.do(t, "DEL", leaseKey, "recount:{billing}:guard")
		r.advance(t, a.TTL)
		long := attempt("n3", "c")
		long.TTL, long.Longest = 2*a.TTL, 2*a.TTL
		if held := mustRefuse(t, r, s, long); !strings.Contains(held.Withheld, "shorter") {
			t.Errorf("refused because %q, want because others count on shorter leases", held.Withheld)
		}
		d := attempt("n2", "d")
		d.Longest = long.TTL // as it was told
		mustAcquire(t, r, s, d)
	})
}
