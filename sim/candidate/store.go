package candidate

import (
	"context"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// recordedStore prints every call to the store, and its outcome, on its way.
type recordedStore struct {
	elector.Store
	node    string
	out     teller
	several bool // it is several servers: see sim.OfMajority
	bids    sim.Bids
}

func (s *recordedStore) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	s.bids.Stands(a, s.out.time())
	op := s.invoke(history.Event{Call: history.Acquire, Nonce: a.Nonce, Try: a.Request, TTL: a.TTL})
	grant, err := s.Store.Acquire(ctx, a)
	s.bids.Answered(a, err)
	op.Token = grant.Token
	s.complete(op, err)
	return grant, err
}

func (s *recordedStore) Renew(ctx context.Context, l store.Lease) error {
	op := s.invoke(history.Event{Call: history.Renew, Nonce: l.Nonce, Try: l.Request, Token: l.Token, TTL: l.TTL})
	err := s.Store.Renew(ctx, l)
	s.complete(op, err)
	return err
}

func (s *recordedStore) Release(ctx context.Context, l store.Lease) error {
	if l.Token == 0 {
		return s.bids.Withdraw(ctx, s.Store, l, s.passed)
	}
	op := s.invoke(history.Event{Call: history.Release, Nonce: l.Nonce, Try: l.Request, Token: l.Token})
	err := s.Store.Release(ctx, l)
	s.complete(op, err)
	return err
}

func (s *recordedStore) Leader(ctx context.Context, election string) (elector.Leader, error) {
	op := s.invoke(history.Event{Call: history.Observe})
	leader, err := s.Store.Leader(ctx, election)
	op.Holder, op.Token = sim.NodeOf(leader.ID), leader.Token
	s.complete(op, err)
	return leader, err
}

// Watch implements elector.Store.
func (s *recordedStore) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	s.Store.Watch(ctx, election, s.bids.Reporting(hint, s.passed), ended)
}

// passed prints what the store granted to an attempt that it had refused.
func (s *recordedStore) passed(e history.Event, token uint64) {
	op := s.invoke(e)
	op.Since, op.Token = nil, token
	s.complete(op, nil)
}

// invoke prints the invocation and returns the event for its completion.
func (s *recordedStore) invoke(e history.Event) history.Event {
	e.Kind, e.Node, e.Op = history.Invoke, s.node, s.out.nextOp()
	s.out.stamp(e)
	return e
}

// complete prints the outcome.
func (s *recordedStore) complete(op history.Event, err error) {
	s.out.wait()
	op = sim.Completion(op, err)
	if s.several {
		op = sim.OfMajority(op)
	}
	s.out.stamp(op)
}
