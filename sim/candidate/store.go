package candidate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// recordedStore prints every call to the store, and its outcome, on its way.
type recordedStore struct {
	elector.Store
	node    string
	out     teller
	several bool // it is several servers: see sim.OfMajority

	mu   sync.Mutex
	bids []bid // the last attempts that may stand
}

// bid is an attempt that may be granted after it was refused.
type bid struct {
	nonce   string
	request uint64
	ttl     time.Duration
	sent    time.Duration // on the run's clock
}

// maxBids is how many attempts are remembered: more than can be under way.
const maxBids = 16

func (s *recordedStore) Acquire(ctx context.Context, a elector.Attempt) (elector.Grant, error) {
	if a.Stands {
		s.stands(bid{a.Nonce, a.Request, a.TTL, s.out.time()})
	}
	op := s.invoke(history.Event{Call: history.Acquire, Nonce: a.Nonce, Try: a.Request, TTL: a.TTL})
	grant, err := s.Store.Acquire(ctx, a)
	op.Token = grant.Token
	s.complete(op, err)
	return grant, err
}

func (s *recordedStore) Renew(ctx context.Context, l elector.Lease) error {
	op := s.invoke(history.Event{Call: history.Renew, Nonce: l.Nonce, Try: l.Request, Token: l.Token, TTL: l.TTL})
	err := s.Store.Renew(ctx, l)
	s.complete(op, err)
	return err
}

func (s *recordedStore) Release(ctx context.Context, l elector.Lease) error {
	if l.Token == 0 { // a bid that is taken back: nothing of a lease
		return s.Store.Release(ctx, l)
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

// Watch prints what the store grants to an attempt that it had refused.
func (s *recordedStore) Watch(ctx context.Context, election string, hint func(elector.Hint), ended func(error)) {
	s.Store.Watch(ctx, election, func(h elector.Hint) {
		if b, ok := s.passed(h); ok {
			op := s.invoke(history.Event{Call: history.Acquire, Nonce: b.nonce, Try: b.request, TTL: b.ttl, Since: history.At(b.sent)})
			op.Since, op.Token = nil, h.Token
			s.complete(op, nil)
		}
		hint(h)
	}, ended)
}

func (s *recordedStore) stands(b bid) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bids) == maxBids {
		s.bids = slices.Delete(s.bids, 0, 1)
	}
	s.bids = append(s.bids, b)
}

// passed is the bid that the hint says was granted, once.
func (s *recordedStore) passed(h elector.Hint) (b bid, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.bids, func(b bid) bool { return h.Nonce == b.nonce && h.Request == b.request })
	if i < 0 || h.Nonce == "" {
		return b, false
	}
	b = s.bids[i]
	s.bids = slices.Delete(s.bids, i, i+1)
	return b, true
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
