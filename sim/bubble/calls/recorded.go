package calls

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// recorded is a process's store, with every call of its electors recorded.
type recorded struct {
	*redisstore.Store
	life     *life
	observer bool // it does not compete
}

var (
	_ elector.Store         = recorded{}
	_ store.CandidateLister = recorded{}
	_ store.TermLister      = recorded{}
	_ store.Preflighter     = recorded{}
)

// Acquire implements elector.Store.
func (s recorded) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	sent := s.life.process.run.recorder.Now()
	s.life.bids.Stands(a, sent)
	if c := s.life.in(a.Election); c != nil {
		c.mu.Lock()
		c.ledger.sent = sent
		c.mu.Unlock()
	}
	op := s.life.invoke(a.Election, history.Event{Call: history.Acquire, Nonce: a.Nonce, Try: a.Request, TTL: a.TTL})
	grant, err := s.Store.Acquire(ctx, a)
	s.life.bids.Answered(a, err)
	op.Token = grant.Token
	s.life.complete(op, err)
	s.answered(a.Election, err)
	if c := s.life.in(a.Election); c != nil {
		c.refusedBy(err)
		c.asked(err, sent)
	}
	if err == nil && a.Version > 0 {
		r := s.life.process.run
		r.board.shows(term{s.life.process.named(a.Election), a.ID, grant.Token}, 0, r.recorder.Now())
	}
	return grant, err
}

// asked notes when a request for the lease failed, and when one was refused that was sent
// later.
func (c *candidate) asked(err error, sent time.Duration) {
	var held *elector.HeldError
	now := c.run.recorder.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch l := &c.ledger; {
	case errors.As(err, &held) && held.Withheld == "" && held.Repaired == "":
		if sent > l.failed && now-sent < c.config.RequestTimeout {
			l.refused = now
		}
	case err != nil:
		l.failed = now
	}
}

// Renew implements elector.Store.
func (s recorded) Renew(ctx context.Context, l store.Lease) error {
	s.life.in(l.Election).renews()
	op := s.life.invoke(l.Election, history.Event{Call: history.Renew, Nonce: l.Nonce, Try: l.Request, Token: l.Token, TTL: l.TTL})
	err := s.Store.Renew(ctx, l)
	s.life.in(l.Election).renewed(err)
	s.life.complete(op, err)
	s.answered(l.Election, err)
	return err
}

// Release implements elector.Store.
func (s recorded) Release(ctx context.Context, l store.Lease) error {
	if l.Token == 0 {
		err := s.life.bids.Withdraw(ctx, s.Store, l, s.passed(l.Election))
		s.answered(l.Election, err)
		return err
	}
	op := s.life.invoke(l.Election, history.Event{Call: history.Release, Nonce: l.Nonce, Try: l.Request, Token: l.Token})
	if c := s.life.in(l.Election); c != nil && l.To != "" {
		c.handsOver(l)
	}
	err := s.Store.Release(ctx, l)
	s.life.complete(op, err)
	s.answered(l.Election, err)
	return err
}

// passed records what the store granted to an attempt that it had refused.
func (s recorded) passed(election string) func(e history.Event, token uint64) {
	return func(e history.Event, token uint64) {
		op := s.life.invoke(election, e)
		op.Since, op.Token = nil, token
		s.life.complete(op, nil) // which is no answer to a request: the store may be called silent
	}
}

// Leader implements elector.Store.
func (s recorded) Leader(ctx context.Context, election string) (elector.Leader, error) {
	op := s.life.invoke(election, history.Event{Call: history.Observe})
	asked := s.life.process.run.recorder.Now()
	leader, err := s.Store.Leader(ctx, election)
	op.Holder, op.Token = sim.NodeOf(leader.ID), leader.Token
	s.life.complete(op, err)
	if err == nil {
		s.life.checkLeader(election, leader, asked)
	}
	return leader, err
}

// answered notes that the store has answered, if it has.
func (s recorded) answered(election string, err error) {
	if c := s.life.in(election); c != nil && sim.Completion(history.Event{}, err).Kind != history.Info {
		c.mu.Lock()
		c.ledger.answered = c.run.recorder.Now()
		c.mu.Unlock()
	}
}

// invoke records the invocation and returns the event for its completion.
func (l *life) invoke(election string, e history.Event) history.Event {
	l.gate.Wait()
	e.Kind, e.Node, e.Election, e.Op = history.Invoke, l.process.name, l.process.named(election), l.process.run.recorder.NextOp()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dead {
		e = l.process.run.recorder.Stamp(e)
		l.pending[e.Op] = e
	}
	return e
}

// complete records the outcome.
func (l *life) complete(op history.Event, err error) {
	l.gate.Wait()
	op = sim.Completion(op, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.pending[op.Op]; open && !l.dead {
		delete(l.pending, op.Op)
		l.process.run.recorder.Stamp(op)
	}
}
