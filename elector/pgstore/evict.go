package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recount-io/recount/elector/store"
)

// Evict takes the lease away from the candidate that leads with this token, or from any
// leader if the token is 0. It returns who that was, and for how long nobody else is granted
// the lease: as long as it would have lasted, because its holder may lead until
// then. The holder learns of it with its next renewal, which is refused, and ends its work.
// It may compete again.
//
// If nobody holds the lease the error is ErrNotHeld. If another one does it is a
// *HeldError, and a *FatalError if the lease is one of NewSession; then nothing is changed.
// Any other error leaves open whether the lease was taken away; Evict may be called again.
func (s *Store) Evict(ctx context.Context, election string, token uint64) (store.Leader, error) {
	if err := s.ready(ctx, "evict from", election); err != nil {
		return store.Leader{}, err
	}
	if token > math.MaxInt64 { // no lease has it
		token = math.MaxInt64
	}
	var l store.Leader
	var had, micros int64
	var tied, evicted bool
	err := s.pool.QueryRow(ctx, s.sql.evict, plain, election, int64(token)).Scan(&l.ID, &had, &micros, &tied, &evicted)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Leader{}, store.ErrNotHeld
	}
	if err != nil {
		return store.Leader{}, judge("evict from", election, err)
	}
	l.Token, l.Remaining = uint64(had), time.Duration(micros)*time.Microsecond
	switch {
	case evicted:
		return l, nil
	case tied:
		return store.Leader{}, &store.FatalError{
			Err: fmt.Errorf("pgstore: evict from %q: the lease of %q is tied to a session", election, l.ID),
			Fix: "end the candidate's process, or its session (pg_terminate_backend)",
		}
	}
	return store.Leader{}, &store.HeldError{Holder: l.ID, Token: l.Token, Remaining: l.Remaining}
}

// Evict is like Store.Evict. It leaves leases of sessions.
func (s *SessionStore) Evict(ctx context.Context, election string, token uint64) (store.Leader, error) {
	return s.rows.Evict(ctx, election, token)
}
