package fence

import (
	"fmt"
	"strconv"
)

// Dialect is the SQL that a database speaks.
type Dialect int

// The dialects. MySQL is also MariaDB's. The zero Dialect is none, because a
// guess would be found out only by the first token that should be refused.
const (
	PostgreSQL Dialect = iota + 1 // 9.5 or later
	MySQL                         // 5.7 or later, MariaDB 10.2 or later; tables of InnoDB
	SQLite                        // 3.24 or later
)

// String is the dialect's name.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	case SQLite:
		return "SQLite"
	default:
		return "Dialect(" + strconv.Itoa(int(d)) + ")"
	}
}

func (d Dialect) validate(field string) error {
	if d < PostgreSQL || d > SQLite {
		return fmt.Errorf("fence: %s is %v: it must be fence.PostgreSQL, fence.MySQL or fence.SQLite", field, d)
	}
	return nil
}

// text is the token as a statement's argument. It is text and not a number:
// database/sql refuses numbers beyond 2^63. SQLite knows no larger ones
// either, so there a token is 20 digits, which compare as text as they do as
// numbers; a column of numbers makes a number of them.
func (d Dialect) text(token uint64) string {
	if d == SQLite {
		return fmt.Sprintf("%020d", token)
	}
	return strconv.FormatUint(token, 10)
}

// place is the nth placeholder of a statement; token says that it is one.
func (d Dialect) place(n int, token bool) string {
	switch {
	case d == PostgreSQL && token:
		return "$" + strconv.Itoa(n) + "::numeric"
	case d == PostgreSQL:
		return "$" + strconv.Itoa(n)
	case d == MySQL && token:
		return "CAST(? AS UNSIGNED)"
	default:
		return "?"
	}
}

// asText is a column of tokens, to be read as text.
func (d Dialect) asText(column string) string {
	switch d {
	case PostgreSQL:
		return column + "::text"
	case MySQL:
		return "CAST(" + column + " AS CHAR)"
	default:
		return "CAST(" + column + " AS TEXT)"
	}
}

// schema has a column for all tokens up to 2^64-1, and compares resources by
// their bytes, where a collation might take two for one.
func (s SQL) schema() string {
	resource, token, rest := "text", "numeric(20,0) NOT NULL", ""
	switch s.Dialect {
	case MySQL:
		resource, token, rest = "varbinary(255)", "bigint unsigned NOT NULL", " ENGINE=InnoDB"
	case SQLite:
		token = "text NOT NULL CHECK (length(token) = 20)"
	case PostgreSQL:
		resource = `text COLLATE "C"`
	}
	return "CREATE TABLE IF NOT EXISTS " + s.table() + " (resource " + resource + " NOT NULL PRIMARY KEY, token " + token + ")" + rest
}

// upsert notes the token if it is not smaller than the one noted, and locks
// the row in any case. It writes equal tokens too: without a write there would
// be no lock.
func (s SQL) upsert() string {
	d := s.Dialect
	insert := "INSERT INTO " + s.table() + " AS f (resource, token)"
	if d == MySQL { // knows no alias here, and no condition
		return "INSERT INTO " + s.table() + " (resource, token) VALUES (" + d.place(1, false) + ", " + d.place(2, true) + ")" +
			" ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))"
	}
	return insert + " VALUES (" + d.place(1, false) + ", " + d.place(2, true) + ")" +
		" ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token"
}

// query reads a resource's token. In MySQL only a locking read sees what was
// committed after the transaction's first look.
func (s SQL) query(current bool) string {
	q := "SELECT " + s.Dialect.asText("token") + " FROM " + s.table() + " WHERE resource = " + s.Dialect.place(1, false)
	if current && s.Dialect == MySQL {
		q += " FOR UPDATE"
	}
	return q
}
