package quorumstore

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/internal/quorum"
)

// Renew is [elector.Store.Renew]. It succeeds as soon as a majority has renewed,
// and fails with ErrNotHeld only if none can have.
//
// Nodes that do not hold the lease, because they were down or held by somebody
// who came too late, are asked to grant it as well, so that the term outlives the
// loss of other nodes later on.
func (s *Store) Renew(ctx context.Context, l elector.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &renewal{
		s: s, l: l, ctx: ctx, began: s.now(), patience: s.patience(ctx),
		events:   make(chan event[struct{}], len(s.nodes)),
		verdicts: make([]quorum.Verdict, len(s.nodes)), errs: make([]error, len(s.nodes)),
	}
	r.send()
	for {
		if err, decided := r.decide(); decided {
			return err
		}
		select {
		case e := <-r.events:
			r.verdicts[e.node], r.errs[e.node] = verdictOf(e.err), e.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renewal is one call of Renew.
type renewal struct {
	s        *Store
	a        *attempt
	l        elector.Lease
	ctx      context.Context
	began    time.Duration
	patience time.Duration
	events   chan event[struct{}]
	verdicts []quorum.Verdict
	errs     []error
}

// find returns the attempt that became the lease's term. A lease that this Store
// did not grant is taken at its word: its token counts on every node. The caller
// holds mu.
func (s *Store) find(l elector.Lease) *attempt {
	k := key{l.Election, l.ID, l.Nonce}
	if a := s.attempts[k]; a != nil && a.Token == l.Token {
		a.TTL, a.touched = max(a.TTL, l.TTL), s.now()
		return a
	}
	a := s.stranger(k)
	a.Claim, a.touched = quorum.Foreign(len(s.nodes), l.Token, l.TTL), s.now()
	return a
}

// send asks every node for what it can give.
func (r *renewal) send() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.a = r.s.find(r.l)
	for n, h := range r.a.Nodes {
		switch r.a.Move(n, r.began) {
		case quorum.Renew:
			r.renew(n, h.Token)
		case quorum.Pass:
			r.verdicts[n], r.errs[n] = quorum.No, elector.ErrNotHeld
		case quorum.Remend:
			r.s.drop(r.ctx, r.a, n, r.patience, func(e event[struct{}]) {
				if v := verdictOf(e.err); v == quorum.Silent || v == quorum.Hopeless {
					r.events <- e
					return
				}
				r.mend(n)
			})
		case quorum.Mend:
			r.mend(n)
		}
	}
}

func (r *renewal) renew(n int, token uint64) {
	lease := r.l
	lease.Token = token
	send(r.ctx, r.s, r.patience, request[struct{}]{
		what: "renew", node: n,
		do: func(ctx context.Context, store elector.Store) (struct{}, error) {
			return struct{}{}, store.Renew(ctx, lease)
		},
		note: func(_ struct{}, err error) {
			if errors.Is(err, elector.ErrNotHeld) {
				r.s.mu.Lock()
				r.a.Lost(n, token, r.began)
				r.s.mu.Unlock()
			}
		},
		done: func(e event[struct{}]) { r.events <- e },
	})
}

// mend makes a node hold the lease that does not. Its token is the term's, or
// larger if it granted that one to somebody else: see quorum.Claim.Granted.
func (r *renewal) mend(n int) {
	in := elector.Attempt{
		Election: r.l.Election, ID: r.l.ID, Nonce: r.l.Nonce, Request: r.l.Request,
		TTL: r.l.TTL, Floor: r.l.Token - 1, Priority: r.l.Priority,
	}
	send(r.ctx, r.s, r.patience, request[elector.Grant]{
		what: "mend", node: n,
		do: func(ctx context.Context, store elector.Store) (elector.Grant, error) {
			return store.Acquire(ctx, in)
		},
		note: func(g elector.Grant, err error) { r.s.noteGrant(r.ctx, r.a, n, g, err) },
		done: func(e event[elector.Grant]) {
			if e.err == nil && !r.counts(n, e.value.Token) {
				e.err = elector.ErrNotHeld
			}
			r.events <- event[struct{}]{node: n, err: e.err}
		},
	})
}

// counts says whether the node's lease with that token counts.
func (r *renewal) counts(n int, token uint64) bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.a.Counts(n, token)
}

// decide says whether the outcome is certain.
func (r *renewal) decide() (error, bool) {
	switch quorum.Renewed(r.verdicts) {
	case quorum.Done:
		r.s.mu.Lock()
		defer r.s.mu.Unlock()
		r.a.Sent = max(r.a.Sent, r.began)
		if k := r.a.key; r.s.attempts[k] == nil {
			r.s.attempts[k] = r.a // a lease from elsewhere, known now
		}
		return nil, true
	case quorum.Denied:
		return elector.ErrNotHeld, true
	case quorum.Lost:
		return r.s.hopeless("renew", r.l.Election, r.errs), true
	case quorum.Undecided:
		return r.s.undecided("renew", r.l.Election, r.verdicts, r.errs), true
	default:
		return nil, false
	}
}

// Release is [elector.Store.Release]. It is sent to all nodes and succeeds when
// a majority has released. Where others had not held the lease any more,
// it succeeds as well, unless so many that the lease was over before.
//
// Stragglers are given as long again as the others took: a process that ends
// after a release should not leave nodes behind that are still held.
func (s *Store) Release(ctx context.Context, l elector.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	events, began := make(chan event[struct{}], len(s.nodes)), s.now()
	s.release(ctx, l, func(e event[struct{}]) { events <- e })
	verdicts, errs := make([]quorum.Verdict, len(s.nodes)), make([]error, len(s.nodes))
	var late <-chan time.Time
	for {
		err, decided := s.released(l.Election, verdicts, errs)
		if decided && quorum.Count(verdicts)[quorum.Waiting] == 0 {
			return err
		}
		if decided && late == nil {
			late = time.After(max(s.now()-began, minGrace))
		}
		select {
		case e := <-events:
			verdicts[e.node], errs[e.node] = verdictOf(e.err), e.err
		case <-late:
			return err
		case <-ctx.Done():
			if decided {
				return err
			}
			return ctx.Err()
		}
	}
}

// released says whether the outcome of a release is certain.
func (s *Store) released(election string, verdicts []quorum.Verdict, errs []error) (error, bool) {
	switch quorum.Released(verdicts) {
	case quorum.Done:
		return nil, true
	case quorum.Denied:
		return elector.ErrNotHeld, true
	case quorum.Lost:
		return s.hopeless("release", election, errs), true
	case quorum.Undecided:
		return s.undecided("release", election, verdicts, errs), true
	default:
		return nil, false
	}
}

// release sends a release to every node, with the token that it granted. From
// here on whatever is granted to the attempt is given back.
func (s *Store) release(ctx context.Context, l elector.Lease, done func(event[struct{}])) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.attempt(key{l.Election, l.ID, l.Nonce})
	a.TTL = max(a.TTL, l.TTL)
	ours := a.Token == l.Token
	if ours {
		a.take(false)
		a.Token = 0
	}
	patience := s.patience(ctx)
	for n := range a.Nodes {
		lease := l
		token, owed := a.Release(n, l.Token, ours, a.open)
		if !owed {
			go done(event[struct{}]{node: n, err: elector.ErrNotHeld})
			continue
		}
		lease.Token = token
		send(ctx, s, patience, request[struct{}]{
			what: "release", node: n, done: done,
			do: func(ctx context.Context, store elector.Store) (struct{}, error) {
				return struct{}{}, store.Release(ctx, lease)
			},
		})
	}
}
