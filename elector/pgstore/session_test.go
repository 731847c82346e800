package pgstore

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recount-io/recount/elector/store"
)

const holders = "select split_part(session, '-', 1)::int from recount_lease where election = 'billing'"

// kill ends the session of the billing election's holder, as an operator does.
func (d *database) kill(t testing.TB) {
	t.Helper()
	d.do(t, "select pg_terminate_backend(("+holders+"), 10000)")
}

// A holder whose session was ended learns of that at its next renewal. Others wait
// until its term is certainly over.
func TestSessionEnds(t *testing.T) {
	d := open(t)
	s, other := d.sessions(t, Options{}), d.sessions(t, Options{})
	l := d.acquire(t, s, attemptOf("n1", "1"))
	if err := s.Renew(d.ctx, l); err != nil {
		t.Fatal(err)
	}
	d.kill(t)
	held := d.refused(t, other, attemptOf("n2", "2"))
	if held.Holder != "n1" || held.Remaining < 50*time.Second {
		t.Errorf("another candidate is told %+v, want the rest of a minute", held)
	}
	if err := s.Renew(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("the renewal: %v, want ErrNotHeld", err)
	}
	if err := s.Renew(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("the second renewal: %v, want ErrNotHeld", err)
	}
	// A holder whose term is over gives the rest back, session or not.
	if err := s.Release(d.ctx, l); err != nil {
		t.Errorf("the release: %v", err)
	}
	if next := d.acquire(t, other, attemptOf("n2", "2")); next.Token <= l.Token {
		t.Errorf("token %d after %d", next.Token, l.Token)
	}
}

// With the choice for it, a dead session's lease is taken over at once, and
// those who wait are woken by nobody but their own looks.
func TestDeadSessionIsTakenOver(t *testing.T) {
	d := open(t)
	o := Options{TakeOverDeadSessions: true}
	s, other := d.sessions(t, o), d.sessions(t, o)
	hints := make(chan store.Hint, 100)
	ctx, cancel := context.WithCancel(d.ctx)
	ended := make(chan error, 1)
	l := d.acquire(t, s, attemptOf("n1", "1"))
	other.Watch(ctx, "billing", changes(hints), func(err error) { ended <- err })
	const looks = " from pg_stat_activity where datname = current_database() and query ilike 'select l.token%' and pid <> pg_backend_pid()"
	var last time.Time
	for range 3 {
		d.until(t, "select exists (select"+looks+" and query_start > $1)", last)
		last = get[time.Time](t, d, "select query_start"+looks)
	}
	if len(hints) > 0 {
		t.Errorf("the session lives, and yet the watch says %+v", <-hints)
	}
	if held := d.refused(t, other, attemptOf("n2", "2")); held.Holder != "n1" {
		t.Errorf("a living session's lease: %+v", held)
	}
	d.kill(t)
	if h := receive(t, "hint", hints); h.Kind != store.HintReleased || h.Token != l.Token {
		t.Errorf("hint %+v", h)
	}
	next := d.acquire(t, other, attemptOf("n2", "2"))
	if next.Token <= l.Token {
		t.Errorf("token %d after %d", next.Token, l.Token)
	}
	if err := s.Renew(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("the old holder's renewal: %v, want ErrNotHeld", err)
	}
	if err := s.Release(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("the old holder's release: %v, want ErrNotHeld", err)
	}
	cancel()
	_ = receive(t, "end", ended)
}

// A holder that is cut off without a word loses its session to the server's
// own timer, so its lock does not outlive the lease.
func TestServerEndsSilentSessions(t *testing.T) {
	d := open(t)
	p := d.server.proxy(t)
	s, other := d.sessionsAt(t, p.url(d.name), Options{}), d.sessions(t, Options{})
	a := attemptOf("n1", "1")
	a.TTL = 400 * time.Millisecond
	l := d.acquire(t, s, a)
	process := get[int](t, d, holders)
	p.freeze()
	d.until(t, "select not exists (select from pg_stat_activity where pid = $1)", process)
	if early := get[bool](t, d, "select clock_timestamp() < until from recount_lease where election = 'billing'"); early {
		t.Errorf("the session was ended before the lease")
	}
	if next := d.acquire(t, other, attemptOf("n2", "2")); next.Token <= l.Token {
		t.Errorf("token %d after %d", next.Token, l.Token)
	}
}

