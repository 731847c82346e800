package redisstore

import (
	"context"
	"strconv"

	"github.com/recount-io/recount/elector/store"
)

// Evict takes the lease away from the candidate that leads with this token, or from any
// leader if the token is 0. It returns who that was, and for how long nobody else is granted
// the lease: as long as it would have lasted, because its holder may lead until
// then. The holder learns of it with its next renewal, which is refused, and ends its work.
// It may compete again.
//
// If nobody holds the lease the error is ErrNotHeld. If another one does, or a value that
// no elector wrote is in its place, the error is a *HeldError and nothing is changed. Any
// other error leaves open whether the lease was taken away; Evict may be called again.
func (s *Store) Evict(ctx context.Context, election string, token uint64) (store.Leader, error) {
	if err := checkNames(election, "-", "-"); err != nil {
		return store.Leader{}, err
	}
	reply, err := s.run(ctx, &s.scripts.evict, []string{s.keys(election).lease()}, strconv.FormatUint(token, 10))
	if err != nil {
		return store.Leader{}, s.judge("evict from", election, err)
	}
	l, err := leaderOf("evict from", election, reply)
	switch {
	case err != nil:
		return store.Leader{}, err
	case l.ID == "":
		return store.Leader{}, store.ErrNotHeld
	case l.Token == 0 || token != 0 && l.Token != token:
		return store.Leader{}, &store.HeldError{Holder: l.ID, Token: l.Token, Remaining: l.Remaining}
	}
	return l, nil
}
