package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
)

// watchEnd watches until the watch ends, and returns why.
func watchEnd(ctx context.Context, s store.Store, election string) error {
	ended := make(chan error, 1)
	s.Watch(ctx, election, func(store.Hint) {}, func(err error) { ended <- err })
	return <-ended
}

// changes passes the hints on that tell of a change.
func changes(hints chan<- store.Hint) func(store.Hint) {
	return func(h store.Hint) {
		if h.Kind != store.HintListening {
			hints <- h
		}
	}
}

// watching starts a watch and waits until it listens.
func (d *database) watching(t *testing.T, s store.Store) (hints chan store.Hint, ended chan error, cancel context.CancelFunc) {
	t.Helper()
	hints, ended = make(chan store.Hint, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(d.ctx)
	s.Watch(ctx, "billing", changes(hints), func(err error) { ended <- err })
	t.Cleanup(func() {
		cancel()
		d.until(t, "select not exists (select from pg_stat_activity where datname = current_database() and query ilike 'listen%')")
	})
	d.until(t, "select exists (select from pg_stat_activity where datname = current_database() and state = 'idle' and query ilike 'listen%')")
	return hints, ended, cancel
}

// Grants and releases are announced with all that a waiting candidate wants to
// know, and nothing else is taken for an announcement.
func TestHints(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	hints, _, _ := d.watching(t, s)
	l := d.acquire(t, s, attemptOf("n1", "1"))
	_ = d.refused(t, s, attemptOf("n2", "2"))
	if h := receive(t, "hint", hints); h != (store.Hint{Kind: store.HintGranted, Token: l.Token, Remaining: time.Minute}) {
		t.Errorf("hint %+v", h)
	}
	channel := get[string](t, d, s.sql.channel, channelOf("billing"))
	for _, foreign := range []string{"", "hello", "granted x 1 1 billing", "granted 9 1 1 other", "released 9 1 1 billing2 n1"} {
		d.do(t, "select pg_notify($1, $2)", channel, foreign)
	}
	l.To, l.Reserve = "n2", 3*time.Second
	if err := s.Release(d.ctx, l); err != nil {
		t.Fatal(err)
	}
	if h := receive(t, "hint", hints); h != (store.Hint{Kind: store.HintReleased, Token: l.Token, Remaining: 3 * time.Second, Waiters: 1, To: "n2"}) {
		t.Errorf("hint %+v", h)
	}
}

// A watch whose connection hangs is noticed, and one that is cut as well.
func TestWatchBreaksOff(t *testing.T) {
	d := open(t)
	p := d.server.proxy(t)
	for name, disturb := range map[string]func(){"hangs": p.freeze, "cut": p.cut} {
		t.Run(name, func(t *testing.T) {
			s, err := New(poolAt(t, p.url(d.name)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Migrate(d.ctx); err != nil {
				t.Fatal(err)
			}
			s.pingEvery, s.patience = 100*time.Millisecond, time.Second
			_, ended, _ := d.watching(t, s)
			disturb()
			var fatal *store.FatalError
			if err := receive(t, "end", ended); err == nil || errors.As(err, &fatal) || errors.Is(err, context.Canceled) {
				t.Errorf("the watch ended with %v", err)
			}
			p.thaw()
			p.cut()
		})
	}
}

// A watch goes on as long as the server answers, however little happens.
func TestSilenceIsNoHang(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	s.pingEvery = 20 * time.Millisecond
	hints, ended := make(chan store.Hint, 1000), make(chan error, 1)
	ctx, cancel := context.WithCancel(d.ctx)
	s.Watch(ctx, "billing", changes(hints), func(err error) { ended <- err })
	for i := 0; len(hints) == 0 && len(ended) == 0; i++ { // until it listens
		if err := s.Release(d.ctx, d.acquire(t, s, attemptOf("n1", strconv.Itoa(i)))); err != nil {
			t.Fatal(err)
		}
	}
	var last time.Time
	for range 3 {
		const pings = " from pg_stat_activity where datname = current_database() and query ilike '-- ping%'"
		d.until(t, "select exists (select"+pings+" and query_start > $1)", last)
		last = get[time.Time](t, d, "select coalesce(max(query_start), now())"+pings)
	}
	l := d.acquire(t, s, attemptOf("n1", "last"))
	for h := (store.Hint{}); h.Kind != store.HintGranted || h.Token != l.Token; {
		h = receive(t, "hint", hints)
	}
	cancel()
	if err := receive(t, "end", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
}

// A watch opens its connection as the pool does, and takes none of the pool's.
func TestWatchConnectsAsThePoolDoes(t *testing.T) {
	d := open(t)
	watcher := "watcher_of_" + d.name
	d.do(t, "create role "+watcher+" login superuser")
	cfg := d.admin.Config()
	cfg.MaxConns = 1
	cfg.BeforeConnect = func(_ context.Context, to *pgx.ConnConfig) error {
		to.User = watcher // a token that is renewed, say
		return nil
	}
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "set application_name = 'as the pool'")
		return err
	}
	cfg.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {} // the program's own
	pool := poolOf(t, cfg)
	s, err := New(pool, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(d.ctx); err != nil {
		t.Fatal(err)
	}
	hints, _, _ := d.watching(t, s)
	if n := get[int](t, d, "select count(*) from pg_stat_activity where application_name = 'as the pool' and usename = $1 and query ilike 'listen%'", watcher); n != 1 {
		t.Errorf("%d watches as the pool would open them, want 1", n)
	}
	l := d.acquire(t, s, attemptOf("n1", "1")) // by the pool's only connection
	if h := receive(t, "hint", hints); h.Token != l.Token {
		t.Errorf("hint %+v", h)
	}
}

// Whatever somebody else announces, tokens stay as small as they were, and after one hand-over
// the others take no longer than usual.
func TestForgedAnnouncements(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	const lease = 6 * time.Second
	slow := func(cfg *elector.Config) { cfg.Lease = lease }
	one := d.campaign(t, s, "n1", slow)
	_ = receive(t, "term", one.terms)
	two := d.campaign(t, s, "n2", slow)
	d.until(t, "select count(*) = 2 from pg_stat_activity where datname = current_database() and state = 'idle' and query ilike 'listen%'")
	channel := get[string](t, d, s.sql.channel, channelOf("billing"))
	for _, token := range []uint64{0, 1, 2, 1 << 53, 1<<62 - 1, 1 << 62, 1<<62 + 1, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		for _, kind := range []string{"granted", "released"} {
			d.do(t, "select pg_notify($1, $2)", channel, fmt.Sprintf("%s %d -9223372036854775808 9223372036854775807 billing n2", kind, token))
			d.do(t, "select pg_notify($1, $2)", channel, fmt.Sprintf("%s %d 9223372036854775807 9223372036854775807 billing", kind, token))
		}
	}
	var took time.Duration
	for i := range 5 {
		d.until(t, "select count(*) = 2 from recount_lease_candidate")
		began := time.Now()
		if err := one.Transfer(d.ctx, two.ID()); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			took += time.Since(began)
		}
		if term := receive(t, "term", two.terms); term.Token() > 1<<53 {
			t.Errorf("token %d, and there were %d terms", term.Token(), i+2)
		}
		one, two = two, one
	}
	if took > lease {
		t.Errorf("four hand-overs after the first one took %v", took)
	}
}
