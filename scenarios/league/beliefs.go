package league

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual"
)

// beliefs are about when a leader believes that it leads.
func beliefs() []Mutant {
	return []Mutant{
		{
			Name: "no-drift-margin", Where: Machine, What: "the deadline leaves no room for clocks that run at different rates",
			Breaks:  []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader},
			Subject: configured(func(c *machine.Config) { c.Drift = 0 }),
		}, {
			Name: "negative-margin", Where: Machine, What: "the room for clocks that differ is added to the lease, and not taken off",
			Breaks:  []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader},
			Subject: configured(func(c *machine.Config) { c.Drift = -c.Drift }),
		}, {
			Name: "counts-from-grant", Where: Machine, What: "a new lease counts from the moment in which the grant came in, not from when it was asked for",
			Breaks:  []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader},
			Subject: anchoredAtAnswer(machine.Acquire),
		}, {
			Name: "counts-from-answer", Where: Machine, What: "a renewed lease counts from the moment in which the answer came in",
			Breaks:  []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader},
			Subject: anchoredAtAnswer(machine.Renew),
		}, {
			Name: "renewal-counts-at-once", Where: Machine, What: "a renewal under way is bounded by the deadline that it would bring, not by the old one",
			Breaks:  []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader, checker.LossHeeded},
			Subject: wrapped(countsAtOnce),
		},
	}
}

// losses are about what a leader makes of renewals that do not succeed.
func losses() []Mutant {
	return []Mutant{
		{
			Name: "refusal-is-transient", Where: Machine, What: "a renewal that the store refuses is repeated like one that failed",
			Breaks: []checker.Promise{checker.LossHeeded, checker.AtMostOneLeader},
			Subject: listening(func(b *bent, in *machine.Input) {
				if _, refused := b.outcome(in, machine.Renew, machine.NotHeld); refused {
					in.Result, in.Err = machine.Unknown, errSomething
				}
			}),
		}, {
			Name: "loss-after-error", Where: Machine, What: "once a renewal has failed, a refusal counts as one more failure, until one succeeds",
			Breaks:  []checker.Promise{checker.LossHeeded, checker.AtMostOneLeader},
			Subject: wrapped(numbedByError),
		}, {
			Name: "one-failure-is-loss", Where: Machine, What: "one renewal that fails ends the term",
			Breaks: []checker.Promise{checker.Stable},
			Subject: listening(func(b *bent, in *machine.Input) {
				if _, failed := b.outcome(in, machine.Renew, machine.Unknown); failed {
					in.Result = machine.NotHeld
				}
			}),
		}, {
			Name: "no-second-try", Where: Machine, What: "the lease is renewed when it is nearly over, and there is no time for a second try",
			Breaks:  []checker.Promise{checker.Stable},
			Subject: configured(func(c *machine.Config) { c.RequestTimeout, c.Renew = c.Renew/2, c.Usable()-c.Renew/2 }),
		}, {
			Name: "timer-drifts", Where: Machine, What: "each renewal is sent a little later than the one before, since the timer starts again after each",
			Breaks:  []checker.Promise{checker.Stable},
			Subject: wrapped(timerDrifts),
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

// numbedByError takes what is refused after something has failed for one more
// failure.
func numbedByError(b *bent) {
	failed := false
	b.before = func(b *bent, _ *time.Duration, in *machine.Input) {
		if _, lost := b.outcome(in, machine.Renew, machine.Unknown); lost {
			failed = true
		}
		if _, done := b.outcome(in, machine.Renew, machine.Done); done {
			failed = false
		}
		if _, refused := b.outcome(in, machine.Renew, machine.NotHeld); refused && failed {
			in.Result, in.Err = machine.Unknown, errSomething
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
