package soak

import (
	"context"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// recorded is a process's store: every call on a lease is told, with its outcome.
// All electors of the process share it, as in production.
type recorded struct {
	*redisstore.Store
	node string
	out  *teller
}

var _ elector.Roster = (*recorded)(nil)

// Acquire implements elector.Store.
func (s *recorded) Acquire(ctx context.Context, a elector.Attempt) (elector.Grant, error) {
	op := s.out.invoke(history.Event{Node: s.node, Election: a.Election, Call: history.Acquire, Nonce: a.Nonce, Try: a.Request, TTL: a.TTL})
	grant, err := s.Store.Acquire(ctx, a)
	op.Token = grant.Token
	s.out.stamp(sim.Completion(op, err))
	return grant, err
}

// Renew implements elector.Store.
func (s *recorded) Renew(ctx context.Context, l elector.Lease) error {
	op := s.out.invoke(history.Event{Node: s.node, Election: l.Election, Call: history.Renew, Nonce: l.Nonce, Try: l.Request, Token: l.Token, TTL: l.TTL})
	err := s.Store.Renew(ctx, l)
	s.out.stamp(sim.Completion(op, err))
	return err
}

// Release implements elector.Store.
func (s *recorded) Release(ctx context.Context, l elector.Lease) error {
	op := s.out.invoke(history.Event{Node: s.node, Election: l.Election, Call: history.Release, Nonce: l.Nonce, Try: l.Request, Token: l.Token})
	err := s.Store.Release(ctx, l)
	s.out.stamp(sim.Completion(op, err))
	return err
}
