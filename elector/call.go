package elector

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// maxAsks bounds the calls of Elector.Leader that hang in the store.
const maxAsks = 8

// overtime is how many times its time-out a request may last. The machine gives
// it up and sends another one after one of them, but an answer that comes later
// is as good as any: it counts from when its request was sent. Without the
// overtime a store that answers in a little more than the time-out would never
// be heard, since each request would cost its connection, and the next one the
// round trips of a new one.
const overtime = 2

// call makes a request on a goroutine of its own: a call that hangs in a
// library despite its context hangs alone. The machine counts those.
func (s *session) call(r machine.Request) {
	go func() {
		ctx := s.calls.limit(overtime * r.Timeout)
		answer := s.request(ctx, r)
		ctx.release()
		s.deliver(answer)
	}()
}

func (s *session) request(ctx context.Context, r machine.Request) (msg message) {
	msg.input, msg.sent = machine.Input{Kind: machine.Answer, Request: r.Number}, s.clock.Now()
	in := &msg.input
	var err error
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
		msg.held = outcome(in, r.Call, err)
		if in.Result != machine.Unknown {
			now := s.clock.Now()
			s.alarm.took(now-msg.sent, now)
		}
	}()
	cfg := &s.e.cfg
	if r.Call == machine.Acquire {
		var g store.Grant
		g, err = s.e.store.Acquire(ctx, store.Attempt{
			Election: cfg.Election, ID: s.e.id, Nonce: r.Nonce, Request: r.Number, TTL: r.TTL, Longest: r.Longest, Configured: r.Configured, Floor: r.Floor, Stands: r.Stands,
			Priority: cfg.Priority, Value: r.Value, Version: r.Version,
		})
		in.Token, in.Waiters, in.Longest = g.Token, g.Waiters, g.Longest
		return msg
	}
	lease := store.Lease{
		Election: cfg.Election, ID: s.e.id, Nonce: r.Nonce, Token: r.Token, Request: r.Number, TTL: r.TTL, Longest: r.Longest, Configured: r.Configured,
		Priority: cfg.Priority, To: r.To, Reserve: r.Reserve, Value: r.Value, Version: r.Version, Shown: r.Shown,
	}
	if r.Call == machine.Renew {
		err = s.e.store.Renew(ctx, lease)
	} else { // a bid, too: it has no token
		err = s.e.store.Release(ctx, lease)
	}
	return msg
}

// outcome fills in what an error says. Whatever the Store's contract does not
// name is an unknown outcome.
func outcome(in *machine.Input, call machine.Call, err error) *HeldError {
	var held *HeldError
	var fatal *FatalError
	switch {
	case err == nil:
		in.Result = machine.Done
	case errors.As(err, &fatal):
		in.Result, in.Err = machine.Fatal, err
	case call == machine.Acquire && errors.As(err, &held):
		in.Result, in.Holder, in.Token = machine.Held, held.Holder, held.Token
		in.Remaining, in.Waiters, in.Longest, in.Stands = held.Remaining, held.Waiters, held.Longest, held.Stands
		return held
	case call == machine.Withdraw && errors.As(err, &held):
		in.Result, in.Token = machine.Held, held.Token
	case call != machine.Acquire && errors.Is(err, store.ErrNotHeld):
		in.Result = machine.NotHeld
	default:
		in.Result, in.Err, in.Refused = machine.Unknown, err, answered(err)
	}
	return nil
}

// answered reports whether the store has answered with the error.
func answered(err error) bool {
	var a interface{ Answered() bool }
	return errors.As(err, &a) && a.Answered()
}

func panicked(v any) error { return fmt.Errorf("%w: %v\n%s", event.ErrPanic, v, debug.Stack()) }

// ask calls a store for somebody who waits. The slots bound how many calls may
// hang in it.
func ask(ctx context.Context, slots chan struct{}, timeout time.Duration, f func(context.Context) (Leader, error)) (Leader, error) {
	if ctx == nil {
		return Leader{}, errNoContext
	}
	// With overtime: a question that is given up costs the connection that the
	// next renewal would have used.
	ctx, cancel := context.WithTimeout(ctx, overtime*timeout)
	defer cancel()
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return Leader{}, ctx.Err()
	}
	type answer struct {
		leader Leader
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		defer func() { <-slots }()
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a.err = panicked(v)
			}
			answers <- a
		}()
		a.leader, a.err = f(ctx)
	}()
	select {
	case a := <-answers:
		return a.leader, a.err
	case <-ctx.Done():
		return Leader{}, ctx.Err()
	}
}

// rival is a candidate with our own configured ID.
type rival struct {
	id      string
	endsAt  time.Duration // of its lease at the latest, as it was first seen
	alerted bool
}

// inspect looks at a refusal, of a request that was sent then, for what the machine
// does not care about.
func (s *session) inspect(held *HeldError, sent time.Duration) {
	if held.Repaired != "" {
		s.troubled(fmt.Errorf("elector: the lease of %q was found damaged: %s", held.Holder, held.Repaired))
	}
	if held.Withheld == "" {
		s.trouble = nil
	} else {
		s.troubled(fmt.Errorf("%w for another %v: %s", ErrWithheld, held.Remaining, held.Withheld))
	}
	if s.watcher.missed(held, sent) {
		s.troubled(event.ErrNoHints)
	}

	// An earlier incarnation of this candidate may have left its lease behind.
	// One that is renewed is alive.
	if held.Holder == s.e.id || nameOf(held.Holder) != s.e.cfg.ID {
		return
	}
	switch r := &s.rival; {
	case r.id != held.Holder:
		// This clock may be the faster one, and the store may have rounded down.
		drift := time.Duration(float64(held.Remaining) * s.e.cfg.Drift)
		*r = rival{id: held.Holder, endsAt: s.clock.Now() + held.Remaining + drift + time.Millisecond}
	case sent+held.Remaining > r.endsAt && !r.alerted:
		r.alerted = true
		s.troubled(fmt.Errorf("%w: %q", event.ErrSameID, held.Holder))
	}
}
