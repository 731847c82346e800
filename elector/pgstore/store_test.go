package pgstore

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/store"
)

func attemptOf(id, nonce string) store.Attempt {
	return store.Attempt{Election: "billing", ID: id, Nonce: nonce, TTL: time.Minute}
}

func leaseOf(a store.Attempt, token uint64) store.Lease {
	return store.Lease{Election: a.Election, ID: a.ID, Nonce: a.Nonce, Token: token, TTL: a.TTL}
}

// acquire demands a grant, and returns its lease.
func (d *database) acquire(t testing.TB, s store.Store, a store.Attempt) store.Lease {
	t.Helper()
	g, err := s.Acquire(d.ctx, a)
	if err != nil {
		t.Fatalf("acquire by %s: %v", a.ID, err)
	}
	return leaseOf(a, g.Token)
}

// refused demands a refusal.
func (d *database) refused(t testing.TB, s store.Store, a store.Attempt) *store.HeldError {
	t.Helper()
	_, err := s.Acquire(d.ctx, a)
	var held *store.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("acquire by %s: %v, want a HeldError", a.ID, err)
	}
	return held
}

// Twenty candidates at once: never two holders, and every token is larger than
// the one before it.
func TestNeverTwoHolders(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		d := open(t)
		s := v.open(t, d)
		const candidates, rounds = 20, 60
		var holders, terms atomic.Int32
		var last uint64 // only a holder touches it
		var all sync.WaitGroup
		for i := range candidates {
			id := "n" + strconv.Itoa(i)
			all.Go(func() {
				for n := 0; terms.Load() < rounds && d.ctx.Err() == nil; n++ {
					a := attemptOf(id, id+"/"+strconv.Itoa(n))
					g, err := s.Acquire(d.ctx, a)
					if err != nil {
						var held *store.HeldError
						if !errors.As(err, &held) && !errors.Is(err, errRestless) && d.ctx.Err() == nil {
							t.Errorf("acquire: %v", err)
						}
						continue
					}
					if holders.Add(1) != 1 {
						t.Errorf("two hold the lease at once")
					}
					if g.Token <= last {
						t.Errorf("token %d after %d", g.Token, last)
					}
					last = g.Token
					holders.Add(-1)
					terms.Add(1)
					if err := s.Release(d.ctx, leaseOf(a, g.Token)); err != nil {
						t.Errorf("release: %v", err)
					}
				}
			})
		}
		all.Wait()
		if terms.Load() < rounds {
			t.Errorf("only %d terms in a minute", terms.Load())
		}
	})
}

// A renewal that had to wait for the row until its lease was over does not
// revive it, although the transaction that locked the row changed nothing.
func TestRenewalThatWaitedTooLong(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	a := attemptOf("n1", "1")
	a.TTL = 500 * time.Millisecond
	l := d.acquire(t, s, a)
	tx, err := d.admin.Begin(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(d.ctx, "select from recount_lease for update"); err != nil {
		t.Fatal(err)
	}
	renewed := make(chan error, 1)
	go func() { renewed <- s.Renew(d.ctx, l) }()
	d.until(t, "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')")
	d.until(t, "select clock_timestamp() > until from recount_lease where election = 'billing'")
	if err := tx.Commit(d.ctx); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, "answer", renewed); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("the renewal of a lease that was over: %v, want ErrNotHeld", err)
	}
}

// Renewals and repeated attempts of one lease at the same time all succeed:
// each one finds the row as the one before it left it.
func TestRepeatedAttemptsBesideRenewals(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	a := attemptOf("n1", "1")
	l := d.acquire(t, s, a)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				if i%2 == 0 {
					if err := s.Renew(d.ctx, l); err != nil {
						t.Errorf("renew: %v", err)
					}
				} else if g, err := s.Acquire(d.ctx, a); err != nil || g.Token != l.Token {
					t.Errorf("the repeated attempt got token %d, error %v", g.Token, err)
				}
			}
		})
	}
	all.Wait()
}

