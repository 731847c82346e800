package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
)

// electorOn makes an elector whose lease is short enough to wait for, and long
// enough for a busy machine.
func electorOn(t testing.TB, s store.Store, id string, change func(*elector.Config)) *elector.Elector {
	t.Helper()
	cfg := elector.Config{
		Election: "billing", ID: id, Lease: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		OnStarted: func(ctx context.Context, _ *elector.Term) { <-ctx.Done() },
	}
	if change != nil {
		change(&cfg)
	}
	e, err := elector.New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// campaigner is an elector that runs and tells of its terms.
type campaigner struct {
	*elector.Elector
	terms   chan *elector.Term
	stopped chan elector.Reason
	stop    func()
}

func (d *database) campaign(t testing.TB, s store.Store, id string, change func(*elector.Config)) *campaigner {
	t.Helper()
	c := &campaigner{terms: make(chan *elector.Term, 100), stopped: make(chan elector.Reason, 100)}
	c.Elector = electorOn(t, s, id, func(cfg *elector.Config) {
		cfg.OnStarted = func(ctx context.Context, term *elector.Term) {
			c.terms <- term
			<-ctx.Done()
		}
		cfg.OnStopped = func(_ *elector.Term, why elector.Reason) { c.stopped <- why }
		if change != nil {
			change(cfg)
		}
	})
	ctx, cancel := context.WithCancel(d.ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	c.stop = func() {
		cancel()
		if err := receive(t, "end", ended); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with %v", id, err)
		}
		ended <- nil
	}
	t.Cleanup(c.stop)
	return c
}

// gate is a store that its elector cannot reach any more once it is shut.
type gate struct {
	store.Store
	shut atomic.Bool
}

var errShut = errors.New("cut off")

func (g *gate) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if g.shut.Load() {
		return store.Grant{}, errShut
	}
	return g.Store.Acquire(ctx, a)
}

func (g *gate) Renew(ctx context.Context, l store.Lease) error {
	if g.shut.Load() {
		return errShut
	}
	return g.Store.Renew(ctx, l)
}

func (g *gate) Release(ctx context.Context, l store.Lease) error {
	if g.shut.Load() {
		return errShut
	}
	return g.Store.Release(ctx, l)
}

// A leader that stops renewing is replaced when its term has ended,
// and the next token is larger.
func TestCrashOfTheLeader(t *testing.T) {
	for _, v := range variants[:2] { // the third one's promise is another
		t.Run(v.name, func(t *testing.T) {
			d := open(t)
			cut := &gate{Store: v.open(t, d)}
			first := d.campaign(t, cut, "n1", nil)
			one := receive(t, "first term", first.terms)
			second := d.campaign(t, v.open(t, d), "n2", nil)
			d.until(t, "select exists (select from recount_lease_candidate where id like 'n2%')")
			cut.shut.Store(true)
			two := receive(t, "second term", second.terms)
			if first.IsLeader() || one.Check(0) == nil {
				t.Error("two lead at one time")
			}
			if two.Token() <= one.Token() {
				t.Errorf("token %d after %d", two.Token(), one.Token())
			}
			if why := receive(t, "reason", first.stopped); why != event.ReasonExpired {
				t.Errorf("the first term ended because %s", why)
			}
		})
	}
}

// A leader that resigns is replaced at once, long before any lease is over:
// the others are told.
func TestHandOverNoticesByAnnouncement(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		d := open(t)
		long := func(cfg *elector.Config) { cfg.Lease = time.Hour }
		first := d.campaign(t, v.open(t, d), "n1", long)
		one := receive(t, "first term", first.terms)
		second := d.campaign(t, v.open(t, d), "n2", long)
		d.until(t, "select exists (select from recount_lease_candidate where id like 'n2%')")
		d.until(t, "select count(*) = 2 from pg_stat_activity where datname = current_database() and (query ilike 'listen%' or query ilike 'select l.token%')")
		first.stop()
		if two := receive(t, "second term", second.terms); two.Token() <= one.Token() {
			t.Errorf("token %d after %d", two.Token(), one.Token())
		}
	})
}

// A crash of the leader's process, seen by the server as the end of its
// connections, is a matter of moments for those who chose so.
func TestCrashIsNoticedByTheSession(t *testing.T) {
	d := open(t)
	o := Options{TakeOverDeadSessions: true}
	long := func(cfg *elector.Config) { cfg.Lease = time.Hour }
	first := d.campaign(t, d.sessions(t, o), "n1", long)
	receive(t, "first term", first.terms)
	second := d.campaign(t, d.sessions(t, o), "n2", long)
	d.until(t, "select exists (select from recount_lease_candidate where id like 'n2%')")
	d.kill(t)
	receive(t, "second term", second.terms)
}

