package candidate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// startRows starts a PostgreSQL with the table, and returns the ways of
// two candidates to it.
func startRows(t *testing.T) (server *topology.Postgres, a, b *rows) {
	t.Helper()
	server = topology.SinglePostgres(t)
	conn, err := pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), PostgresTable); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server ends with the test
	a, b = &rows{url: server.URL, election: "e"}, &rows{url: server.URL, election: "e"}
	t.Cleanup(func() { a.close(); b.close() })
	return server, a, b
}

// The row is taken by one at a time, with a token that grows, and renewed and
// released by its owner only, while it lasts.
func TestRows(t *testing.T) {
	_, a, b := startRows(t)
	try := func(id string, ttl time.Duration) store.Attempt { return store.Attempt{ID: id, TTL: ttl} }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var held *elector.HeldError
	first, err := a.Acquire(try("a", time.Minute), time.Minute)
	if err != nil || first.Token != 1 {
		t.Fatal(first, err)
	}
	if _, err := b.Acquire(try("b", time.Minute), time.Minute); !errors.As(err, &held) {
		t.Errorf("it was granted twice: %v", err)
	}
	mine := store.Lease{ID: "a", Token: 1, TTL: time.Minute}
	must(a.Renew(mine, time.Minute))
	for _, other := range []store.Lease{{ID: "b", Token: 1, TTL: time.Minute}, {ID: "a", Token: 2, TTL: time.Minute}} {
		if err := b.Renew(other, time.Minute); !errors.Is(err, store.ErrNotHeld) {
			t.Errorf("%+v is renewed: %v", other, err)
		}
		if err := b.Release(other, time.Minute); !errors.Is(err, store.ErrNotHeld) {
			t.Errorf("%+v is released: %v", other, err)
		}
	}
	must(a.Release(mine, time.Minute))
	if err := a.Renew(mine, time.Minute); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("what was released is renewed: %v", err)
	}
	if second, err := b.Acquire(try("b", time.Microsecond), time.Minute); err != nil || second.Token != 2 {
		t.Errorf("%+v, %v", second, err)
	}
	third, err := a.Acquire(try("a", time.Minute), time.Minute) // the other's lasted a microsecond
	if err != nil || third.Token != 3 {
		t.Errorf("%+v, %v", third, err)
	}
	if err := b.Renew(store.Lease{ID: "b", Token: 2, TTL: time.Minute}, time.Minute); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("what is over is renewed: %v", err)
	}
}

// After a broken connection there is another one, and a time-out is an unknown
// outcome.
func TestRowsConnectAgain(t *testing.T) {
	server, a, b := startRows(t)
	first, err := a.Acquire(store.Attempt{ID: "a", TTL: time.Minute}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(store.Attempt{ID: "b", TTL: time.Minute}, time.Minute); err == nil {
		t.Fatal("granted twice")
	}
	if _, err := b.conn.Exec(t.Context(), "SELECT pg_terminate_backend($1)", int32(a.conn.PgConn().PID())); err != nil {
		t.Fatal(err)
	}
	mine := store.Lease{ID: "a", Token: first.Token, TTL: time.Minute}
	if err := a.Renew(mine, time.Minute); err == nil || errors.Is(err, store.ErrNotHeld) {
		t.Errorf("a renewal on a broken connection: %v", err)
	}
	if err := a.Renew(mine, time.Minute); err != nil {
		t.Errorf("the next one: %v", err)
	}
	if err := a.Renew(mine, time.Nanosecond); err == nil || errors.Is(err, store.ErrNotHeld) {
		t.Errorf("a renewal without time: %v", err)
	}
	server.Stop()
	if err := a.Renew(mine, time.Minute); err == nil || errors.Is(err, store.ErrNotHeld) || !strings.Contains(err.Error(), "PostgreSQL") {
		t.Errorf("a renewal without a server: %v", err)
	}
}
