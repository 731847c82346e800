package fence

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoRow is the answer to an update of a row that does not exist.
var ErrNoRow = errors.New("fence: there is no such row")

// Column guards the rows of a table of the caller's, each by a column of it
// that holds the token of its last write: every row is a resource. It is a
// value, safe for concurrent use.
//
// The column holds tokens as the one in SQL.Schema does (numeric(20,0) in
// PostgreSQL, bigint unsigned in MySQL, text of 20 digits in SQLite), or is a
// bigint where tokens stay below 2^63. NULL is a row that no token has reached.
//
// The look at the token and the update are one statement, so it needs no
// transaction, and rows do not wait for one another. A row that is inserted
// must bring its token with it, and one that is deleted takes the fence along:
// where leaders delete, use SQL. Data loss is as with SQL.
type Column struct {
	Table   string  // required
	Key     string  // the column that identifies a row; required
	Fence   string  // the column of the token; default "fence"
	Dialect Dialect // required

	_ struct{}
}

// Update executes
//
//	UPDATE table SET set, fence = token WHERE key = … AND (fence IS NULL OR fence <= token)
//
// where set is part of the statement, as in "balance = balance - $1", with
// the placeholders of args, which PostgreSQL counts from 1. Never make it of
// what users enter.
//
// The row was not changed if the error is a *StaleError, ErrNoToken or, wrapped,
// ErrNoRow. After any other it may have been.
func (c Column) Update(ctx context.Context, tx SQLTx, token uint64, key any, set string, args ...any) error {
	if err := c.validate(); err != nil {
		return err
	}
	if token == 0 {
		return ErrNoToken
	}
	read, err := readerOf(tx)
	if err != nil {
		return err
	}
	text := c.Dialect.text(token)
	args = append(append([]any{}, args...), text, key, text)
	update := c.update(set, len(args)-3)
	execute := func() (int64, error) {
		result, err := tx.ExecContext(ctx, update, args...)
		if err != nil {
			return 0, fmt.Errorf("fence: row %v of table %s could not be updated with token %d: %w", key, c.Table, token, err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, fmt.Errorf("fence: the driver does not tell whether row %v of table %s was updated with token %d: %w", key, c.Table, token, err)
		}
		if n > 1 {
			return n, fmt.Errorf("fence: %d rows of table %s have %s %v: roll back, and name a column that is unique", n, c.Table, c.Key, key)
		}
		return n, nil
	}
	n, err := execute()
	if n > 0 || err != nil {
		return err
	}
	return c.explain(ctx, read, token, key, execute)
}

// explain finds out why no row was updated. MySQL counts a row that was left as it was
// as none, too, as one that came after the update. It has locked the row that it
// found, so it is asked once more.
func (c Column) explain(ctx context.Context, read rowReader, token uint64, key any, again func() (int64, error)) error {
	highest, found, err := readToken(ctx, read, c.query(), key)
	switch {
	case err != nil:
		return fmt.Errorf("fence: the fence of row %v of table %s could not be read: %w", key, c.Table, err)
	case !found:
		return fmt.Errorf("%w: table %s has none whose %s is %v", ErrNoRow, c.Table, c.Key, key)
	case highest > token:
		return &StaleError{Token: token, Highest: highest}
	case c.Dialect == MySQL:
		n, err := again()
		if err != nil || n == 1 || highest == token {
			return err
		}
		fallthrough
	default:
		return fmt.Errorf("fence: row %v of table %s came while it was updated: it was not; try again", key, c.Table)
	}
}

func (c Column) fence() string {
	if c.Fence == "" {
		return "fence"
	}
	return c.Fence
}

func (c Column) validate() error {
	for _, f := range []struct{ field, value string }{{"Table", c.Table}, {"Key", c.Key}, {"Fence", c.fence()}} {
		if !identifier.MatchString(f.value) {
			return fmt.Errorf("fence: Column.%s is %q: it must be a name of letters, digits and underscores, or two with a dot between", f.field, f.value)
		}
	}
	return c.Dialect.validate("Column.Dialect")
}

// update has the caller's arguments first, so that they keep their numbers.
func (c Column) update(set string, args int) string {
	d := c.Dialect
	return "UPDATE " + c.Table + " SET " + set + ", " + c.fence() + " = " + d.place(args+1, true) +
		" WHERE " + c.Key + " = " + d.place(args+2, false) +
		" AND (" + c.fence() + " IS NULL OR " + c.fence() + " <= " + d.place(args+3, true) + ")"
}

func (c Column) query() string {
	q := "SELECT " + c.Dialect.asText(c.fence()) + " FROM " + c.Table + " WHERE " + c.Key + " = " + c.Dialect.place(1, false)
	if c.Dialect == MySQL {
		q += " FOR UPDATE" // see SQL.query
	}
	return q
}