// However often sessions are ended under their leaders, no two lead
// at one time: who is granted the lease waits for the row as well.
func TestEndedSessionsNeverMakeTwoLeaders(t *testing.T) {
	d := open(t)
	terms := make(chan *elector.Term, 100)
	for range 4 {
		d.campaign(t, d.sessions(t, Options{}), "n", func(cfg *elector.Config) {
			cfg.Lease = time.Second
			cfg.OnStarted = func(ctx context.Context, term *elector.Term) {
				terms <- term
				<-ctx.Done()
			}
		})
	}
	var past []*elector.Term
	for len(past) < 5 {
		term := receive(t, "term", terms)
		for _, earlier := range past {
			if earlier.Check(0) == nil {
				t.Errorf("the term of token %d goes on while that of token %d has begun", earlier.Token(), term.Token())
			}
			if earlier.Token() >= term.Token() {
				t.Errorf("token %d after %d", term.Token(), earlier.Token())
			}
		}
		past = append(past, term)
		d.kill(t)
	}
}

// A restart of the server under a leader costs the term only if it is tied to
// a session. In both cases the election goes on, with larger tokens.
func TestServerRestarts(t *testing.T) {
	own := startOwn(t)
	for _, v := range variants[:2] {
		t.Run(v.name, func(t *testing.T) {
			d := own.database(t)
			renewed := make(chan uint64, 1000)
			c := d.campaign(t, v.open(t, d), "n1", func(cfg *elector.Config) {
				cfg.Lease = 20 * time.Second
				cfg.Renew = 200 * time.Millisecond
				cfg.OnEvent = func(e elector.Event) {
					if e.Kind == event.Extended {
						renewed <- e.Token
					}
				}
			})
			one := receive(t, "term", c.terms)
			receive(t, "renewal", renewed)
			own.stop()
			if err := own.start(); err != nil {
				t.Fatal(err)
			}
			d.admin.Reset()
			for len(renewed) > 0 {
				<-renewed
			}
			if v.name == "rows" {
				if token := receive(t, "renewal after the restart", renewed); token != one.Token() || one.Check(0) != nil {
					t.Errorf("token %d after %d; the term: %v", token, one.Token(), one.Check(0))
				}
				return
			}
			if why := receive(t, "reason", c.stopped); why != event.ReasonSuperseded {
				t.Errorf("the term ended because %s", why)
			}
			c.stop()
			d.do(t, "update recount_lease set until = clock_timestamp()") // rather than wait for it
			e := d.campaign(t, v.open(t, d), "n2", nil)
			if two := receive(t, "next term", e.terms); two.Token() <= one.Token() {
				t.Errorf("token %d after %d", two.Token(), one.Token())
			}
		})
	}
}

// A lease outlives the primary that granted it, if the standby that takes over
// is one that commits wait for: a renewal goes on, and nobody else is granted
// the lease. Until the standby is promoted it is no reason to give up.
func TestFailoverToSynchronousStandby(t *testing.T) {
	primary := startOwn(t)
	standby, err := primary.newStandby()
	need(t, err)
	t.Cleanup(func() {
		standby.stop()
		_ = os.RemoveAll(standby.folder)
	})
	d := primary.database(t)
	d.do(t, "alter system set synchronous_standby_names = '*'")
	d.do(t, "select pg_reload_conf()")
	// Not every process of the server knows at once: without its standby a
	// commit has to be seen to wait.
	standby.stop()
	for waits := false; !waits; {
		done := make(chan error, 1)
		go func() {
			_, err := d.admin.Exec(d.ctx, "create table if not exists x (); drop table x")
			done <- err
		}()
		for len(done) == 0 && !waits {
			waits = get[bool](t, d, "select exists (select from pg_stat_activity where wait_event = 'SyncRep')")
		}
		if waits {
			need(t, standby.start())
		}
		if err := receive(t, "commit", done); err != nil {
			t.Fatal(err)
		}
	}

	both := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable&target_session_attrs=read-write", primary.port, standby.port, d.name)
	s, err := New(poolAt(t, both), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(d.ctx); err != nil {
		t.Fatal(err)
	}
	l := d.acquire(t, s, attemptOf("n1", "1"))
	primary.crash()

	there := &database{server: standby, name: d.name, url: standby.url("postgres", d.name), ctx: d.ctx}
	// Commits wait until the standby has them on disk, not until it shows them.
	shown := &database{server: standby, admin: poolAt(t, standby.url("postgres", "postgres")), ctx: d.ctx}
	shown.until(t, "select pg_last_wal_replay_lsn() >= pg_last_wal_receive_lsn()")
	there.admin = there.pool(t, "postgres")
	alone, err := New(there.admin, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var fatal *store.FatalError
	if err := alone.Renew(d.ctx, l); err == nil || errors.As(err, &fatal) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("a renewal at a standby: %v", err)
	}
	if f := found(there.preflight(t, alone), "pg_is_in_recovery"); f.Severity != store.SeverityError {
		t.Errorf("a preflight at a standby: %+v", f)
	}
	there.do(t, "select pg_promote()")
	for err = errors.New("not tried"); err != nil; {
		if err = s.Renew(d.ctx, l); errors.Is(err, store.ErrNotHeld) || d.ctx.Err() != nil {
			t.Fatalf("the renewal after the failover: %v", err)
		}
	}
	if held := there.refused(t, s, attemptOf("n2", "2")); held.Holder != "n1" || held.Token != l.Token {
		t.Errorf("another candidate is told %+v", held)
	}
}
