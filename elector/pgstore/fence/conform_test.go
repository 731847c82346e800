package fence_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/elector/internal/guardtest"
)

// guards are those on PostgreSQL, each as something that makes new resources.
// maker connects, once for a test.
var guards = []struct {
	name  string
	maker func(t *testing.T) func() guardtest.Resource
}{
	{"SQL, PostgreSQL", func(t *testing.T) func() guardtest.Resource {
		db, g := openPostgres(t)
		return checked(t, g.On(db), func(resource string) (uint64, error) { return g.Highest(t.Context(), db, resource) })
	}},
	{"SQL, pgx", func(t *testing.T) func() guardtest.Resource {
		_, g := openPostgres(t)
		pool := fence.PgxTx(openPool(t))
		return checked(t, g.On(pool), func(resource string) (uint64, error) { return g.Highest(t.Context(), pool, resource) })
	}},
	{"SQL.Do", func(t *testing.T) func() guardtest.Resource {
		db, g := openPostgres(t)
		n := 0
		return func() guardtest.Resource {
			n++
			resource := fmt.Sprint("resource", n)
			return guardtest.Resource{Write: func(token uint64) error {
				return g.Do(t.Context(), db, nil, token, resource, func(*sql.Tx) error { return nil })
			}}
		}
	}},
	{"Column, PostgreSQL", func(t *testing.T) func() guardtest.Resource {
		db, g := openPostgres(t)
		execute(t, db, "CREATE TABLE "+g.Table+"_rows (id bigint PRIMARY KEY, x bigint, fence numeric(20,0))")
		return columned(t, db, fence.Column{Table: g.Table + "_rows", Key: "id", Dialect: fence.PostgreSQL})
	}},
}

func checked(t *testing.T, guard fence.Checker, highest func(string) (uint64, error)) func() guardtest.Resource {
	return guardtest.Checked(t.Context(), guard.Check, highest)
}

func columned(t *testing.T, db *sql.DB, column fence.Column) func() guardtest.Resource {
	return guardtest.Columned(func(key int) {
		execute(t, db, fmt.Sprintf("INSERT INTO %s (id) VALUES (%d)", column.Table, key))
	}, func(token uint64, key int) error { return column.Update(t.Context(), db, token, key, "x = 1") })
}

// suite reads the refusals of package fence.
var suite = guardtest.Refusing(fence.ErrNoToken, func(e *fence.StaleError) (token, highest uint64) { return e.Token, e.Highest })

// On PostgreSQL guards answer to the same tokens as everywhere.
func TestPostgresGuardsAnswerAlike(t *testing.T) {
	for _, guard := range guards {
		t.Run(guard.name, func(t *testing.T) { suite.Alike(t, guard.maker(t)) })
	}
}

// Whatever the sequence of tokens, guards on PostgreSQL answer as the oracle
// does, which is one number.
func TestPostgresGuardsAgreeWithTheOracle(t *testing.T) {
	tokens := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(guardtest.Edges), rapid.Uint64Range(1, 120), rapid.Uint64Min(1)), 1, 8)
	for _, guard := range guards {
		t.Run(guard.name, func(t *testing.T) {
			fresh := guard.maker(t)
			rapid.Check(t, func(r *rapid.T) { suite.Agree(r, fresh(), tokens.Draw(r, "tokens")) })
		})
	}
}

// Rows are guarded each by its own column, also where it is a plain bigint, or
// NULL because no token has reached the row.
func TestColumn(t *testing.T) {
	db, guard := openPostgres(t)
	for _, kind := range []string{"numeric(20,0)", "bigint"} {
		table := guard.Table + "_" + kind[:3]
		execute(t, db, "CREATE TABLE "+table+" (id text, balance bigint NOT NULL DEFAULT 0, fence "+kind+")")
		execute(t, db, "INSERT INTO "+table+" (id) VALUES ('a'), ('b'), ('twice'), ('twice')")
		column := fence.Column{Table: table, Key: "id", Dialect: fence.PostgreSQL}
		add := func(token uint64, id string) error {
			return column.Update(t.Context(), db, token, id, "balance = balance + $1", 10)
		}
		for _, c := range []struct {
			token uint64
			id    string
			stale uint64
		}{{9, "a", 0}, {9, "a", 0}, {10, "a", 0}, {9, "a", 10}, {9, "b", 0}, {1<<53 + 1, "a", 0}, {1 << 53, "a", 1<<53 + 1}} {
			err := add(c.token, c.id)
			if c.stale > 0 {
				wantStale(t, err, c.token, c.stale)
			} else if err != nil {
				t.Errorf("%s, token %d: %v", kind, c.token, err)
			}
		}
		if err := add(9, "missing"); !errors.Is(err, fence.ErrNoRow) {
			t.Errorf("a missing row: %v", err)
		}
		if err := add(9, "twice"); err == nil || !strings.Contains(err.Error(), "unique") {
			t.Errorf("a key of two rows: %v", err)
		}
		var balance int
		if err := db.QueryRowContext(t.Context(), "SELECT balance FROM "+table+" WHERE id = 'a'").Scan(&balance); err != nil || balance != 40 {
			t.Errorf("the balance is %d, %v: refused writes must not count", balance, err)
		}
	}
}
