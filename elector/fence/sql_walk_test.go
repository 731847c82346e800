package fence

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/recount-io/recount/elector/internal/guardtest"
	cases "github.com/recount-io/recount/internal/drawn"
)

// connections are programs sqlite3 on one database, of which each has one transaction
// at a time.
type connections struct {
	t     *testing.T
	path  string
	guard SQL
	idle  []*sqlite
}

// sqliteTx is a transaction of SQLite.
type sqliteTx struct {
	*connections
	db *sqlite
}

var _ guardtest.Transaction = (*sqliteTx)(nil)

// begin begins a transaction on a connection that has none.
func (c *connections) begin() *sqliteTx {
	tx := &sqliteTx{connections: c}
	if n := len(c.idle); n > 0 {
		tx.db, c.idle = c.idle[n-1], c.idle[:n-1]
	} else {
		tx.db = connectSQLite(c.t, c.path)
	}
	tx.db.execute(c.t, "BEGIN")
	return tx
}

// Check implements guardtest.Transaction.
func (x *sqliteTx) Check(token uint64, resource string) error {
	return x.guard.Check(x.t.Context(), x.db, token, resource)
}

// Write implements guardtest.Transaction.
func (x *sqliteTx) Write(row guardtest.Row) error {
	_, err := x.db.run(fmt.Sprintf("INSERT INTO ledger (resource, token, value) VALUES ('%s', '%d', '%s')", row.Resource, row.Token, row.Value))
	return err
}

// End implements guardtest.Transaction.
func (x *sqliteTx) End(commit bool) error {
	x.idle = append(x.idle, x.db)
	end := "ROLLBACK"
	if commit {
		end = "COMMIT"
	}
	_, err := x.db.run(end)
	return err
}

// Kill implements guardtest.Transaction.
func (x *sqliteTx) Kill() error {
	if err := x.db.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = x.db.cmd.Wait() // it was killed
	return nil
}

// Cancel implements guardtest.Transaction: nobody waits.
func (x *sqliteTx) Cancel() {}

// Waits implements guardtest.Transaction.
func (x *sqliteTx) Waits() (bool, error) { return false, nil }

// Whatever transactions on SQLite overlap, roll back and die with their processes, each
// token is admitted or refused as what was committed says. A failure names the number
// of its walk.
func TestDrawnSQLite(t *testing.T) {
	first, n, err := cases.Cases(4, 2)
	if err != nil {
		t.Fatal(err)
	}
	for number := first; number < first+n; number++ {
		t.Run("walk", func(t *testing.T) { walkSQLite(t, number) })
	}
}

func walkSQLite(t *testing.T, number uint64) {
	all := &connections{t: t, path: filepath.Join(t.TempDir(), "db"), guard: SQL{Dialect: SQLite}}
	db := connectSQLite(t, all.path)
	db.execute(t, all.guard.schema())
	db.execute(t, "CREATE TABLE ledger (n integer PRIMARY KEY, resource text, token text, value text)")
	guardtest.Walk{
		Suite: suite, Begin: func(int) guardtest.Transaction { return all.begin() },
		Busy:    func(err error) bool { return strings.Contains(err.Error(), "database is locked") },
		Ledger:  func() ([]guardtest.Row, error) { return ledgerOf(db) },
		Highest: func(resource string) (uint64, error) { return all.guard.Highest(t.Context(), db, resource) },
	}.Run(walked{t, number}, number)
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

// ledgerOf are the rows of the ledger, in their order.
func ledgerOf(db *sqlite) (rows []guardtest.Row, err error) {
	lines, err := db.run("SELECT resource, token, value FROM ledger ORDER BY n")
	for _, line := range lines {
		fields := strings.SplitN(line, "|", 3)
		token, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			return nil, err
		}
		rows = append(rows, guardtest.Row{Resource: fields[0], Token: token, Value: fields[2]})
	}
	return rows, err
}
