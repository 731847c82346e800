package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/recount-io/recount/elector/store"
)

// Migrate creates the tables where they are missing, and their schema. It may
// be run at any time, by any number of processes at once; where everything is
// there it changes nothing and needs no right to create anything. The role
// that runs it owns the tables: electors of another one need the rights that
// docs/stores.md lists.
func (s *Store) Migrate(ctx context.Context) error {
	err := s.migrate(ctx, s.sql.schema)
	if unnameable(err) {
		err = s.migrate(ctx, s.sql.nameless.schema) // in vain if it was another right that is missing
	}
	if codeOf(err) == "42501" {
		return &store.FatalError{
			Err: fmt.Errorf("pgstore: migrate %s: %w", s.sql.names[0], err),
			Fix: "run the migration as the owner of the schema, or run: GRANT CREATE ON SCHEMA … TO the role",
		}
	}
	return judge("migrate", s.sql.names[0], err)
}

func (s *Store) migrate(ctx context.Context, schema string) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		// "create … if not exists" fails if two run it at once.
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended('recount migrate', 0))", plain); err != nil {
			return err
		}
		var found, whole bool
		var comment *string
		err := tx.QueryRow(ctx, "select to_regclass($1::text) is not null, obj_description(to_regclass($1::text), 'pg_class'), "+
			"exists (select from pg_attribute where attrelid = to_regclass($1::text) and attname = 'value_version') "+
			"and to_regclass($2::text) is not null and to_regclass($3::text) is not null",
			plain, s.sql.names[0], s.sql.names[1], s.sql.names[2]).Scan(&found, &comment, &whole)
		switch {
		case err != nil:
			return err
		case comment != nil && *comment == version && whole:
			return nil
		case comment != nil && *comment == version: // made before there were values, or a table is gone
		case found:
			return foreign(s.sql.names[0], comment)
		}
		if err := s.createSchema(ctx, tx); err != nil {
			return err
		}
		_, err = tx.Conn().PgConn().Exec(ctx, schema).ReadAll()
		return err
	})
}

func (s *Store) createSchema(ctx context.Context, tx pgx.Tx) error {
	schema, _, qualified := strings.Cut(s.sql.names[0], ".")
	if !qualified {
		return nil
	}
	var found bool
	// Even "if not exists" asks for the right to create one.
	if err := tx.QueryRow(ctx, "select to_regnamespace($1::text) is not null", plain, schema).Scan(&found); err != nil || found {
		return err
	}
	_, err := tx.Exec(ctx, "create schema "+schema, plain)
	return err
}

// foreign is the answer about a table that is not ours.
func foreign(name string, comment *string) error {
	is := "has no comment that names a version"
	if comment != nil {
		is = fmt.Sprintf("is commented %q", *comment)
	}
	return &store.FatalError{
		Err: fmt.Errorf("pgstore: the table %s %s; this program knows %q", name, is, version),
		Fix: "choose another Options.Table if it is somebody else's, or run the program's version that made it",
	}
}

// SQL returns the statements that Migrate runs, for those who create tables in
// another way. Run them as one transaction.
func (s *Store) SQL() string { return s.sql.schema }

// rights are what the tables' user needs.
var rights = []string{"SELECT INSERT UPDATE DELETE", "SELECT INSERT UPDATE DELETE", "SELECT INSERT UPDATE DELETE"}

// ready looks at the first use whether the tables are there and may be used:
// every later statement would fail one by one, and say less.
func (s *Store) ready(ctx context.Context, call, election string) error {
	if err := checkNames(election, "-", "-"); err != nil {
		return err
	}
	if s.verified.Load() {
		return nil
	}
	complaints, err := s.complaints(ctx)
	if err != nil {
		return judge(call, election, err)
	}
	if len(complaints) > 0 {
		c := complaints[0]
		return &store.FatalError{Err: fmt.Errorf("pgstore: %s %q: %w", call, election, c.err), Fix: c.fix}
	}
	known, err := s.place(ctx)
	if err != nil {
		return judge(call, election, err)
	}
	s.verified.Store(known)
	return nil
}

// place finds out whether the role may ask what names the server. A standby cannot
// be named, and takes no writes, so it is asked again.
func (s *Store) place(ctx context.Context) (known bool, err error) {
	if err := s.pool.QueryRow(ctx, s.sql.place, plain).Scan(&known); !unnameable(err) {
		return known, err
	}
	s.nameless.Store(true)
	return true, nil
}

// unnameable reports whether the server did not name itself because the role may not
// ask, or because it is a server that does not know what it was asked.
func unnameable(err error) bool {
	code := codeOf(err)
	return code == "42501" || code == "0A000" || code == "42883"
}

// complaint is one thing without which nothing works.
type complaint struct {
	subject string
	err     error
	fix     string
}

// relation is what the server says of a table.
type relation struct {
	name        string
	found       bool
	missing     []string // rights
	comment     string
	persistence string
	server      int64
	user        string
	whole       bool // no column is missing
}

func (s *Store) complaints(ctx context.Context) ([]complaint, error) {
	relations, err := s.relations(ctx)
	if err != nil {
		return nil, err
	}
	var list []complaint
	if v := relations[0].server; v < s.oldest {
		list = append(list, complaint{"server_version", fmt.Errorf("the server is PostgreSQL %d", v/10000), fmt.Sprintf("use %d or newer", s.oldest/10000)})
	}
	for i, r := range relations {
		var foreignErr *store.FatalError
		switch {
		case !r.found:
			list = append(list, complaint{r.name, fmt.Errorf("there is no table %s in the search path of the role %q", r.name, r.user), migrateFix})
		case i == 0 && r.comment != version:
			if errors.As(foreign(r.name, &r.comment), &foreignErr) {
				list = append(list, complaint{r.name, foreignErr.Err, foreignErr.Fix})
			}
		case i == 0 && !r.whole:
			list = append(list, complaint{r.name, fmt.Errorf("the table %s was made before leaders could publish values, and has no columns for them", r.name), migrateFix})
		case len(r.missing) > 0:
			list = append(list, complaint{
				r.name, fmt.Errorf("the role %q lacks %s on the table %s", r.user, strings.Join(r.missing, ", "), r.name),
				fmt.Sprintf("run as the table's owner: GRANT %s ON %s TO %s", strings.Join(r.missing, ", "), r.name, pgx.Identifier{r.user}.Sanitize()),
			})
		case r.persistence != "p":
			list = append(list, complaint{
				r.name, fmt.Errorf("the table %s is unlogged or temporary: a crash of the server, or a failover, empties it", r.name),
				fmt.Sprintf("run: ALTER TABLE %s SET LOGGED", r.name),
			})
		}
	}
	return list, nil
}

func (s *Store) relations(ctx context.Context) ([]relation, error) {
	rows, err := s.pool.Query(ctx, s.sql.verify, plain, s.sql.names[:], rights)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r relation, err error) {
		err = row.Scan(&r.name, &r.found, &r.missing, &r.comment, &r.persistence, &r.server, &r.user, &r.whole)
		return r, err
	})
	if err == nil && len(list) != len(rights) {
		err = fmt.Errorf("pgstore: the server told of %d tables, not %d", len(list), len(rights))
	}
	return list, err
}