// An attempt that finds the row free and the lock taken waits a moment for the
// session to end, rather than be refused just before it does.
func TestAttemptWaitsForTheSession(t *testing.T) {
	d := open(t)
	s := d.sessions(t, Options{})
	conn, err := d.admin.Acquire(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for i := range 50 { // a slow machine may take longer than such a moment
		var taken bool
		var process int64
		var settings string
		if err := conn.QueryRow(d.ctx, s.rows.sql.lock, plain, "billing", int64(60000)).Scan(&taken, &process, &settings); err != nil || !taken {
			t.Fatalf("taken %v, error %v", taken, err)
		}
		answer := make(chan error, 1)
		go func() {
			_, err := s.Acquire(d.ctx, attemptOf("n1", strconv.Itoa(i)))
			answer <- err
		}()
		for len(answer) == 0 && !get[bool](t, d, "select exists (select from pg_stat_activity where datname = current_database() and wait_event = 'advisory')") {
		}
		if _, err := conn.Exec(d.ctx, s.rows.sql.unlock, plain, "billing"); err != nil {
			t.Fatal(err)
		}
		err := receive(t, "answer", answer)
		var held *store.HeldError
		switch {
		case err == nil:
			return
		case !errors.As(err, &held) || held.Withheld == "":
			t.Fatalf("the answer is %v", err)
		}
	}
	t.Error("the attempt was refused fifty times")
}

// When the server's clock jumps ahead the row says that the lease is over. The
// session says that it is not, and that counts.
func TestClockAheadIsNotEnough(t *testing.T) {
	d := open(t)
	s, other := d.sessions(t, Options{}), d.sessions(t, Options{})
	l := d.acquire(t, s, attemptOf("n1", "1"))
	d.do(t, "update recount_lease set until = clock_timestamp() - interval '1 second'")
	held := d.refused(t, other, attemptOf("n2", "2"))
	if held.Withheld == "" || held.Remaining <= 0 {
		t.Errorf("another candidate is told %+v, want that the lease is withheld", held)
	}
	if err := s.Renew(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("the renewal of a lease that is over by the row: %v", err)
	}
	d.until(t, "select not exists (select from pg_locks where locktype = 'advisory')")
	d.acquire(t, other, attemptOf("n2", "2"))
}

// A renewal that waits for longer than its caller does not cost the session:
// the next one finds it alive.
func TestSlowRenewalKeepsTheSession(t *testing.T) {
	d := open(t)
	s := d.sessions(t, Options{})
	l := d.acquire(t, s, attemptOf("n1", "1"))
	tx, err := d.admin.Begin(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(d.ctx, "select from recount_lease for update"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(d.ctx)
	renewed := make(chan error, 1)
	go func() { renewed <- s.Renew(ctx, l) }()
	d.until(t, "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')")
	cancel()
	if err := receive(t, "answer", renewed); !errors.Is(err, context.Canceled) {
		t.Errorf("the renewal that was given up: %v", err)
	}
	if err := tx.Commit(d.ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Renew(d.ctx, l); err != nil {
		t.Errorf("the next renewal: %v", err)
	}
}

// Somebody who makes the session give up its lock ends the lease.
func TestRenewalProvesTheLock(t *testing.T) {
	d := open(t)
	s := d.sessions(t, Options{})
	l := d.acquire(t, s, attemptOf("n1", "1"))
	h := s.holding(attempt{"billing", "n1", "1"})
	if _, err := h.conn.Exec(d.ctx, "select pg_advisory_unlock_all()"); err != nil {
		t.Fatal(err)
	}
	if err := s.Renew(d.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("the renewal without the lock: %v, want ErrNotHeld", err)
	}
}

// An attempt whose answer was lost gets its token again, once its first
// session is over, and no other attempt does.
func TestAttemptIsRepeatedInAnotherSession(t *testing.T) {
	d := open(t)
	s, again := d.sessions(t, Options{}), d.sessions(t, Options{})
	a := attemptOf("n1", "1")
	l := d.acquire(t, s, a)
	if _, err := again.Acquire(d.ctx, a); err == nil {
		t.Error("two sessions hold the lock")
	} else if held := (*store.HeldError)(nil); errors.As(err, &held) {
		t.Errorf("the attempt is refused because of itself: %v", err)
	}
	s.Close()
	d.until(t, "select not exists (select from pg_locks where locktype = 'advisory')")
	if second := d.acquire(t, again, a); second.Token != l.Token {
		t.Errorf("token %d, want %d again", second.Token, l.Token)
	}
	if err := again.Renew(d.ctx, l); err != nil {
		t.Errorf("the renewal in the new session: %v", err)
	}
}

// Both stores share tokens and say who leads; a lease without a session is not
// over because nobody has the lock.
func TestBothStoresTogether(t *testing.T) {
	d := open(t)
	rows, sessions := d.store(t, Options{}), d.sessions(t, Options{TakeOverDeadSessions: true})
	one := d.acquire(t, rows, attemptOf("n1", "1"))
	if held := d.refused(t, sessions, attemptOf("n2", "2")); held.Holder != "n1" {
		t.Errorf("refused by %+v", held)
	}
	if err := rows.Release(d.ctx, one); err != nil {
		t.Fatal(err)
	}
	two := d.acquire(t, sessions, attemptOf("n2", "2"))
	if held := d.refused(t, rows, attemptOf("n1", "3")); held.Holder != "n2" || held.Token != two.Token {
		t.Errorf("refused by %+v", held)
	}
	if two.Token != one.Token+1 {
		t.Errorf("token %d after %d", two.Token, one.Token)
	}
	for _, s := range []store.Store{rows, sessions} {
		if l, err := s.Leader(d.ctx, "billing"); err != nil || l.ID != "n2" || l.Token != two.Token {
			t.Errorf("%+v leads, error %v", l, err)
		}
		if list, err := s.(store.CandidateLister).Candidates(d.ctx, "billing"); err != nil || len(list) != 2 || list[1].ID != "n2" {
			t.Errorf("candidates %+v, error %v", list, err)
		}
		if list, err := s.(store.TermLister).History(d.ctx, "billing", 9); err != nil || len(list) != 2 || list[0].ID != "n2" {
			t.Errorf("terms %+v, error %v", list, err)
		}
	}
	var held *store.HeldError
	if err := sessions.Retire(d.ctx, "billing"); !errors.As(err, &held) || held.Holder != "n2" {
		t.Errorf("retiring a held election: %v", err)
	}
}

// A session store does not work through a pooler, and says so at once.
func TestPoolerIsRefused(t *testing.T) {
	d := open(t)
	p := d.server.proxy(t, otherProcess)
	s := d.sessionsAt(t, p.url(d.name), Options{})
	var fatal *store.FatalError
	if _, err := s.Acquire(d.ctx, attemptOf("n1", "1")); !errors.As(err, &fatal) {
		t.Errorf("acquired through a pooler: %v, want a FatalError", err)
	}
	d.until(t, "select not exists (select from pg_locks where locktype = 'advisory')")
}

// A store that is closed gives everything back to the server.
func TestClose(t *testing.T) {
	d := open(t)
	cfg, err := pgx.ParseConfig(d.url)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSessionConfig(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(d.ctx); err != nil {
		t.Fatal(err)
	}
	d.acquire(t, s, attemptOf("n1", "1"))
	s.Close()
	d.until(t, "select not exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query like '%recount%')")
}

// A session that nobody renews or releases ends by itself on this side too.
func TestForgottenSession(t *testing.T) {
	d := open(t)
	s := d.sessions(t, Options{})
	a := attemptOf("n1", "1")
	a.TTL = 200 * time.Millisecond
	d.acquire(t, s, a)
	for s.holding(attempt{"billing", "n1", "1"}) != nil {
		d.until(t, "select true")
	}
}

// The server ends a session that is silent for as long as its lease lasts now, not for
// as long as it lasted first: a lock for a job is granted for hours, and renewed for
// what is left of them.
func TestSilenceEndsWithTheLease(t *testing.T) {
	d := open(t)
	s := d.sessions(t, Options{})
	a := attemptOf("n1", "1")
	a.TTL = time.Hour
	l := d.acquire(t, s, a)
	for _, ttl := range []time.Duration{3 * time.Second, 20 * time.Second, 60 * 24 * time.Hour} {
		l.TTL = ttl
		need(t, s.Renew(d.ctx, l))
		h := s.holding(attempt{a.Election, a.ID, a.Nonce})
		var silence int64
		err := h.do(d.ctx, time.Minute, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, "select setting::bigint from pg_settings where name = 'idle_session_timeout'").Scan(&silence)
		})
		if want := min(ttl.Milliseconds(), 1<<31-1); err != nil || silence != want {
			t.Errorf("renewed for %v, the session may be silent for %d ms, %v; want %d", ttl, silence, err, want)
		}
	}
}
