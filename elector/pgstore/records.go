package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recount-io/recount/elector/store"
)

// Candidates is [store.CandidateLister.Candidates]: who tried to acquire within its
// last two leases, or holds the lease.
func (s *Store) Candidates(ctx context.Context, election string) ([]store.Candidate, error) {
	if err := s.ready(ctx, "list the candidates of", election); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, s.sql.candidates, plain, election)
	if err != nil {
		return nil, judge("list the candidates of", election, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Candidate, error) {
		var c store.Candidate
		var priority, micros int64
		err := row.Scan(&c.ID, &priority, &micros)
		c.Priority, c.Seen = int(priority), time.Duration(micros)*time.Microsecond
		return c, err
	})
	return list, judge("list the candidates of", election, err)
}

// History is [store.TermLister.History]. Options.History terms are remembered.
func (s *Store) History(ctx context.Context, election string, n int) ([]store.PastTerm, error) {
	if err := s.ready(ctx, "read the history of", election); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, s.sql.history, plain, election, int64(max(n, 0)))
	if err != nil {
		return nil, judge("read the history of", election, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.PastTerm, error) {
		var t store.PastTerm
		var token int64
		var ended *time.Time
		err := row.Scan(&t.ID, &token, &t.Began, &ended)
		if t.Token = uint64(token); ended != nil {
			t.Ended = *ended
		}
		return t, err
	})
	return list, judge("read the history of", election, err)
}
