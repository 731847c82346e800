package pgstore

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/recount-io/recount/elector/store"
)

func isFatal(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	var fatal *store.FatalError
	if !errors.As(err, &fatal) || fatal.Fix == "" {
		t.Errorf("%s: %v, want a FatalError that says what to do", what, err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %v; it does not say %q", what, err, w)
		}
	}
}

// Ten processes that begin at once all find the tables, made by one of them.
func TestMigrationByMany(t *testing.T) {
	for _, table := range []string{"", "apart.leases"} {
		d := open(t)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				s, err := New(d.pool(t, "postgres"), Options{Table: table})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Migrate(d.ctx); err != nil {
					t.Errorf("migrate %q: %v", table, err)
				}
				if err := s.Migrate(d.ctx); err != nil {
					t.Errorf("migrate %q again: %v", table, err)
				}
			})
		}
		all.Wait()
		d.acquire(t, d.store(t, Options{Table: table}), attemptOf("n1", "1"))
	}
}

// The statements for those who create the tables in another way are the same.
func TestSQL(t *testing.T) {
	d := open(t)
	s, err := New(d.admin, Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.do(t, "begin;"+s.SQL()+"commit")
	d.acquire(t, s, attemptOf("n1", "1"))
}

// What is missing is said at the first call, with what to run: tables, rights
// on each of them, on the schema.
func TestMissing(t *testing.T) {
	d := open(t)
	d.do(t, "drop role if exists worker")
	d.do(t, "create role worker login")
	t.Cleanup(func() { d.do(t, "drop owned by worker; drop role worker") })
	open := func() *Store {
		s, err := New(d.pool(t, "worker"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	_, err := s.Acquire(d.ctx, attemptOf("n1", "1"))
	isFatal(t, "no tables", err, "recount_lease", "worker", "Migrate")
	isFatal(t, "watch without tables", watchEnd(d.ctx, s, "billing"), "Migrate")
	isFatal(t, "migration without the right to", s.Migrate(d.ctx), "permission denied", "GRANT CREATE")
	made := d.store(t, Options{})
	if err := s.Migrate(d.ctx); err != nil {
		t.Errorf("a migration that has nothing to do: %v", err)
	}
	for _, grant := range []string{
		"select, insert on recount_lease", "update, delete on recount_lease",
		"select, insert, update, delete on recount_lease_candidate",
	} {
		_, err = s.Acquire(d.ctx, attemptOf("n1", "1"))
		isFatal(t, "before "+grant, err, "GRANT", "worker")
		d.do(t, "grant "+grant+" to worker")
	}
	d.do(t, "grant select, insert, update, delete on recount_lease_term to worker")
	l := d.acquire(t, s, attemptOf("n1", "1"))

	// What was there at first and is not any more is told by the statements.
	d.do(t, "revoke update on recount_lease from worker")
	isFatal(t, "a right that was taken away", s.Renew(d.ctx, l), "recount_lease", "SELECT, INSERT, UPDATE")
	d.do(t, "drop table recount_lease_term")
	_, err = made.Leader(d.ctx, "billing")
	isFatal(t, "a table that was dropped", errors.Join(err, tryAcquire(d, made)), "Migrate")
	if err := made.Migrate(d.ctx); err != nil {
		t.Error(err)
	}
	if _, err := made.Leader(d.ctx, "billing"); err != nil {
		t.Errorf("when it was made anew: %v", err)
	}
	d.do(t, "grant select, insert, update, delete on recount_lease_term to worker")
	d.do(t, "revoke usage on schema public from public; create schema apart; create table apart.leases (x int)")
	apart, err := New(d.pool(t, "worker"), Options{Table: "apart.leases"})
	if err != nil {
		t.Fatal(err)
	}
	isFatal(t, "no right on the schema", tryAcquire(d, apart), "USAGE on the schema")
}

func tryAcquire(d *database, s store.Store) error {
	_, err := s.Acquire(d.ctx, attemptOf("n9", "9"))
	return err
}

// A table of somebody else's, or of another version, is left alone.
func TestForeignTable(t *testing.T) {
	d := open(t)
	d.do(t, "create table recount_lease (x int)")
	s, err := New(d.admin, Options{})
	if err != nil {
		t.Fatal(err)
	}
	isFatal(t, "a migration over a foreign table", s.Migrate(d.ctx), "Options.Table")
	d.do(t, "drop table recount_lease")
	if err := s.Migrate(d.ctx); err != nil {
		t.Fatal(err)
	}
	d.do(t, "comment on table recount_lease is 'recount leases, version 99'")
	isFatal(t, "a later version", s.Migrate(d.ctx), "version 99")
	isFatal(t, "a later version", tryAcquire(d, s), "version 99")
	d.do(t, "comment on table recount_lease is '"+version+"'; alter table recount_lease_term set unlogged")
	isFatal(t, "an unlogged table", tryAcquire(d, s), "SET LOGGED")
}

// Tables that were made before leaders could publish values get their columns by a
// migration, and programs of that time go on with them: a value is nobody else's.
func TestTablesWithoutValues(t *testing.T) {
	d := open(t)
	s, err := New(d.admin, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(d.ctx); err != nil {
		t.Fatal(err)
	}
	d.do(t, "alter table recount_lease drop value, drop value_of, drop value_version")
	isFatal(t, "tables without values", tryAcquire(d, s), "Migrate")
	if err := s.Migrate(d.ctx); err != nil {
		t.Fatal(err)
	}
	a := attemptOf("n1", "1")
	a.Value, a.Version = "here", 1
	d.acquire(t, s, a)
	if l, err := s.Leader(d.ctx, a.Election); err != nil || l.Value != "here" {
		t.Errorf("the leader is %+v, %v", l, err)
	}
	d.do(t, "update recount_lease set id = 'n2', nonce = '2', token = token + 1 where election = $1", a.Election) // as such a program grants
	if l, err := s.Leader(d.ctx, a.Election); err != nil || l.ID != "n2" || l.Value != "" {
		t.Errorf("the next leader is %+v, %v", l, err)
	}
}

// A server that cannot be used at all is a fatal error at the first call.
func TestRefusedConnections(t *testing.T) {
	d := open(t)
	d.do(t, "drop role if exists limited")
	d.do(t, "create role limited login password 'right'")
	for _, c := range []struct{ url, word string }{
		{strings.Replace(d.server.url("limited", d.name), "limited@", "limited:wrong@", 1), "password"},
		{d.server.url("nobody_here", d.name), "user"},
		{d.server.url("postgres", "no_such_database"), "database"},
		{strings.Replace(d.url, "disable", "require", 1), "TLS"},
	} {
		rows, err := New(poolAt(t, c.url), Options{})
		if err != nil {
			t.Fatal(err)
		}
		sessions, err := NewSession(c.url, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sessions.Close)
		for _, s := range []store.Store{rows, sessions} {
			isFatal(t, c.url, tryAcquire(d, s), c.word)
			isFatal(t, c.url, watchEnd(d.ctx, s, "billing"), c.word)
		}
	}
}

// An elector on such a store ends at once, and does not try for ever.
func TestElectorEndsOnFatalErrors(t *testing.T) {
	d := open(t)
	s, err := New(d.admin, Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := electorOn(t, s, "n1", nil)
	isFatal(t, "no tables", e.Run(d.ctx), "Migrate")
}

// Mistakes in the options are told by their field.
func TestOptions(t *testing.T) {
	d := open(t)
	for _, o := range []Options{
		{Table: "Upper"}, {Table: "a.b.c"}, {Table: `x"; drop table y; --`}, {Table: strings.Repeat("x", 60)},
		{History: -1}, {TakeOverDeadSessions: true},
	} {
		if _, err := New(d.admin, o); err == nil || !strings.Contains(err.Error(), "Options.") {
			t.Errorf("%+v: %v, want the field", o, err)
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("no pool is as good as one")
	}
	if _, err := NewSession("port=high", Options{}); err == nil {
		t.Error("any connection string will do")
	}
	if _, err := NewSession(d.url, Options{Table: "Upper"}); err == nil {
		t.Error("any table will do")
	}
	if _, err := NewSessionConfig(nil, Options{}); err == nil {
		t.Error("no configuration is as good as one")
	}
	for _, table := range []string{"user", "pg.order"} { // words of SQL
		d.acquire(t, d.store(t, Options{Table: strings.Replace(table, "pg.", "apart.", 1)}), attemptOf("n1", "1"))
	}
}

// Every statement that is not the server's fault reaches it whole.
func TestStatementsAreComplete(t *testing.T) {
	s, err := newStatements("apart.leases")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		s.schema, s.acquire, s.renew, s.release, s.leader, s.candidates, s.history, s.retire, s.verify,
		s.lock, s.unlock, s.wait, s.prove, s.orphan, s.channel, s.preflight, s.place, s.nameless.schema, s.nameless.acquire,
	} {
		if text == "" || strings.ContainsAny(text, "{") && !strings.Contains(text, "'{}'") || strings.Contains(text, "--") || strings.Contains(text, "now()") {
			t.Errorf("a statement is not filled in, has comments, or asks for the time of the transaction's start: %s", text)
		}
	}
}
