package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SQL guards resources in a database by a table of its own, with one row for
// each resource (see Schema). It is a value, safe for concurrent use; all that
// name the same table of the same database are one guard.
//
// The look at the token and the caller's writes are one step because they are
// in one transaction: Check locks the resource's row until the transaction
// ends, so transactions with tokens of one resource come after one another.
//
// A database that loses transactions that it has committed (a failover to an
// asynchronous replica, a restored backup) loses the newest tokens together
// with the writes that they fenced: until the leader's next write, a former
// leader's are admitted again.
type SQL struct {
	Table   string  // default "fence"; may have a schema before it: "app.fence"
	Dialect Dialect // of the database; required

	_ struct{}
}

// SQLTx is where statements are executed: *sql.Tx, what PgxTx makes of a pgx
// transaction, or another type that has the method QueryRowContext of *sql.Tx
// besides this one. *sql.DB and *sql.Conn have both, but there each statement
// is a transaction of its own: good for making a token known, not for guarding
// a write.
type SQLTx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Check makes the token known to the resource, inside the caller's transaction.
// Call it before anything else in the transaction, and roll back if it returns
// an error: a *StaleError if the resource has admitted a larger token,
// ErrNoToken for 0, or the database's own. What tx then executes is committed
// only in the order of tokens.
//
// It waits for the transactions of the same resource that were checked before,
// until ctx is done. With the isolation levels REPEATABLE READ and SERIALIZABLE
// PostgreSQL may answer with a serialization failure (40001) instead: repeat
// the transaction from its beginning, with the same token. A resource is 1 to
// 255 bytes of text.
func (s SQL) Check(ctx context.Context, tx SQLTx, token uint64, resource string) error {
	read, err := s.prepare(tx, token, resource)
	if err != nil {
		return err
	}
	text := s.Dialect.text(token)
	result, err := tx.ExecContext(ctx, s.upsert(), resource, text)
	if err != nil {
		return fmt.Errorf("fence: token %d could not be noted for resource %q in table %s (does it exist? see SQL.Schema): %w", token, resource, s.table(), err)
	}
	if s.Dialect != MySQL { // it counts a row that was left as it was as 0
		n, err := result.RowsAffected()
		if err != nil {
			return fmt.Errorf("fence: the driver does not tell whether token %d passed for resource %q: %w", token, resource, err)
		}
		if n == 1 {
			return nil
		}
	}
	highest, found, err := readToken(ctx, read, s.query(true), resource)
	switch {
	case err != nil:
		return fmt.Errorf("fence: the fence of resource %q in table %s could not be read: %w", resource, s.table(), err)
	case found && highest > token:
		return &StaleError{Token: token, Highest: highest}
	case found && highest == token && s.Dialect == MySQL:
		return nil
	default: // it changed between two statements: there is no transaction
		return fmt.Errorf("fence: the fence of resource %q in table %s went back or away while token %d was compared: nothing but the guard may write there", resource, s.table(), token)
	}
}

// Beginner begins transactions: *sql.DB or *sql.Conn.
type Beginner interface {
	BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
}

// Do executes write in a transaction of its own, behind Check, and commits it.
// It rolls back if the token is refused, and if write returns an error, which
// Do then returns. After an error of the commit the writes may have happened.
// The options may be nil.
func (s SQL) Do(ctx context.Context, db Beginner, options *sql.TxOptions, token uint64, resource string, write func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("fence: no transaction could be begun for resource %q: %w", resource, err)
	}
	defer func() { _ = tx.Rollback() }() // an error or a panic; after a commit it does nothing
	if err := s.Check(ctx, tx, token, resource); err != nil {
		return err
	}
	if err := write(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("fence: whether the writes with token %d to resource %q happened is unknown, the commit failed: %w", token, resource, err)
	}
	return nil
}

// Highest is the largest token that the resource has admitted, as far as tx
// sees; 0 before the first one. It waits for nobody, and is for people and
// tests.
func (s SQL) Highest(ctx context.Context, tx SQLTx, resource string) (uint64, error) {
	read, err := s.prepare(tx, 1, resource)
	if err != nil {
		return 0, err
	}
	highest, _, err := readToken(ctx, read, s.query(false), resource)
	if err != nil {
		return 0, fmt.Errorf("fence: the fence of resource %q in table %s could not be read: %w", resource, s.table(), err)
	}
	return highest, nil
}

// On is a Checker whose tokens are noted in the database at once, each in a
// transaction of its own: db is a *sql.DB, or PgxTx of a pool. It guards no
// write; it keeps the fence of a guard of another kind (Handler, say) through
// restarts.
func (s SQL) On(db SQLTx) Checker { return sqlChecker{s, db} }

type sqlChecker struct {
	guard SQL
	db    SQLTx
}

func (c sqlChecker) Check(ctx context.Context, token uint64, resource string) error {
	return c.guard.Check(ctx, c.db, token, resource)
}

// Schema is the statement that creates the table if it is not there.
func (s SQL) Schema() (string, error) {
	if err := s.validate(); err != nil {
		return "", err
	}
	return s.schema(), nil
}

func (s SQL) table() string {
	if s.Table == "" {
		return "fence"
	}
	return s.Table
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$`)

func (s SQL) validate() error {
	if !identifier.MatchString(s.table()) {
		return fmt.Errorf("fence: SQL.Table is %q: it must be a name of letters, digits and underscores, or two with a dot between", s.Table)
	}
	return s.Dialect.validate("SQL.Dialect")
}

// prepare says what cannot work before anything is executed.
func (s SQL) prepare(tx SQLTx, token uint64, resource string) (rowReader, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	if token == 0 {
		return nil, ErrNoToken
	}
	// A database that cuts off what is too long would make two resources one.
	if resource == "" || len(resource) > 255 || !utf8.ValidString(resource) || strings.ContainsRune(resource, 0) {
		return nil, fmt.Errorf("fence: resource %.300q cannot be kept: name it with 1 to 255 bytes of UTF-8 without NUL", resource)
	}
	return readerOf(tx)
}

// rowReader reads one row, in whatever way the transaction has.
type rowReader func(ctx context.Context, query string, args ...any) row

// row is *sql.Row, or pgx.Row.
type row interface{ Scan(dest ...any) error }

// readerOf finds the second method, which cannot be part of SQLTx: its result
// is a type of package sql that no other package can make.
func readerOf(tx SQLTx) (rowReader, error) {
	switch t := tx.(type) {
	case interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}:
		return func(ctx context.Context, query string, args ...any) row {
			return t.QueryRowContext(ctx, query, args...)
		}, nil
	case interface {
		queryRow(ctx context.Context, query string, args ...any) row
	}:
		return t.queryRow, nil
	default:
		return nil, fmt.Errorf("fence: %T cannot read a row: give a *sql.Tx, or a type that has its method QueryRowContext, or PgxTx of a pgx transaction", tx)
	}
}

// readToken reads a token, as text because a driver's numbers may have a sign.
func readToken(ctx context.Context, read rowReader, query string, args ...any) (token uint64, found bool, err error) {
	var text sql.NullString
	err = read(ctx, query, args...).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) { // pgx's own is one, too
		return 0, false, nil
	}
	if err != nil || !text.Valid {
		return 0, err == nil, err
	}
	token, err = strconv.ParseUint(strings.TrimSpace(text.String), 10, 64)
	if err != nil {
		return 0, true, fmt.Errorf("it holds no token, but %.50q: somebody else writes to it; put it right by hand", text.String)
	}
	return token, true, nil
}
