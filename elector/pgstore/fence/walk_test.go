package fence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/elector/internal/guardtest"
	"github.com/recount-io/recount/internal/drawn"
)

// checker checks a token in a transaction: the guard of a table of its own, or of a
// column.
type checker func(ctx context.Context, tx fence.SQLTx, token uint64, resource string) error

// walks are transactions on one database.
type walks struct {
	t      *testing.T
	db     *sql.DB
	pool   *pgxpool.Pool
	guard  fence.SQL
	check  checker
	insert string // into the ledger
}

// session is the server's process of a transaction, and what they all have in common.
type session struct {
	*walks
	ctx    context.Context
	cancel context.CancelFunc
	broken bool // its connection is of no use any more
	pid    int
	rows   func(row guardtest.Row) error
	end    func(commit bool) error
	leave  func()
}

// Write implements guardtest.Transaction.
func (s *session) Write(row guardtest.Row) error { return s.rows(row) }

// Cancel implements guardtest.Transaction.
func (s *session) Cancel() {
	s.broken = true
	s.cancel()
}

// End implements guardtest.Transaction. What was given up may have lost its connection.
func (s *session) End(commit bool) error {
	defer s.leave()
	if err := s.end(commit); commit {
		return err
	}
	return nil
}

// Waits implements guardtest.Transaction.
func (s *session) Waits() (waits bool, err error) {
	err = s.db.QueryRowContext(s.t.Context(), "SELECT coalesce(max(wait_event_type), '') = 'Lock' FROM pg_stat_activity WHERE pid = $1", s.pid).Scan(&waits)
	return waits, err
}

// Kill implements guardtest.Transaction.
func (s *session) Kill() error {
	defer s.leave()
	s.broken = true
	if _, err := s.db.ExecContext(s.t.Context(), "SELECT pg_terminate_backend($1)", s.pid); err != nil {
		return err
	}
	for lives := true; lives; {
		if err := s.db.QueryRowContext(s.t.Context(), "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = $1", s.pid).Scan(&lives); err != nil {
			return err
		}
	}
	_ = s.end(false) // there is nobody to hear it
	return nil
}

// newSession is one that nobody uses yet.
func (w *walks) newSession() *session {
	ctx, cancel := context.WithCancel(w.t.Context())
	return &session{walks: w, ctx: ctx, cancel: cancel}
}

// begin begins a transaction of the nth kind.
func (w *walks) begin(n int) guardtest.Transaction {
	switch n % 3 {
	case 0:
		return w.beginPgx()
	case 1:
		return w.beginDo()
	default:
		return w.beginSQL()
	}
}

// checkedTx is a transaction that is checked by its guard.
type checkedTx struct {
	*session
	tx fence.SQLTx
}

// Check implements guardtest.Transaction.
func (c checkedTx) Check(token uint64, resource string) error {
	return c.check(c.ctx, c.tx, token, resource)
}

