package candidate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/sim"
)

// PostgresTable makes the table whose rows are the elections of
// [sim.Host].Postgres, if it is not there.
const PostgresTable = `CREATE TABLE IF NOT EXISTS leader_election (
	name       text PRIMARY KEY,
	holder     text NOT NULL,
	token      bigint NOT NULL,
	expires_at timestamptz NOT NULL
)`

// PostgresForget deletes the row of an election, $1.
const PostgresForget = `DELETE FROM leader_election WHERE name = $1`

// The statements. Each locks the election's row, if there is one, and goes by
// the server's clock.
const (
	acquireRow = `INSERT INTO leader_election (name, holder, token, expires_at)
VALUES ($1, $2, 1, now() + make_interval(secs => $3))
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, token = leader_election.token + 1, expires_at = excluded.expires_at
WHERE leader_election.expires_at <= now()
RETURNING token`
	renewRow   = `UPDATE leader_election SET expires_at = now() + make_interval(secs => $4) WHERE name = $1 AND holder = $2 AND token = $3 AND expires_at > now()`
	releaseRow = `UPDATE leader_election SET expires_at = now() WHERE name = $1 AND holder = $2 AND token = $3 AND expires_at > now()`
)

// rows is the store in PostgreSQL: one connection, made when it is wanted, and
// again after it broke. It is used by one goroutine.
type rows struct {
	url      string
	election string
	conn     *pgx.Conn
}

var _ sim.Store = (*rows)(nil)

// Postgres implements sim.Host.
func (h *blockingHost) Postgres() (sim.Store, error) {
	if h.PostgresURL == "" {
		return nil, errors.New("candidate: there is no PostgreSQL in this run: the harness names it to the electors that are known to want it")
	}
	if h.rows == nil {
		h.rows = &rows{url: h.PostgresURL, election: h.Election}
	}
	return h.rows, nil
}

// with does something on a connection, within the time-out. One on which
// something went wrong is of no more use.
func (r *rows) with(timeout time.Duration, do func(ctx context.Context, c *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if r.conn == nil || r.conn.IsClosed() {
		conn, err := pgx.Connect(ctx, r.url)
		if err != nil {
			return fmt.Errorf("candidate: PostgreSQL: %w", err)
		}
		r.conn = conn
	}
	err := do(ctx, r.conn)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) && !errors.Is(err, store.ErrNotHeld) {
		r.close()
		return fmt.Errorf("candidate: PostgreSQL: %w", err)
	}
	return err
}

// close ends the connection without waiting for anybody.
func (r *rows) close() {
	if r.conn == nil {
		return
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.conn.Close(ended) // the other end may be out of reach
	r.conn = nil
}

// Acquire implements sim.Store.
func (r *rows) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	var token int64
	err := r.with(timeout, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, acquireRow, r.election, a.ID, a.TTL.Seconds()).Scan(&token)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Grant{}, &elector.HeldError{}
	}
	return store.Grant{Token: uint64(token)}, err
}

// Renew implements sim.Store.
func (r *rows) Renew(l store.Lease, timeout time.Duration) error {
	return r.change(timeout, renewRow, r.election, l.ID, int64(l.Token), l.TTL.Seconds())
}

// Release implements sim.Store.
func (r *rows) Release(l store.Lease, timeout time.Duration) error {
	return r.change(timeout, releaseRow, r.election, l.ID, int64(l.Token))
}

func (r *rows) change(timeout time.Duration, statement string, args ...any) error {
	return r.with(timeout, func(ctx context.Context, c *pgx.Conn) error {
		done, err := c.Exec(ctx, statement, args...)
		if err == nil && done.RowsAffected() == 0 {
			return store.ErrNotHeld
		}
		return err
	})
}
