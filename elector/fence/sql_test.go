package fence

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/recount-io/recount/elector/internal/guardtest"
)

// sqlite is a connection to a database in a file: a program sqlite3 that is
// asked statement by statement. There is no driver among our modules, and the
// statements are what is tested.
type sqlite struct {
	ask    io.Writer
	answer *bufio.Scanner
	cmd    *exec.Cmd
}

// openSQLite is a connection to a new database, with the guard's table in it.
func openSQLite(t testing.TB) (*sqlite, SQL) {
	t.Helper()
	db, guard := connectSQLite(t, filepath.Join(t.TempDir(), "db")), SQL{Dialect: SQLite}
	schema, err := guard.Schema()
	if err != nil {
		t.Fatal(err)
	}
	db.execute(t, schema)
	return db, guard
}

func connectSQLite(t testing.TB, path string) *sqlite {
	t.Helper()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 on PATH: its half is not tested here")
	}
	cmd := exec.Command(program, "-batch", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(in.Close(), cmd.Wait()) }) // it says what was wrong when it is asked
	return &sqlite{in, bufio.NewScanner(out), cmd}
}

// run executes a statement, and returns the lines that it prints.
func (s *sqlite) run(statement string, args ...any) ([]string, error) {
	var script bytes.Buffer
	script.WriteString(".parameter clear\n")
	for i, arg := range args {
		fmt.Fprintf(&script, ".parameter set ?%d \"'%s'\"\n", i+1, strings.ReplaceAll(fmt.Sprint(arg), "'", "''"))
	}
	fmt.Fprintf(&script, "%s;\n.print the end\n", statement)
	if _, err := s.ask.Write(script.Bytes()); err != nil {
		return nil, err
	}
	var lines []string
	for s.answer.Scan() {
		if s.answer.Text() == "the end" {
			if said := strings.Join(lines, "\n"); strings.Contains(said, "rror") { // "Runtime error near line 5: …"
				return nil, errors.New("sqlite3: " + said)
			}
			return lines, nil
		}
		lines = append(lines, s.answer.Text())
	}
	return nil, fmt.Errorf("sqlite3 has ended: %s", strings.Join(lines, "\n"))
}

func (s *sqlite) execute(t testing.TB, statement string) {
	t.Helper()
	if _, err := s.run(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (s *sqlite) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	if _, err := s.run(query, args...); err != nil {
		return nil, err
	}
	lines, err := s.run("SELECT changes()")
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(strings.Join(lines, " "), 10, 64)
	return affected(n), err
}

func (s *sqlite) queryRow(_ context.Context, query string, args ...any) row {
	lines, err := s.run(query, args...)
	if err == nil && len(lines) == 1 {
		return printed{lines[0], nil}
	}
	return printed{"", errors.Join(err, sql.ErrNoRows)}
}

type printed struct {
	text string
	err  error
}

func (p printed) Scan(dest ...any) error {
	if p.err != nil {
		return p.err
	}
	return dest[0].(*sql.NullString).Scan(p.text)
}

// What cannot be guarded is refused, with the field's name, before anything is
// executed.
func TestSQLRefusesWhatItCannotGuard(t *testing.T) {
	var closed sql.DB // would panic
	good := SQL{Dialect: PostgreSQL}
	for _, c := range []struct {
		guard    SQL
		tx       SQLTx
		resource string
		want     string
	}{
		{SQL{}, &closed, "r", "SQL.Dialect"},
		{SQL{Dialect: 4}, &closed, "r", "Dialect(4)"},
		{SQL{Dialect: MySQL, Table: "a;b"}, &closed, "r", "SQL.Table"},
		{SQL{Dialect: MySQL, Table: "a.b.c"}, &closed, "r", "SQL.Table"},
		{good, &closed, "", "1 to 255"},
		{good, &closed, strings.Repeat("x", 256), "1 to 255"},
		{good, &closed, "\xff", "UTF-8"},
		{good, &closed, "a\x00b", "NUL"},
		{good, blind{}, "r", "QueryRowContext"},
	} {
		if err := c.guard.Check(t.Context(), c.tx, 1, c.resource); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v of %.20q: %v, want it to name %s", c.guard, c.resource, err, c.want)
		}
	}
	if err := good.Check(t.Context(), &closed, 0, "r"); !errors.Is(err, ErrNoToken) {
		t.Errorf("token 0: %v", err)
	}
	if _, err := (SQL{Table: "no table", Dialect: SQLite}).Schema(); err == nil {
		t.Error("a table of two words has a schema")
	}
	column := Column{Table: "t", Key: "id", Dialect: PostgreSQL}
	for _, c := range []struct {
		change func(*Column)
		want   string
	}{
		{func(c *Column) { c.Table = "" }, "Column.Table"},
		{func(c *Column) { c.Key = "a b" }, "Column.Key"},
		{func(c *Column) { c.Fence = "'" }, "Column.Fence"},
		{func(c *Column) { c.Dialect = 0 }, "Column.Dialect"},
	} {
		bad := column
		c.change(&bad)
		if err := bad.Update(t.Context(), &closed, 1, 1, "x = 1"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want it to name %s", bad, err, c.want)
		}
	}
	if err := column.Update(t.Context(), &closed, 0, 1, "x = 1"); !errors.Is(err, ErrNoToken) {
		t.Errorf("token 0: %v", err)
	}
}

