package fuzz_test

import (
	"errors"
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual"
)

// bent is the production machine with a bug around it: something alters what
// goes in, or what comes out.
type bent struct {
	*machine.Machine
	cfg    machine.Config
	now    time.Duration
	asked  map[uint64]asked // every request so far, by number
	before func(b *bent, now *time.Duration, in *machine.Input)
	after  func(b *bent, now time.Duration, out *machine.Output)
}

// asked is a request and when it was made, by the machine's time.
type asked struct {
	machine.Request
	at time.Duration
}

func (b *bent) Step(now time.Duration, in machine.Input) machine.Output {
	at := now
	b.now = now
	if b.before != nil {
		b.before(b, &at, &in)
	}
	out := b.Machine.Step(at, in)
	for _, r := range out.Requests {
		b.asked[r.Number] = asked{Request: r, at: at}
	}
	if b.after != nil {
		b.after(b, now, &out)
	}
	return out
}

// outcome is the request that an input answers, and whether it does.
func (b *bent) outcome(in *machine.Input, call machine.Call, result machine.Result) (asked, bool) {
	if in.Kind != machine.Answer || in.Result != result {
		return asked{}, false
	}
	r := b.asked[in.Request]
	return r, r.Call == call
}

// configured is the production machine with other settings than it was given.
func configured(change func(*machine.Config)) virtual.Subject {
	return virtual.Subject{Decide: func(cfg machine.Config) virtual.Decider {
		change(&cfg)
		return machine.New(cfg)
	}}
}

// wrapped is a production machine with a bug around it. Each machine gets hooks
// of its own.
func wrapped(hooks func(b *bent)) virtual.Subject {
	return virtual.Subject{Decide: func(cfg machine.Config) virtual.Decider {
		b := &bent{Machine: machine.New(cfg), cfg: cfg.WithDefaults(), asked: map[uint64]asked{}}
		hooks(b)
		return b
	}}
}

// listening is a production machine that misunderstands what it is told.
func listening(before func(b *bent, in *machine.Input)) virtual.Subject {
	return wrapped(func(b *bent) {
		b.before = func(b *bent, _ *time.Duration, in *machine.Input) { before(b, in) }
	})
}

var errSomething = errors.New("something went wrong")

func machineBugs() []bug { return slices.Concat(beliefBugs(), turnBugs()) }

// beliefBugs are about when a leader believes that it leads.
func beliefBugs() []bug {
	return []bug{
		{
			name: "no-drift-margin", where: inMachine, what: "the deadline leaves no room for clocks that run at different rates",
			breaks:  []checker.Promise{checker.AtMostOneLeader},
			subject: configured(func(c *machine.Config) { c.Drift = 0 }),
		}, {
			name: "counts-from-grant", where: inMachine, what: "a new lease counts from the moment in which the grant came in, not from when it was asked for",
			breaks:  []checker.Promise{checker.AtMostOneLeader},
			subject: anchoredAtAnswer(machine.Acquire),
		}, {
			name: "counts-from-answer", where: inMachine, what: "a renewed lease counts from the moment in which the answer came in",
			breaks:  []checker.Promise{checker.AtMostOneLeader},
			subject: anchoredAtAnswer(machine.Renew),
		}, {
			name: "renewal-counts-at-once", where: inMachine, what: "a renewal under way is bounded by the deadline that it would bring, not by the old one",
			breaks:  []checker.Promise{checker.AtMostOneLeader, checker.LossHeeded},
			subject: wrapped(countsAtOnce),
		}, {
			name: "refusal-is-transient", where: inMachine, what: "a renewal that the store refuses is repeated like one that failed",
			breaks: []checker.Promise{checker.LossHeeded, checker.AtMostOneLeader},
			subject: listening(func(b *bent, in *machine.Input) {
				if _, refused := b.outcome(in, machine.Renew, machine.NotHeld); refused {
					in.Result, in.Err = machine.Unknown, errSomething
				}
			}),
		}, {
			name: "one-failure-is-loss", where: inMachine, what: "one renewal that fails ends the term",
			breaks: []checker.Promise{checker.Stable},
			subject: listening(func(b *bent, in *machine.Input) {
				if _, failed := b.outcome(in, machine.Renew, machine.Unknown); failed {
					in.Result = machine.NotHeld
				}
			}),
		}, {
			name: "releases-first", where: inMachine, what: "a leader that resigns waits for the answer to its release before it steps down",
			breaks:  []checker.Promise{checker.AtMostOneLeader},
			subject: wrapped(func(b *bent) { releasesFirst(b, true) }),
		}, {
			name: "believes-after-release", where: inMachine, what: "a leader that resigns gives its lease back and believes on to its deadline",
			breaks:  []checker.Promise{checker.AtMostOneLeader},
			subject: wrapped(func(b *bent) { releasesFirst(b, false) }),
		}, {
			name: "own-count", where: inMachine, what: "the token is the number of terms that the candidate has led, not the store's",
			breaks:  []checker.Promise{checker.TokensIncrease},
			subject: wrapped(ownCount),
		}, {
			name: "no-floor", where: inMachine, what: "an attempt does not name the highest token known, so a store that lost its count begins again",
			unseen: "a store that lost its count goes on from its clock, so the floor is a second guard behind the first",
			breaks: []checker.Promise{checker.LeaseLinearizable, checker.TokensIncrease},
			subject: wrapped(func(b *bent) {
				b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
					for i := range out.Requests {
						out.Requests[i].Floor = 0
					}
				}
			}),
		}, {
			name: "timer-drifts", where: inMachine, what: "each renewal is sent a little later than the one before, since the timer starts again after each",
			breaks:  []checker.Promise{checker.Stable},
			subject: wrapped(timerDrifts),
		},
	}
}

