package soak

import (
	"context"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// recorded is a process's store: every call on a lease is told, with its outcome.
// All electors of the process share it, as in production.
//
// A release is not sent before the end of its term was told: a process that is killed
// in between would seem to have believed until its end.
type recorded struct {
	*redisstore.Store
	node string
	out  *teller

	bids  sim.Bids
	mu    sync.Mutex
	terms map[term]chan struct{} // closed when the term's end was told
}

// term names a term of the process.
type term struct {
	election string
	token    uint64
}

// tellTime bounds how long a release waits for that.
const tellTime = 100 * time.Millisecond

// began and over follow the terms.
func (s *recorded) began(t term) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terms[t] = make(chan struct{})
}

func (s *recorded) over(t term) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terms[t] != nil {
		close(s.terms[t])
		delete(s.terms, t)
	}
}

func (s *recorded) awaitReported(ctx context.Context, t term) {
	s.mu.Lock()
	reported := s.terms[t]
	s.mu.Unlock()
	if reported == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	select {
	case <-reported:
	case <-ctx.Done():
	}
}

var _ store.CandidateLister = (*recorded)(nil)

// Acquire implements elector.Store.
func (s *recorded) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	s.bids.Stands(a, s.out.now())
	op := s.out.invoke(history.Event{Node: s.node, Election: a.Election, Call: history.Acquire, Nonce: a.Nonce, Try: a.Request, TTL: a.TTL})
	grant, err := s.Store.Acquire(ctx, a)
	s.bids.Answered(a, err)
	op.Token = grant.Token
	s.out.stamp(sim.Completion(op, err))
	return grant, err
}

// Renew implements elector.Store.
func (s *recorded) Renew(ctx context.Context, l store.Lease) error {
	op := s.out.invoke(history.Event{Node: s.node, Election: l.Election, Call: history.Renew, Nonce: l.Nonce, Try: l.Request, Token: l.Token, TTL: l.TTL})
	err := s.Store.Renew(ctx, l)
	s.out.stamp(sim.Completion(op, err))
	return err
}

// Release implements elector.Store.
func (s *recorded) Release(ctx context.Context, l store.Lease) error {
	if l.Token == 0 {
		return s.bids.Withdraw(ctx, s.Store, l, s.passed(l.Election))
	}
	s.awaitReported(ctx, term{l.Election, l.Token})
	op := s.out.invoke(history.Event{Node: s.node, Election: l.Election, Call: history.Release, Nonce: l.Nonce, Try: l.Request, Token: l.Token})
	err := s.Store.Release(ctx, l)
	s.out.stamp(sim.Completion(op, err))
	return err
}

// Watch implements elector.Store.
func (s *recorded) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	s.Store.Watch(ctx, election, s.bids.Reporting(hint, s.passed(election)), ended)
}

// passed tells what the store granted to an attempt that it had refused.
func (s *recorded) passed(election string) func(e history.Event, token uint64) {
	return func(e history.Event, token uint64) {
		e.Node, e.Election = s.node, election
		op := s.out.invoke(e)
		op.Since, op.Token = nil, token
		s.out.stamp(sim.Completion(op, nil))
	}
}