// A lease that lasts longer than any lease, because the server's clock was set
// back or somebody edited the row, is cut down to the time of one, and said so.
func TestEndlessLeaseIsRepaired(t *testing.T) {
	for _, until := range []string{"'infinity'", "clock_timestamp() + interval '1 hour'"} {
		d := open(t)
		s := d.store(t, Options{})
		l := d.acquire(t, s, attemptOf("n1", "1"))
		d.do(t, "update recount_lease set until = "+until)
		if leader, err := s.Leader(d.ctx, "billing"); err != nil || leader.ID != "n1" {
			t.Errorf("%+v leads, error %v", leader, err)
		}
		held := d.refused(t, s, attemptOf("n2", "2"))
		if held.Repaired == "" || held.Remaining > time.Minute || held.Remaining < 50*time.Second {
			t.Errorf("until %s: %+v, want a repair to a minute", until, held)
		}
		if again := d.refused(t, s, attemptOf("n2", "2")); again.Repaired != "" {
			t.Errorf("repaired twice: %q", again.Repaired)
		}
		if err := s.Renew(d.ctx, l); err != nil {
			t.Errorf("the holder's renewal after the repair: %v", err)
		}
	}
}

// A lease that is handed over is withheld from everybody but the successor, for the
// time of the reservation.
func TestHandOver(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		d := open(t)
		s := v.open(t, d)
		l := d.acquire(t, s, attemptOf("n1", "1"))
		l.To, l.Reserve = "n2", time.Minute
		if err := s.Release(d.ctx, l); err != nil {
			t.Fatal(err)
		}
		held := d.refused(t, s, attemptOf("n3", "3"))
		if held.Withheld == "" || held.Holder != "" || held.Remaining <= 0 || held.Remaining > time.Minute {
			t.Errorf("another one was told %+v", held)
		}
		next := d.acquire(t, s, attemptOf("n2", "2"))
		if err := s.Release(d.ctx, next); err != nil {
			t.Fatal(err)
		}
		last := d.acquire(t, s, attemptOf("n3", "4")) // nothing is reserved any more
		last.To, last.Reserve = "n2", time.Minute
		if err := s.Release(d.ctx, last); err != nil {
			t.Fatal(err)
		}
		d.do(t, "update recount_lease set reserved = clock_timestamp() - interval '1 second'")
		d.acquire(t, s, attemptOf("n3", "5")) // the successor did not come
	})
}

// Tokens go on when somebody deletes the row of an election.
func TestTokensOutliveTheirRow(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	a := attemptOf("n1", "1")
	a.Floor = 41
	l := d.acquire(t, s, a)
	d.do(t, "delete from recount_lease where election = 'billing'")
	if err := s.Renew(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("the renewal of a deleted lease: %v", err)
	}
	if next := d.acquire(t, s, attemptOf("n2", "2")); next.Token != 43 {
		t.Errorf("token %d after 42", next.Token)
	}
}

// A token that has no successor is told to people: nothing else can help. A
// release is for good, whatever the clock does afterwards.
func TestEndsOfWhatTheServerCanCount(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	l := d.acquire(t, s, attemptOf("n1", "1"))
	if err := s.Release(d.ctx, l); err != nil {
		t.Fatal(err)
	}
	if !get[bool](t, d, "select until = '-infinity' from recount_lease where election = 'billing'") {
		t.Error("a clock that goes back revives a lease that was released")
	}
	d.do(t, "update recount_lease set token = 9223372036854775807 where election = 'billing'")
	isFatal(t, "no larger token", tryAcquire(d, s), "token")
}

// Past terms are remembered, the last ones of each election, with their ends.
func TestHistory(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{History: 3})
	for i := range 5 {
		a := attemptOf("n"+strconv.Itoa(i), "1")
		l := d.acquire(t, s, a)
		d.acquire(t, s, a) // repeated: no further term
		if i < 4 {
			if err := s.Release(d.ctx, l); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := s.History(d.ctx, "billing", 10)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d terms are remembered, error %v", len(list), err)
	}
	for i, term := range list {
		if term.Token != uint64(5-i) || term.ID != "n"+strconv.Itoa(4-i) || term.Began.IsZero() || term.Ended.IsZero() != (i == 0) {
			t.Errorf("term %d: %+v", i, term)
		}
	}
	if list, err := s.History(d.ctx, "billing", 1); err != nil || len(list) != 1 || list[0].Token != 5 {
		t.Errorf("the last term is %+v, error %v", list, err)
	}
}

