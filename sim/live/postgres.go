package live

import (
	"context"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/recount-io/recount/internal/topology"
	ours "github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/protocol"
)

// postgres is the PostgreSQL of a session, beside its Redis: one for all runs,
// in which each election has a row of its own. It is started for the first
// subject that wants it.
func (s *Session) postgres(ctx context.Context) (*topology.Postgres, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows != nil {
		return s.rows, nil
	}
	server, err := topology.ListenPostgres()
	if err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	if err := inPostgres(ctx, server, ours.PostgresTable); err != nil {
		server.Stop()
		return nil, err
	}
	s.rows = server
	return server, nil
}

// inPostgres executes a statement on a connection of its own.
func inPostgres(ctx context.Context, server *topology.Postgres, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.URL)
	if err != nil {
		return fmt.Errorf("live: PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // what it was for is done, or has failed
	if _, err := conn.Exec(ctx, statement, args...); err != nil {
		return fmt.Errorf("live: PostgreSQL: %w", err)
	}
	return nil
}

// addPostgres gives a candidate its own way to PostgreSQL, if the run's subject
// wants one, beside those to the store: every fault of its network is on all of
// them. It returns what its environment says of it.
func (r *run) addPostgres(ctx context.Context, host Host, node string) ([]string, error) {
	if r.rows == nil {
		return nil, nil
	}
	link, err := host.Link(ctx, r.rows.TCP)
	if err != nil {
		return nil, err
	}
	r.world.links[node] = append(r.world.links[node], link)
	to := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: link.Addr(), Path: "/postgres", RawQuery: "sslmode=disable"}
	return []string{protocol.EnvPostgresURL + "=" + to.String()}, nil
}

// wantPostgres starts PostgreSQL if the run's subject wants it, and sees to it
// that the election's row is deleted in the end.
func (r *run) wantPostgres(ctx context.Context) (err error) {
	wants := r.session.options.Postgres
	if len(r.session.options.Command) > 0 || wants == nil || !wants(r.plan.Subject) {
		return nil
	}
	if r.rows, err = r.session.postgres(ctx); err != nil {
		return err
	}
	r.close = append(r.close, func() error {
		return inPostgres(context.Background(), r.rows, ours.PostgresForget, r.election)
	})
	return nil
}
