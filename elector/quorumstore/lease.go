package quorumstore

import (
	"context"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/quorum"
)

// Acquire is [store.Store.Acquire]. All nodes are asked at once. It succeeds
// as soon as a majority has granted the same token. Nodes whose count is behind
// are first brought to the highest token granted. If no majority can be had,
// what was granted is given back at once, and the error says who holds most of
// the nodes. Its Remaining is such that a majority can be free by then; it is
// short and random if the candidates have split the nodes among each other.
func (s *Store) Acquire(ctx context.Context, in store.Attempt) (store.Grant, error) {
	if err := ctx.Err(); err != nil {
		return store.Grant{}, err
	}
	end := s.call(ctx, &call{election: in.Election, attempt: in}, quorum.Input{
		Kind: quorum.BeginAcquire, ID: in.ID, Nonce: in.Nonce, Floor: in.Floor, TTL: in.TTL,
	})
	if end.Outcome == quorum.Denied {
		if !end.Agreed && end.Longest < in.Longest {
			end.Longest = 0 // too few said so
		}
		return store.Grant{}, s.held(&end)
	}
	return store.Grant{Token: end.Token, Waiters: end.Waiters}, s.failure(ctx, "acquire", in.Election, &end)
}

// Renew is [store.Store.Renew]. It succeeds as soon as a majority has renewed,
// and fails with ErrNotHeld only if none can have.
//
// Nodes that do not hold the lease, because they were down or held by somebody
// who came too late, are asked to grant it as well, so that the term outlives the
// loss of other nodes later on.
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	return s.settle(ctx, "renew", quorum.BeginRenew, l)
}

// Release is [store.Store.Release]. It is sent to all nodes. It succeeds when a
// majority has released, and fails with ErrNotHeld when so many nodes do not hold the
// lease that no majority can. Otherwise the outcome is unknown: the lease may have
// been over before, and another term may have begun. Repeat such a release.
//
// After ErrNotHeld the lease is over, but this release may have ended it: some nodes may
// have released the lease before it ran out on others.
//
// A node that was mended too late to count is released as well, but its answer does not
// show that the lease was still held.
//
// Stragglers are given as long again as the others took: a process that ends
// after a release should not leave nodes behind that are still held.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	return s.settle(ctx, "release", quorum.BeginRelease, l)
}

// settle makes a call for a lease that was granted.
func (s *Store) settle(ctx context.Context, what string, kind quorum.InputKind, l store.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	end := s.call(ctx, &call{election: l.Election, lease: l}, quorum.Input{Kind: kind, ID: l.ID, Nonce: l.Nonce, Token: l.Token, TTL: l.TTL})
	return s.failure(ctx, what, l.Election, &end)
}
