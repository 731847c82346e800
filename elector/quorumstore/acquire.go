package quorumstore

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/internal/quorum"
)

// maxAligned is how often one call tries to bring a node to the others' token.
const maxAligned = 3

// minGrace is how long stragglers are waited for at least, once most nodes have
// answered.
const minGrace = time.Millisecond

// Acquire is [elector.Store.Acquire]. All nodes are asked at once. It succeeds
// as soon as a majority has granted the same token. Nodes whose count is behind
// are first brought to the highest token granted. If no majority can be had,
// what was granted is given back at once, and the error says who holds most of
// the nodes. Its Remaining is such that a majority can be free by then; it is
// short and random if the candidates have split the nodes among each other.
func (s *Store) Acquire(ctx context.Context, in elector.Attempt) (elector.Grant, error) {
	if err := ctx.Err(); err != nil {
		return elector.Grant{}, err
	}
	q := s.acquisition(ctx, in)
	for n := range s.nodes {
		q.ask(n, q.in.Floor)
	}
	for {
		if grant, err, decided := q.decide(); decided {
			return grant, err
		}
		if err := q.wait(ctx); err != nil {
			if q.failed {
				return elector.Grant{}, q.refusal()
			}
			q.giveUp()
			return elector.Grant{}, err
		}
	}
}

// acquisition is one call of Acquire.
type acquisition struct {
	s        *Store
	a        *attempt
	in       elector.Attempt
	ctx      context.Context // for the values of requests only
	began    time.Duration
	patience time.Duration
	call     int
	over     <-chan struct{}
	events   chan event[elector.Grant]
	timer    *time.Timer // for stragglers; nil until most have answered
	failed   bool        // no majority can be had: what was granted is being given back

	quorum.Attempt
	waiters int
	errs    []error
	held    []*elector.HeldError // of those held by others
	heard   []time.Duration
	aligned []int
	freed   []bool // granted, and given back or about to be
}

