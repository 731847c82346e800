package quorumstore

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/quorum"
)

// call is one call of Acquire, Renew or Release. What it asks of whom, and when
// its outcome is certain, is decided by the election's machine.
type call struct {
	ctx      context.Context // for the values of requests only
	election string
	attempt  store.Attempt // of Acquire
	lease    store.Lease   // of Renew and Release
	ended    chan quorum.Ending
}

// call makes a call, and waits for its outcome until ctx is done.
func (s *Store) call(ctx context.Context, c *call, in quorum.Input) quorum.Ending {
	c.ctx, c.ended = ctx, make(chan quorum.Ending, 1)
	in.Patience = s.patience(ctx)
	s.mu.Lock()
	s.forget()
	e := s.election(c.election)
	e.last++
	in.Call = e.last
	e.calls[in.Call] = c
	e.step(c, in)
	s.mu.Unlock()
	select {
	case end := <-c.ended:
		return end
	case <-ctx.Done():
		e.tell(c, quorum.Input{Kind: quorum.GiveUp, Call: in.Call})
		return <-c.ended
	}
}

// tell gives an input to the machine.
func (e *election) tell(cause *call, in quorum.Input) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.step(cause, in)
}

// step gives an input to the machine and does what it asks for. The caller holds
// mu.
func (e *election) step(cause *call, in quorum.Input) {
	now := e.s.now()
	out := e.machine.Step(now, in)
	for i := range out.Requests {
		r := &out.Requests[i]
		owner := e.calls[r.Call]
		if owner == nil {
			owner = cause // the call is over, and what it left behind is seen to
		}
		e.send(owner, r)
	}
	for _, end := range out.Endings {
		e.calls[end.Call].ended <- end
		delete(e.calls, end.Call)
	}
	if out.Wake >= e.rings {
		return // a timer that rings early does no harm
	}
	e.rings = out.Wake
	if e.timer == nil {
		e.timer = time.AfterFunc(out.Wake-now, e.wake)
	} else {
		e.timer.Reset(out.Wake - now)
	}
}

func (e *election) wake() {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.rings = quorum.Never
	e.step(nil, quorum.Input{Kind: quorum.Wake})
}

// send makes one of the machine's requests, for a call.
func (e *election) send(c *call, r *quorum.Request) {
	what, do := c.request(r)
	number := r.Number
	answered := func(a nodeEvent[store.Grant]) { e.tell(c, answer(number, &a)) }
	send(c.ctx, e.s, r.Patience, request[store.Grant]{what: what, node: r.Node, do: do, done: answered, late: answered})
}

// request is what a node is asked, and the word for it.
func (c *call) request(r *quorum.Request) (what string, do func(context.Context, store.Store) (store.Grant, error)) {
	switch r.Ask {
	case quorum.AskGrant:
		in := c.attempt
		in.Floor, in.Several, in.Stands = r.Floor, true, false // what one node says is no grant
		return "acquire", acquires(in)
	case quorum.AskMend:
		l := &c.lease
		return "mend", acquires(store.Attempt{
			Election: l.Election, ID: l.ID, Nonce: l.Nonce, Request: l.Request, TTL: l.TTL, Longest: l.Longest, Configured: l.Configured, Floor: r.Floor, Several: true, Priority: l.Priority,
			Value: l.Value, Version: l.Version,
		})
	case quorum.AskRenew:
		l := c.lease
		l.Token = r.Token
		return "renew", func(ctx context.Context, s store.Store) (store.Grant, error) {
			return store.Grant{}, s.Renew(ctx, l)
		}
	case quorum.AskRelease:
		l := c.lease
		l.Token = r.Token
		return "release", releases(l)
	default:
		return "release", releases(store.Lease{Election: c.election, ID: r.ID, Nonce: r.Nonce, Token: r.Token, TTL: r.TTL})
	}
}

func acquires(in store.Attempt) func(context.Context, store.Store) (store.Grant, error) {
	return func(ctx context.Context, s store.Store) (store.Grant, error) { return s.Acquire(ctx, in) }
}

func releases(l store.Lease) func(context.Context, store.Store) (store.Grant, error) {
	return func(ctx context.Context, s store.Store) (store.Grant, error) {
		return store.Grant{}, s.Release(ctx, l)
	}
}

// answer is what a node's answer to a request tells the machine.
func answer(number uint64, a *nodeEvent[store.Grant]) quorum.Input {
	in := quorum.Input{
		Kind: quorum.Answer, Request: number, Verdict: verdictOf(a.err), Token: a.value.Token, Waiters: a.value.Waiters, Err: a.err,
	}
	if a.silent {
		in.Kind = quorum.Silence
	}
	var h *store.HeldError
	if errors.As(a.err, &h) {
		in.Denial = &quorum.Denial{Holder: h.Holder, Token: h.Token, Withheld: h.Withheld != "", Remaining: h.Remaining, Waiters: h.Waiters, Longest: h.Longest}
	}
	return in
}