// blind can execute, but not read.
type blind struct{}

func (blind) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	panic("executed")
}

// The statements of each dialect are what was reviewed. There is no MySQL here
// to try its own on.
func TestStatements(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{SQL{Dialect: MySQL}.schema(), "CREATE TABLE IF NOT EXISTS fence (resource varbinary(255) NOT NULL PRIMARY KEY, token bigint unsigned NOT NULL) ENGINE=InnoDB"},
		{SQL{Dialect: MySQL}.upsert(), "INSERT INTO fence (resource, token) VALUES (?, CAST(? AS UNSIGNED)) ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))"},
		{SQL{Dialect: MySQL}.query(true), "SELECT CAST(token AS CHAR) FROM fence WHERE resource = ? FOR UPDATE"},
		{SQL{Dialect: PostgreSQL, Table: "a.f"}.upsert(), "INSERT INTO a.f AS f (resource, token) VALUES ($1, $2::numeric) ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token"},
		{SQL{Dialect: SQLite}.upsert(), "INSERT INTO fence AS f (resource, token) VALUES (?, ?) ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token"},
		{Column{Table: "t", Key: "id", Dialect: MySQL}.update("x = ?", 1), "UPDATE t SET x = ?, fence = CAST(? AS UNSIGNED) WHERE id = ? AND (fence IS NULL OR fence <= CAST(? AS UNSIGNED))"},
		{Column{Table: "t", Key: "id", Dialect: MySQL}.query(), "SELECT CAST(fence AS CHAR) FROM t WHERE id = ? FOR UPDATE"},
		{Column{Table: "t", Key: "id", Dialect: PostgreSQL}.update("x = $1", 1), "UPDATE t SET x = $1, fence = $2::numeric WHERE id = $3 AND (fence IS NULL OR fence <= $4::numeric)"},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// A table that is not there, and a token that somebody else has spoilt, are
// errors that say so and not answers about the token.
func TestSQLBrokenFence(t *testing.T) {
	db, guard := openSQLite(t)
	missing := SQL{Table: "missing", Dialect: SQLite}
	if err := missing.Check(t.Context(), db, 1, "r"); err == nil || !strings.Contains(err.Error(), "Schema") {
		t.Errorf("a missing table: %v", err)
	}
	if _, err := db.run("INSERT INTO fence VALUES ('q', '7')"); err == nil || !strings.Contains(err.Error(), "CHECK") {
		t.Errorf("a token that does not compare as the others do: %v", err)
	}
	db.execute(t, "INSERT INTO fence VALUES ('r', 'xxxxxxxxxxxxxxxxxxxx')")
	var stale *StaleError
	if err := guard.Check(t.Context(), db, 1, "r"); err == nil || errors.As(err, &stale) || !strings.Contains(err.Error(), "no token") {
		t.Errorf("a spoilt fence: %v", err)
	}
}

// In SQLite, too, two transactions that overlap cannot both write: who is
// checked later is told that the database is locked, and when it comes again,
// it writes behind the other or is refused.
func TestSQLiteKeepsTransactionsInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	former, later, guard := connectSQLite(t, path), connectSQLite(t, path), SQL{Dialect: SQLite}
	former.execute(t, guard.schema())
	former.execute(t, "CREATE TABLE ledger (n integer PRIMARY KEY, resource text, token integer)")
	check := func(db *sqlite, token uint64, resource string) error {
		db.execute(t, "BEGIN")
		return guard.Check(t.Context(), db, token, resource)
	}
	write := func(db *sqlite, token uint64, resource string) {
		db.execute(t, fmt.Sprintf("INSERT INTO ledger (resource, token) VALUES ('%s', %d)", resource, token))
	}
	for _, c := range guardtest.Overlaps {
		resource, end := fmt.Sprint(c), "ROLLBACK"
		if c.Commit {
			end = "COMMIT"
		}
		if c.Known > 0 {
			if err := guard.Check(t.Context(), former, c.Known, resource); err != nil {
				t.Fatal(err)
			}
		}
		if err := check(former, c.First, resource); err != nil {
			t.Fatalf("%s: %v", resource, err)
		}
		if err := check(later, c.Second, resource); err == nil || !strings.Contains(err.Error(), "database is locked") {
			t.Errorf("%s: during a transaction: %v", resource, err)
		}
		later.execute(t, "ROLLBACK")
		write(former, c.First, resource)
		former.execute(t, end)
		switch err := check(later, c.Second, resource); {
		case c.Stale:
			wantStale(t, err, c.Second, c.First)
		case err != nil:
			t.Errorf("%s: %v", resource, err)
		default:
			write(later, c.Second, resource)
		}
		later.execute(t, "COMMIT")
	}
	wrong, err := former.run("SELECT count(*) FROM ledger AS a JOIN ledger AS b ON a.resource = b.resource AND a.n < b.n AND a.token > b.token")
	if err != nil || strings.Join(wrong, " ") != "0" {
		t.Errorf("%v writes came after one of a larger token, %v", wrong, err)
	}
}