func (w *walks) beginSQL() guardtest.Transaction {
	s := w.newSession()
	conn := w.connect(s)
	tx, err := conn.BeginTx(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	s.rows = func(row guardtest.Row) error {
		_, err := tx.ExecContext(w.t.Context(), w.insert, row.Resource, strconv.FormatUint(row.Token, 10), row.Value)
		return err
	}
	s.end = func(commit bool) error {
		if commit {
			return tx.Commit()
		}
		return tx.Rollback()
	}
	return checkedTx{s, tx}
}

// connect gives the session a connection of its own, until it leaves.
func (w *walks) connect(s *session) *sql.Conn {
	conn, err := w.db.Conn(w.t.Context())
	if err == nil {
		err = conn.QueryRowContext(w.t.Context(), "SELECT pg_backend_pid()").Scan(&s.pid)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	s.leave = func() {
		s.cancel()
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // it may be broken
		_ = conn.Close()                                           // it is
	}
	return conn
}

func (w *walks) beginPgx() guardtest.Transaction {
	s := w.newSession()
	tx, err := w.pool.Begin(w.t.Context())
	if err == nil {
		err = tx.QueryRow(w.t.Context(), "SELECT pg_backend_pid()").Scan(&s.pid)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	s.leave = s.cancel
	s.rows = func(row guardtest.Row) error {
		_, err := tx.Exec(w.t.Context(), w.insert, row.Resource, strconv.FormatUint(row.Token, 10), row.Value)
		return err
	}
	s.end = func(commit bool) error {
		if commit {
			return tx.Commit(w.t.Context())
		}
		return tx.Rollback(w.t.Context())
	}
	return checkedTx{s, fence.PgxTx(tx)}
}

// done is a transaction that SQL.Do makes: its write waits to be told what to do.
type done struct {
	*session
	conn   *sql.Conn
	tx     chan *sql.Tx
	ends   chan error // the write returns it
	result chan error
}

var errRollback = errors.New("the write fails")

func (w *walks) beginDo() guardtest.Transaction {
	d := &done{session: w.newSession(), tx: make(chan *sql.Tx), ends: make(chan error), result: make(chan error, 1)}
	d.conn = w.connect(d.session)
	return d
}

// Check implements guardtest.Transaction: it returns when the write begins, or Do does.
func (d *done) Check(token uint64, resource string) error {
	go func() {
		d.result <- d.guard.Do(d.ctx, d.conn, nil, token, resource, func(tx *sql.Tx) error {
			d.tx <- tx
			return <-d.ends
		})
	}()
	select {
	case tx := <-d.tx:
		d.rows = func(row guardtest.Row) error {
			_, err := tx.ExecContext(d.t.Context(), d.insert, row.Resource, strconv.FormatUint(row.Token, 10), row.Value)
			return err
		}
		d.end = func(commit bool) error {
			if commit {
				d.ends <- nil
				return <-d.result
			}
			d.ends <- errRollback
			if err := <-d.result; !errors.Is(err, errRollback) {
				d.t.Errorf("the write's error became %v", err)
			}
			return nil
		}
		return nil
	case err := <-d.result:
		d.end = func(bool) error { return nil } // it has
		return err
	}
}

// Whatever transactions overlap, roll back, are killed and given up, by database/sql, pgx
// and SQL.Do, each token is admitted or refused as what was committed says. A failure
// names the number of its walk.
func TestDrawnPostgres(t *testing.T) {
	first, n, err := drawn.Cases(3, 1)
	if err != nil {
		t.Fatal(err)
	}
	for number := first; number < first+n; number++ {
		t.Run("table", func(t *testing.T) { walkTable(t, number) })
		t.Run("column", func(t *testing.T) { walkColumn(t, number) })
	}
}

func walkTable(t *testing.T, number uint64) {
	db, guard := openPostgres(t)
	w := &walks{t: t, db: db, pool: openPool(t), guard: guard, check: guard.Check}
	guardtest.Walk{
		Suite: suite, Begin: w.begin, Ledger: w.ledger(guard.Table),
		Highest: func(resource string) (uint64, error) { return guard.Highest(t.Context(), db, resource) },
	}.Run(walked{t, number}, number)
}

func walkColumn(t *testing.T, number uint64) {
	db, guard := openPostgres(t)
	column := fence.Column{Table: guard.Table + "_rows", Key: "id", Dialect: fence.PostgreSQL}
	execute(t, db, "CREATE TABLE "+column.Table+" (id text PRIMARY KEY, x bigint NOT NULL DEFAULT 0, fence numeric(20,0))")
	execute(t, db, "INSERT INTO "+column.Table+" (id) VALUES ('walk0'), ('walk1')")
	w := &walks{t: t, db: db, pool: openPool(t), check: func(ctx context.Context, tx fence.SQLTx, token uint64, resource string) error {
		return column.Update(ctx, tx, token, resource, "x = x + $1", 1)
	}}
	guardtest.Walk{
		Suite: suite, Ledger: w.ledger(column.Table),
		Begin: func(n int) guardtest.Transaction {
			if n%2 == 0 {
				return w.beginPgx()
			}
			return w.beginSQL()
		},
	}.Run(walked{t, number}, number)
}

// ledger makes a table for what is written, and returns what reads it.
func (w *walks) ledger(table string) func() ([]guardtest.Row, error) {
	table += "_walk"
	execute(w.t, w.db, "CREATE TABLE "+table+" (n bigserial PRIMARY KEY, resource text NOT NULL, token text NOT NULL, value text NOT NULL)")
	w.insert = "INSERT INTO " + table + " (resource, token, value) VALUES ($1, $2, $3)"
	return func() (rows []guardtest.Row, err error) {
		all, err := w.db.QueryContext(w.t.Context(), "SELECT resource, token, value FROM "+table+" ORDER BY n")
		if err != nil {
			return nil, err
		}
		defer func() { _ = all.Close() }() // Err says what was wrong
		for all.Next() {
			var row guardtest.Row
			var token string
			if err := all.Scan(&row.Resource, &token, &row.Value); err != nil {
				return nil, err
			}
			if row.Token, err = strconv.ParseUint(token, 10, 64); err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		return rows, all.Err()
	}
}

// walked names the walk of a failure.
type walked struct {
	*testing.T
	number uint64
}

func (w walked) Errorf(format string, args ...any) {
	w.Helper()
	w.T.Errorf("case %d: walk: "+format, append([]any{w.number}, args...)...)
}
