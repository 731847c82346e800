package machine

import (
	"errors"
	"slices"
	"testing"
	"time"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

var errLost = errors.New("connection reset")

// rig drives one machine by hand.
type rig struct {
	*testing.T
	m           *Machine
	now         time.Duration
	out         Output
	sent        []Request // of the last step
	transitions []Transition
}

// newRig returns a started machine: lease 15 s, renewed every 5 s, retry 1 s,
// time-out 2.5 s. It begins at 100 s, so that nothing relies on a zero.
func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	cfg := Config{ID: "n1", Seed: 1, Drift: 0.01}
	for _, f := range change {
		f(&cfg)
	}
	r := &rig{T: t, m: New(cfg), now: 100 * sec}
	r.step(Input{Kind: Start})
	return r
}

func (r *rig) step(in Input) {
	r.out = r.m.Step(r.now, in)
	r.sent = slices.Clone(r.out.Requests)
	r.transitions = append(r.transitions, r.out.Transitions...)
	if r.out.Wake <= r.now {
		r.Fatalf("at %v: a %v wants to be woken at %v, which is no more", r.now, r.m.Role(), r.out.Wake)
	}
}

// wait lets d pass; the machine is woken whenever it asks to be.
func (r *rig) wait(d time.Duration) { r.until(r.now + d) }

func (r *rig) until(at time.Duration) {
	var sent []Request
	for r.out.Wake <= at {
		r.now = max(r.now, r.out.Wake)
		r.step(Input{})
		sent = append(sent, r.sent...)
	}
	r.now = at
	r.step(Input{})
	r.sent = append(sent, r.sent...)
}

// next lets time pass until the machine sends a request, and returns it.
func (r *rig) next(call Call) Request {
	r.Helper()
	for range 1000 {
		for _, q := range r.sent {
			if q.Call == call {
				return q
			}
		}
		if r.out.Wake == Never {
			break
		}
		r.now = max(r.now, r.out.Wake)
		r.step(Input{})
	}
	r.Fatalf("no request %d was sent up to %v", call, r.now)
	return Request{}
}

func (r *rig) answer(q Request, result Result, token uint64) {
	var err error
	if result == Unknown || result == Fatal {
		err = errLost
	}
	r.step(Input{Kind: Answer, Request: q.Number, Result: result, Token: token, Holder: "n2", Remaining: 10 * sec, Err: err})
}

// elect makes the machine a leader at once and returns the time at which it
// asked for the lease.
func (r *rig) elect(token uint64) (sent time.Duration) {
	r.Helper()
	q := r.next(Acquire)
	sent = r.now
	r.answer(q, Done, token)
	r.is(Leader)
	return sent
}

func (r *rig) is(want Role) {
	r.Helper()
	if got := r.m.Role(); got != want {
		r.Fatalf("at %v: the machine is a %v, want a %v", r.now, got, want)
	}
}

// saw returns the transitions of a kind so far.
func (r *rig) saw(kind TransitionKind) []Transition {
	var found []Transition
	for _, t := range r.transitions {
		if t.Kind == kind {
			found = append(found, t)
		}
	}
	return found
}

// deposed demands exactly one end of a term so far, and why.
func (r *rig) deposed(why Why) Transition {
	r.Helper()
	all := r.saw(Deposed)
	if len(all) != 1 || all[0].Why != why {
		r.Fatalf("terms ended: %+v, want one by %v", all, why)
	}
	return all[0]
}

func (r *rig) sees(call Call) int {
	n := 0
	for _, q := range r.sent {
		if q.Call == call {
			n++
		}
	}
	return n
}

func (r *rig) troubles(err error) int {
	n := 0
	for _, t := range r.saw(Trouble) {
		if errors.Is(t.Err, err) {
			n++
		}
	}
	return n
}
