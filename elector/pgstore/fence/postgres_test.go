// Package fence_test has the tests of elector/fence that need PostgreSQL and its
// drivers, which the module of that package must not.
package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/elector/internal/guardtest"
	"github.com/recount-io/recount/internal/topology"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.Stop()
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// shared is the PostgreSQL of all tests; it is started by the first that needs
// it, and each test makes its own tables.
var shared struct {
	once   sync.Once
	server *topology.Postgres
	err    error
	tables int
}

// postgresURL starts the server, or skips the test where there is none.
func postgresURL(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = topology.StartPostgres() })
	if errors.Is(shared.err, topology.ErrNoPostgres) {
		t.Skip(shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.URL
}

// openPostgres is a database, and a guard with a table of its own in it.
func openPostgres(t testing.TB) (*sql.DB, fence.SQL) {
	t.Helper()
	db, err := sql.Open("pgx", postgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	shared.tables++
	guard := fence.SQL{Table: fmt.Sprintf("fence_%d", shared.tables), Dialect: fence.PostgreSQL}
	schema, err := guard.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is there
		execute(t, db, schema)
	}
	return db, guard
}

func execute(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func openPool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), postgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func wantStale(t *testing.T, err error, token, highest uint64) {
	t.Helper()
	var stale *fence.StaleError
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Token: token, Highest: highest}) {
		t.Errorf("%v, want token %d refused for %d", err, token, highest)
	}
}

// ledger is a table that records in which order transactions wrote: a serial
// number is drawn behind the check.
func ledger(t *testing.T, db *sql.DB, guard fence.SQL) string {
	t.Helper()
	name := guard.Table + "_ledger"
	execute(t, db, "CREATE TABLE "+name+" (n bigserial PRIMARY KEY, resource text NOT NULL DEFAULT 'r', token numeric(20,0) NOT NULL)")
	return name
}

// wantOrder fails if a resource has a smaller token after a larger one in the
// ledger.
func wantOrder(t *testing.T, db *sql.DB, ledger string, atLeast int) {
	t.Helper()
	var rows, wrong int
	err := db.QueryRowContext(t.Context(), "SELECT count(*), count(*) FILTER (WHERE token < before) FROM (SELECT token, lag(token) OVER (PARTITION BY resource ORDER BY n) AS before FROM "+ledger+") AS l").Scan(&rows, &wrong)
	if err != nil || wrong > 0 || rows < atLeast {
		t.Errorf("%d of %d rows have a smaller token than the one before, want none of at least %d; %v", wrong, rows, atLeast, err)
	}
}

// transaction is one of a leader's, by some driver.
type transaction struct {
	check func(token uint64, resource string) error
	write func(token uint64, resource string) error // into the ledger
	end   func(commit bool) error
}

// drivers begin transactions that the guard keeps in order.
func drivers(t *testing.T, db *sql.DB, guard fence.SQL, ledger string) map[string]func() transaction {
	pool := openPool(t)
	insert := "INSERT INTO " + ledger + " (token, resource) VALUES ($1, $2)"
	return map[string]func() transaction{
		"database/sql": func() transaction {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tx.Rollback() }) // nothing, if it has ended
			return transaction{
				check: func(token uint64, resource string) error { return guard.Check(t.Context(), tx, token, resource) },
				write: func(token uint64, resource string) error {
					_, err := tx.ExecContext(t.Context(), insert, token, resource)
					return err
				},
				end: func(commit bool) error {
					if commit {
						return tx.Commit()
					}
					return tx.Rollback()
				},
			}
		},
		"pgx": func() transaction {
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // as above
			return transaction{
				check: func(token uint64, resource string) error {
					return guard.Check(t.Context(), fence.PgxTx(tx), token, resource)
				},
				write: func(token uint64, resource string) error {
					_, err := tx.Exec(t.Context(), insert, token, resource)
					return err
				},
				end: func(commit bool) error {
					if commit {
						return tx.Commit(t.Context())
					}
					return tx.Rollback(t.Context())
				},
			}
		},
	}
}

// finish is the rest of a leader's transaction: check, write, commit. What is
// refused is rolled back.
func (tx transaction) finish(token uint64, resource string) error {
	err := tx.check(token, resource)
	if err == nil {
		err = tx.write(token, resource)
	}
	return errors.Join(err, tx.end(err == nil))
}

// blocked waits until a session of the server waits for another one.
func blocked(t *testing.T, db *sql.DB, ended <-chan error) {
	t.Helper()
	for {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("it did not wait, and returned %v", err)
		default:
		}
		if n > 0 {
			return
		}
	}
}