// turnBugs are about who becomes the next leader, and when.
func turnBugs() []bug {
	return []bug{
		{
			name: "new-nonce-on-retry", where: inMachine, what: "an attempt that is repeated gets a new nonce, and is refused by the lease that it got itself",
			unseen:  "it costs at most the rest of a lease that nobody knows of, and FailoverBound, which would tell, is waived where answers are lost",
			breaks:  []checker.Promise{checker.FailoverBound},
			subject: wrapped(newNonces),
		}, {
			name: "gives-up", where: inMachine, what: "a candidate whose request fails never asks again",
			breaks:  []checker.Promise{checker.LeaderReturns},
			subject: wrapped(givesUp),
		}, {
			name: "waits-for-hints", where: inMachine, what: "a follower waits for the news of a release, and polls no more",
			breaks: []checker.Promise{checker.LeaderReturns},
			subject: listening(func(b *bent, in *machine.Input) {
				if in.Kind == machine.HintGranted {
					in.Kind = machine.Wake
				}
				if in.Result == machine.Held {
					in.Remaining = 1000 * b.cfg.Lease
				}
			}),
		}, {
			name: "waits-twice", where: inMachine, what: "a follower waits for twice as long as the lease has left",
			breaks: []checker.Promise{checker.LeaderReturns, checker.FailoverBound, checker.Stable},
			subject: listening(func(_ *bent, in *machine.Input) {
				if in.Kind == machine.HintGranted {
					in.Kind = machine.Wake // it would bound the wait
				}
				in.Remaining *= 2
			}),
		}, {
			name: "deaf", where: inMachine, what: "a follower hears no release and asks again a lease after it was refused",
			breaks: []checker.Promise{checker.FailoverBound, checker.LeaderReturns, checker.Stable},
			subject: listening(func(b *bent, in *machine.Input) {
				if in.Kind == machine.HintGranted || in.Kind == machine.HintReleased {
					in.Kind = machine.Wake
				}
				if in.Result == machine.Held {
					in.Remaining = b.cfg.Lease
				}
			}),
		},
	}
}

// anchoredAtAnswer makes the time of the machine stand still while a call is
// under way: what it anchors at the call's sending is anchored at its answer.
func anchoredAtAnswer(call machine.Call) virtual.Subject {
	return wrapped(func(b *bent) {
		var behind time.Duration
		b.before = func(b *bent, now *time.Duration, in *machine.Input) {
			if r, done := b.outcome(in, call, machine.Done); done {
				behind = max(behind, *now-r.at)
			}
			*now -= behind
		}
		b.after = func(b *bent, _ time.Duration, out *machine.Output) {
			for i := range out.Transitions {
				out.Transitions[i].Until += behind
			}
			if out.Wake != machine.Never {
				out.Wake += behind
			}
		}
	})
}