// Live candidates are those who asked within two leases, and the holder.
func TestCandidates(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	first := attemptOf("n1", "1")
	first.Priority = 7
	l := d.acquire(t, s, first)
	_ = d.refused(t, s, attemptOf("n2", "2"))
	d.advance(t, 50*time.Second)
	if err := s.Renew(d.ctx, l); err != nil {
		t.Fatal(err)
	}
	if held := d.refused(t, s, attemptOf("n3", "3")); held.Waiters != 1 {
		t.Errorf("%d waiters are told of, want n2", held.Waiters)
	}
	names := func() string {
		t.Helper()
		list, err := s.Candidates(d.ctx, "billing")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, c := range list {
			b.WriteString(c.ID + ":" + strconv.Itoa(c.Priority) + ":" + strconv.Itoa(int(c.Seen.Minutes()*60/10)) + " ")
		}
		return b.String()
	}
	if got := names(); got != "n1:7:0 n2:0:5 n3:0:0 " {
		t.Errorf("candidates, priorities and tens of seconds: %s", got)
	}
	d.do(t, "update recount_lease_candidate set seen = seen - interval '80 seconds' where id <> 'n3'")
	if got := names(); got != "n1:7:0 n3:0:0 " {
		t.Errorf("after 130 s of silence: %s", got)
	}
	if err := s.Release(d.ctx, l); err != nil {
		t.Fatal(err)
	}
	if got := names(); got != "n3:0:0 " {
		t.Errorf("after the release: %s", got)
	}
	d.do(t, "update recount_lease_candidate set seen = seen - interval '1 hour' where id = 'n2'")
	d.acquire(t, s, attemptOf("n3", "4"))
	if n := get[int](t, d, "select count(*) from recount_lease_candidate"); n != 1 {
		t.Errorf("%d candidates are kept, want the live one", n)
	}
}

// An election that is retired leaves nothing behind, one that is held is not
// retired.
func TestRetire(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	if err := s.Retire(d.ctx, "billing"); err != nil {
		t.Errorf("retiring what never was: %v", err)
	}
	l := d.acquire(t, s, attemptOf("n1", "1"))
	var held *store.HeldError
	if err := s.Retire(d.ctx, "billing"); !errors.As(err, &held) || held.Holder != "n1" {
		t.Errorf("retiring a held election: %v", err)
	}
	if err := s.Release(d.ctx, l); err != nil {
		t.Fatal(err)
	}
	if err := s.Retire(d.ctx, "billing"); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"recount_lease", "recount_lease_candidate", "recount_lease_term"} {
		if n := get[int](t, d, "select count(*) from "+table+" where election <> ''"); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

// What the server cannot keep is refused before it is sent, and says what to do.
func TestUnusableValues(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	for _, change := range []func(*store.Attempt){
		func(a *store.Attempt) { a.Election = "" },
		func(a *store.Attempt) { a.ID = "a\x00b" },
		func(a *store.Attempt) { a.Nonce = "\xff" },
		func(a *store.Attempt) { a.TTL = 1500 * time.Microsecond },
		func(a *store.Attempt) { a.Floor = math.MaxInt64 },
	} {
		a := attemptOf("n1", "1")
		change(&a)
		var fatal *store.FatalError
		if _, err := s.Acquire(d.ctx, a); !errors.As(err, &fatal) || fatal.Fix == "" {
			t.Errorf("%+v: %v, want a FatalError", a, err)
		}
	}
	l := leaseOf(attemptOf("n1", "1"), math.MaxUint64)
	if err := s.Renew(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("a token that no lease has: %v", err)
	}
}