// A transaction of SQLite that has looked before a newer leader's commit is not
// admitted by what it saw.
func TestSQLiteCheckWithAnOldSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	former, newer, guard := connectSQLite(t, path), connectSQLite(t, path), SQL{Dialect: SQLite}
	former.execute(t, "PRAGMA journal_mode = WAL") // only there somebody can commit beside a reader
	former.execute(t, guard.schema())
	former.execute(t, "BEGIN")
	if highest, err := guard.Highest(t.Context(), former, "r"); err != nil || highest != 0 {
		t.Fatalf("%d, %v", highest, err)
	}
	if err := guard.Check(t.Context(), newer, 9, "r"); err != nil {
		t.Fatal(err)
	}
	if err := guard.Check(t.Context(), former, 8, "r"); err == nil || !strings.Contains(err.Error(), "database is locked") {
		t.Errorf("with a snapshot of before: %v", err)
	}
	former.execute(t, "ROLLBACK")
	wantStale(t, guard.Check(t.Context(), former, 8, "r"), 8, 9)
}

// scripted is a database that says how many rows a statement has changed, and
// then which token it finds.
type scripted struct {
	changed int64
	token   string // empty: there is no row
}

func (s scripted) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return affected(s.changed), nil
}

func (s scripted) queryRow(context.Context, string, ...any) row {
	if s.token == "" {
		return printed{"", sql.ErrNoRows}
	}
	return printed{s.token, nil}
}

// What databases answer is understood, also what happens only between two
// statements that are no transaction, and also MySQL's way to count a row that
// was left as it was as none, or one that was changed as two.
func TestAnswersOfDatabases(t *testing.T) {
	for _, c := range []struct {
		dialect     Dialect
		answer      scripted
		sql, column string // part of the error; empty: the token passes
	}{
		{PostgreSQL, scripted{1, ""}, "", ""},
		{PostgreSQL, scripted{0, "8"}, "token 7 is stale", "token 7 is stale"},
		{PostgreSQL, scripted{0, "7"}, "went back or away", "try again"},
		{PostgreSQL, scripted{0, "6"}, "went back or away", "try again"},
		{PostgreSQL, scripted{0, ""}, "went back or away", "no such row"},
		{PostgreSQL, scripted{0, "x"}, "holds no token", "holds no token"},
		{MySQL, scripted{0, "7"}, "", ""},
		{MySQL, scripted{1, "7"}, "", ""},
		{MySQL, scripted{2, "7"}, "", "name a column that is unique"},
		{MySQL, scripted{0, "8"}, "token 7 is stale", "token 7 is stale"},
		{MySQL, scripted{0, "6"}, "went back or away", "try again"},
		{MySQL, scripted{0, ""}, "went back or away", "no such row"},
	} {
		bySQL := SQL{Dialect: c.dialect}.Check(t.Context(), c.answer, 7, "r")
		byColumn := Column{Table: "t", Key: "id", Dialect: c.dialect}.Update(t.Context(), c.answer, 7, 1, "x = 1")
		for guard, got := range map[string]struct {
			err  error
			want string
		}{"SQL": {bySQL, c.sql}, "Column": {byColumn, c.column}} {
			if (got.err == nil) != (got.want == "") || got.err != nil && !strings.Contains(got.err.Error(), got.want) {
				t.Errorf("%s, %v that answers %+v: %v, want %q", guard, c.dialect, c.answer, got.err, got.want)
			}
		}
	}
}

// late is a database of which a row comes, with a token, after a first update has
// found none.
type late struct {
	scripted
	updates *int
}

func (l late) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	*l.updates++
	return affected(min(*l.updates-1, 1)), nil
}

// A row of MySQL that comes while it is updated is updated then, whatever token it has
// come with: it is not taken for one that was left as it was.
func TestRowThatComesMeanwhile(t *testing.T) {
	for token, want := range map[string]int{"7": 2, "6": 2, "8": 1} {
		updates := 0
		err := Column{Table: "t", Key: "id", Dialect: MySQL}.Update(t.Context(), late{scripted{token: token}, &updates}, 7, 1, "x = 1")
		if updates != want || (err != nil) != (token == "8") {
			t.Errorf("it came with token %s, and after %d updates: %v", token, updates, err)
		}
	}
}
