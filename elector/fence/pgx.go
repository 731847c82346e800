package fence

import (
	"context"
	"database/sql"
	"errors"
)

// PgxConn is what PgxTx needs: pgx.Tx, *pgx.Conn and *pgxpool.Pool have it. T
// is pgconn.CommandTag and R is pgx.Row; naming them would make every user of
// this package link pgx.
type PgxConn[T interface{ RowsAffected() int64 }, R interface{ Scan(dest ...any) error }] interface {
	Exec(ctx context.Context, query string, args ...any) (T, error)
	QueryRow(ctx context.Context, query string, args ...any) R
}

// PgxTx makes an SQLTx of a pgx transaction: guard.Check(ctx,
// fence.PgxTx(tx), token, resource). The types follow from the argument.
func PgxTx[T interface{ RowsAffected() int64 }, R interface{ Scan(dest ...any) error }](tx PgxConn[T, R]) SQLTx {
	return pgxTx[T, R]{tx}
}

type pgxTx[T interface{ RowsAffected() int64 }, R interface{ Scan(dest ...any) error }] struct{ conn PgxConn[T, R] }

func (p pgxTx[T, R]) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tag, err := p.conn.Exec(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return affected(tag.RowsAffected()), nil
}

func (p pgxTx[T, R]) queryRow(ctx context.Context, query string, args ...any) row {
	return p.conn.QueryRow(ctx, query, args...)
}

// affected is the result of a statement.
type affected int64

func (n affected) RowsAffected() (int64, error) { return int64(n), nil }

func (affected) LastInsertId() (int64, error) {
	return 0, errors.New("fence: PostgreSQL gives no id of the last insert: use RETURNING")
}