// Of two transactions that overlap, whatever driver they use, the one that was
// checked later waits for the other, whether the token that is checked first is
// new or known; it then writes behind it, or is refused; and what was rolled
// back was never seen.
func TestSQLKeepsTransactionsInOrder(t *testing.T) {
	db, guard := openPostgres(t)
	table := ledger(t, db, guard)
	all := drivers(t, db, guard, table)
	for one, first := range all {
		for other, second := range all {
			for _, c := range guardtest.Overlaps {
				resource := fmt.Sprint(one, " before ", other, ": ", c)
				if c.Known > 0 {
					if err := guard.Check(t.Context(), db, c.Known, resource); err != nil {
						t.Fatal(err)
					}
				}
				former, ended := first(), make(chan error, 1)
				if err := former.check(c.First, resource); err != nil {
					t.Fatalf("%s: %v", resource, err)
				}
				later := second()
				go func() { ended <- later.finish(c.Second, resource) }()
				blocked(t, db, ended)
				if err := errors.Join(former.write(c.First, resource), former.end(c.Commit)); err != nil {
					t.Fatalf("%s: %v", resource, err)
				}
				if err := <-ended; c.Stale {
					wantStale(t, err, c.Second, c.First)
				} else if err != nil {
					t.Errorf("%s: %v", resource, err)
				}
			}
		}
	}
	wantOrder(t, db, table, 4*len(guardtest.Overlaps))
}

// Many transactions that are all open before the first of them is checked: in
// the order in which they wrote, tokens never decrease, also where the row of
// the resource is not there yet; and the largest is not refused.
func TestSQLManyLeadersAtOnce(t *testing.T) {
	db, guard := openPostgres(t)
	table := ledger(t, db, guard)
	all := slices.Collect(maps.Values(drivers(t, db, guard, table)))
	for round := range 10 {
		resource := fmt.Sprint("r", round%5) // each twice, with larger tokens
		var open []transaction
		for worker := range 6 {
			open = append(open, all[worker%2]())
		}
		var group sync.WaitGroup
		for worker, tx := range open {
			group.Go(func() {
				var stale *fence.StaleError
				token := uint64(10*round + worker + 1)
				if err := tx.finish(token, resource); err != nil && (!errors.As(err, &stale) || worker == 5) {
					t.Errorf("token %d: %v", token, err)
				}
			})
		}
		group.Wait()
		if highest, err := guard.Highest(t.Context(), db, resource); err != nil || highest != uint64(10*round+6) {
			t.Errorf("the highest token is %d, %v", highest, err)
		}
	}
	wantOrder(t, db, table, 10)
}

// With a snapshot of before, a former leader's check does not pass by mistake:
// it is a serialization failure, and refused when it is repeated.
func TestSQLCheckWithAnOldSnapshot(t *testing.T) {
	db, guard := openPostgres(t)
	if err := guard.Check(t.Context(), db, 1, "r"); err != nil {
		t.Fatal(err)
	}
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := guard.Highest(t.Context(), tx, "r"); err != nil { // takes the snapshot
			t.Fatal(err)
		}
		highest := uint64(level) * 10
		if err := guard.Check(t.Context(), db, highest, "r"); err != nil {
			t.Fatal(err)
		}
		if err := guard.Check(t.Context(), tx, highest-1, "r"); err == nil || !strings.Contains(err.Error(), "40001") {
			t.Errorf("%v: %v, want a serialization failure", level, err)
		}
		_ = tx.Rollback() // it is aborted
		err = guard.Do(t.Context(), db, &sql.TxOptions{Isolation: level}, highest-1, "r", func(*sql.Tx) error { return nil })
		wantStale(t, err, highest-1, highest)
	}
}

// Do undoes the writes when they fail or panic, keeps a refused leader's from
// being made, and tells an unknown outcome from a known one.
func TestSQLDo(t *testing.T) {
	db, guard := openPostgres(t)
	table := ledger(t, db, guard)
	insert := func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), "INSERT INTO "+table+" (token) VALUES (1)")
		return err
	}
	failure := errors.New("no credit")
	err := guard.Do(t.Context(), db, nil, 5, "r", func(tx *sql.Tx) error { return errors.Join(insert(tx), failure) })
	if !errors.Is(err, failure) {
		t.Errorf("the write's error became %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = guard.Do(t.Context(), db, nil, 5, "r", func(tx *sql.Tx) error { _ = insert(tx); panic("bug") })
	}()
	if highest, err := guard.Highest(t.Context(), db, "r"); err != nil || highest != 0 {
		t.Errorf("what was rolled back left token %d, %v", highest, err)
	}
	if err := guard.Do(t.Context(), db, nil, 6, "r", insert); err != nil {
		t.Error(err)
	}
	wantStale(t, guard.Do(t.Context(), db, nil, 5, "r", func(*sql.Tx) error { t.Error("written with a stale token"); return nil }), 5, 6)
	ctx, cancel := context.WithCancel(t.Context())
	err = guard.Do(ctx, db, nil, 6, "r", func(*sql.Tx) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) && !errors.Is(err, sql.ErrTxDone) || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("a commit that failed: %v", err)
	}
	err = guard.Do(t.Context(), db, &sql.TxOptions{Isolation: sql.LevelSerializable}, 7, "r", func(tx *sql.Tx) error {
		var level string
		if err := tx.QueryRowContext(t.Context(), "SHOW transaction_isolation").Scan(&level); err != nil || level != "serializable" {
			t.Errorf("the transaction is %q, %v", level, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	wantOrder(t, db, table, 1)
	var rows int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows were written, %v, want the one that was committed", rows, err)
	}
}