// countsAtOnce takes every renewal for granted when it is sent. A refusal is
// heard, but only by the next renewal.
func countsAtOnce(b *bent) {
	refused := false
	b.before = func(b *bent, _ *time.Duration, in *machine.Input) {
		if _, was := b.outcome(in, machine.Renew, machine.NotHeld); was {
			refused = true
		}
	}
	b.after = func(b *bent, now time.Duration, out *machine.Output) {
		for _, r := range slices.Clone(out.Requests) {
			if r.Call != machine.Renew {
				continue
			}
			result := machine.Done
			if refused {
				result, refused = machine.NotHeld, false
			}
			transitions, requests := slices.Clone(out.Transitions), slices.Clone(out.Requests)
			*out = b.Machine.Step(now, machine.Input{Kind: machine.Answer, Result: result, Request: r.Number})
			out.Transitions = append(transitions, out.Transitions...)
			out.Requests = append(requests, out.Requests...)
		}
	}
}

// releasesFirst holds back the news that a term is over for as long as its
// release is under way, or to its deadline.
func releasesFirst(b *bent, answered bool) {
	var held *machine.Transition
	b.after = func(_ *bent, now time.Duration, out *machine.Output) {
		var told []machine.Transition
		for _, t := range out.Transitions {
			over := t.Kind == machine.Elected || answered && t.Kind == machine.Released
			if over && held != nil {
				told, held = append(told, *held), nil
			}
			if t.Kind == machine.Deposed && now < t.Until && len(out.Requests) > 0 {
				held = &t
				continue
			}
			told = append(told, t)
		}
		if held != nil && (now >= held.Until || answered && out.Done) {
			told, held = append(told, *held), nil
		}
		if held != nil {
			out.Wake = min(out.Wake, held.Until)
		}
		out.Transitions = told
	}
}

// ownCount tells everybody around the machine other tokens than the machine
// itself works with.
func ownCount(b *bent) {
	var terms, real uint64
	b.before = func(_ *bent, _ *time.Duration, in *machine.Input) {
		if in.Kind == machine.WorkEnded {
			in.Token = real
		}
	}
	b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
		for i := range out.Transitions {
			t := &out.Transitions[i]
			switch t.Kind {
			case machine.Elected:
				terms++
				real, t.Token = t.Token, terms
			case machine.Extended, machine.Deposed:
				t.Token = terms
			}
		}
	}
}

// timerDrifts delays each renewal of a term by a little more than the one
// before.
func timerDrifts(b *bent) {
	var late time.Duration
	leads := false
	b.after = func(b *bent, _ time.Duration, out *machine.Output) {
		for _, t := range out.Transitions {
			switch t.Kind {
			case machine.Elected:
				late, leads = 0, true
			case machine.Deposed:
				leads = false
			}
		}
		for _, r := range out.Requests {
			if r.Call == machine.Renew {
				late += b.cfg.Renew / 50
			}
		}
		if leads && out.Wake != machine.Never {
			out.Wake += late
		}
	}
}

// newNonces gives every request for the lease a nonce of its own. What is
// granted is renewed and released by the nonce that was granted.
func newNonces(b *bent) {
	tries := map[uint64]string{} // by number of the request
	given := map[string]string{} // by the machine's own nonce
	b.before = func(b *bent, _ *time.Duration, in *machine.Input) {
		if r, granted := b.outcome(in, machine.Acquire, machine.Done); granted {
			given[r.Nonce] = tries[r.Number]
		}
	}
	b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
		for i := range out.Requests {
			r := &out.Requests[i]
			if r.Call == machine.Acquire {
				tries[r.Number] = r.Nonce + "/" + string(rune('a'+r.Number%26))
				r.Nonce = tries[r.Number]
			} else {
				r.Nonce = given[r.Nonce]
			}
		}
	}
}

// givesUp sends no request for the lease any more once one has failed.
func givesUp(b *bent) {
	over := false
	b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
		for _, t := range out.Transitions {
			over = over || t.Kind == machine.Trouble && t.Call == machine.Acquire
		}
		if over {
			out.Requests = slices.DeleteFunc(out.Requests, func(r machine.Request) bool { return r.Call == machine.Acquire })
		}
	}
}