func (s *Store) acquisition(ctx context.Context, in elector.Attempt) *acquisition {
	n := len(s.nodes)
	q := &acquisition{
		s: s, in: in, ctx: ctx, began: s.now(), patience: s.patience(ctx),
		events:  make(chan event[elector.Grant], n*(maxAligned+2)),
		Attempt: quorum.Attempt{Verdicts: make([]quorum.Verdict, n), Tokens: make([]uint64, n)}, errs: make([]error, n),
		held: make([]*elector.HeldError, n), heard: make([]time.Duration, n), aligned: make([]int, n), freed: make([]bool, n),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	q.a = s.attempt(key{in.Election, in.ID, in.Nonce})
	q.a.TTL = max(q.a.TTL, in.TTL)
	q.call, q.over = q.a.take(true)
	if top := q.a.Highest(); top > in.Floor {
		// A repetition joins what the earlier call got, or each would be ahead of
		// the one before.
		q.in.Floor = max(in.Floor, top-1)
		return q
	}
	// A candidate that was started since knows of no token; this Store may.
	q.in.Floor = max(in.Floor, s.memory(in.Election).high)
	return q
}

// ask sends the attempt to node n.
func (q *acquisition) ask(n int, floor uint64) {
	in := q.in
	in.Floor = floor
	send(q.ctx, q.s, q.patience, request[elector.Grant]{
		what: "acquire", node: n,
		do: func(ctx context.Context, store elector.Store) (elector.Grant, error) {
			return store.Acquire(ctx, in)
		},
		note: func(g elector.Grant, err error) { q.s.noteGrant(q.ctx, q.a, n, g, err) },
		done: func(e event[elector.Grant]) { q.events <- e },
	})
}

// noteGrant takes in what a node answered to an attempt, however late. What
// nobody waits for any more is given back.
func (s *Store) noteGrant(ctx context.Context, a *attempt, n int, g elector.Grant, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var held *elector.HeldError
	switch {
	case errors.As(err, &held):
		s.memory(a.election).saw(held.Token)
	case err == nil:
		s.memory(a.election).saw(g.Token)
		a.Granted(n, g.Token, now)
		if !a.open && a.Token == 0 {
			s.drop(ctx, a, n, s.timeout, nil)
		}
	}
}

// drop gives back what node n granted. The caller holds mu.
func (s *Store) drop(ctx context.Context, a *attempt, n int, patience time.Duration, done func(event[struct{}])) {
	lease := elector.Lease{Election: a.election, ID: a.id, Nonce: a.nonce, Token: a.Drop(n), TTL: a.TTL}
	if done == nil {
		done = func(event[struct{}]) {}
	}
	send(ctx, s, patience, request[struct{}]{
		what: "release", node: n, done: done,
		do: func(ctx context.Context, store elector.Store) (struct{}, error) {
			return struct{}{}, store.Release(ctx, lease)
		},
	})
}

// wait takes in the next thing that happens.
func (q *acquisition) wait(ctx context.Context) error {
	var late <-chan time.Time
	if q.timer != nil {
		late = q.timer.C
	}
	select {
	case e := <-q.events:
		q.take(e)
	case <-late:
		q.Late = true
	case <-q.over:
		return errRepeated
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (q *acquisition) take(e event[elector.Grant]) {
	n := e.node
	q.Verdicts[n], q.Tokens[n], q.errs[n], q.heard[n] = verdictOf(e.err), e.value.Token, e.err, q.s.now()
	q.waiters += e.value.Waiters
	q.held[n] = nil
	switch held, ok := errors.AsType[*elector.HeldError](e.err); {
	case ok:
		q.held[n] = held
	case e.err != nil:
	case q.failed:
		q.freed[n] = true // too late: see noteGrant
	case !q.current(n, e.value.Token):
		q.align(n, q.in.Floor)
	}
}

// current says whether node n holds the lease with that token, and no release
// of it is on its way.
func (q *acquisition) current(n int, token uint64) bool {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	return q.a.Nodes[n].Token == token
}

// align makes node n grant a token above floor, in place of what it granted.
func (q *acquisition) align(n int, floor uint64) {
	if q.aligned[n]++; q.aligned[n] > maxAligned {
		q.Verdicts[n], q.errs[n] = quorum.Silent, errors.New("grants one old token after the other")
		return
	}
	q.Verdicts[n] = quorum.Waiting
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if q.a.call != q.call {
		return
	}
	q.s.drop(q.ctx, q.a, n, q.patience, func(e event[struct{}]) {
		v := verdictOf(e.err)
		if (v == quorum.Yes || v == quorum.No) && q.wanted() {
			q.ask(n, floor)
			return
		}
		q.events <- event[elector.Grant]{node: n, err: errors.Join(errRepeated, e.err)}
	})
}

// wanted says whether the call still tries to get the lease.
func (q *acquisition) wanted() bool {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	return q.a.call == q.call && q.a.open
}

// decide says whether the outcome is certain, and gets on with it if not.
func (q *acquisition) decide() (elector.Grant, error, bool) {
	if q.failed {
		return q.settle()
	}
	q.s.mu.Lock()
	step, token := q.a.Decide(&q.Attempt)
	if step == quorum.Win {
		defer q.s.mu.Unlock()
		return q.win(token)
	}
	q.s.mu.Unlock()
	switch step {
	case quorum.Hurry:
		q.hurry()
	case quorum.Align:
		q.alignAll(token)
	case quorum.Fail:
		q.fail()
		return q.settle()
	case quorum.Refuse:
		return elector.Grant{}, q.refusal(), true
	}
	return elector.Grant{}, nil, false
}

// win ends the call with success. The caller holds mu.
func (q *acquisition) win(token uint64) (elector.Grant, error, bool) {
	if q.a.call != q.call {
		return elector.Grant{}, errRepeated, true
	}
	q.a.open = false
	q.a.Won(token, q.began, q.s.now())
	m := q.s.memory(q.in.Election)
	m.told, m.rivalry = max(m.told, token), quorum.Rivalry{}
	return elector.Grant{Token: token, Waiters: q.waiters}, nil, true
}

// hurry gives those who have not answered as long again as the others took.
func (q *acquisition) hurry() {
	if q.timer == nil {
		q.timer = time.NewTimer(max(q.s.now()-q.began, minGrace))
	}
}

// alignAll brings all nodes that are behind to the highest token granted, so
// that the next term finds them in step, too.
func (q *acquisition) alignAll(highest uint64) {
	q.timer, q.Late = nil, false
	for n := range q.Verdicts {
		if q.Behind(n, highest) {
			q.align(n, max(q.in.Floor, highest-1))
		}
	}
}

// fail gives back what was granted. The nodes' answers to that are waited for
// as stragglers are, so that whoever tries next finds them free.
func (q *acquisition) fail() {
	q.failed = true
	q.timer, q.Late = nil, false
	q.hurry()
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if q.a.call != q.call {
		return
	}
	q.a.open = false
	for n := range q.a.Nodes {
		if q.a.Nodes[n].Token == 0 {
			continue
		}
		q.Verdicts[n], q.freed[n] = quorum.Waiting, true
		q.s.drop(q.ctx, q.a, n, q.patience, func(e event[struct{}]) {
			q.events <- event[elector.Grant]{node: n, err: e.err}
		})
	}
}

// settle ends a call that failed when all have answered, or had their time.
// Those that decide whether the lease is held or the outcome unknown have as
// much as they need.
func (q *acquisition) settle() (elector.Grant, error, bool) {
	waits, pending, definite := 0, 0, 0
	for n, v := range q.Verdicts {
		switch {
		case v == quorum.Waiting && q.freed[n]:
			waits++
		case v == quorum.Waiting:
			waits++
			pending++
		case q.held[n] != nil || v == quorum.Hopeless:
			definite++
		}
	}
	open := definite <= q.s.minority() && definite+pending > q.s.minority()
	if waits > 0 && (!q.Late || open) {
		return elector.Grant{}, nil, false
	}
	return elector.Grant{}, q.refusal(), true
}

// giveUp ends a call that nobody waits for any more.
func (q *acquisition) giveUp() {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if q.a.call != q.call || !q.a.open {
		return
	}
	q.a.open = false
	if q.a.Token != 0 {
		return
	}
	for n := range q.a.Nodes {
		if q.a.Nodes[n].Token != 0 {
			q.s.drop(q.ctx, q.a, n, q.s.timeout, nil)
		}
	}
}
