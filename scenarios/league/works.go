package league

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/virtual"
)

// working is an elector whose leaders work in another way.
func working(w virtual.Work, s virtual.Subject) virtual.Subject {
	s.Work = w
	return s
}

// Works that take their time to end.
var (
	slow     = virtual.Work{Drain: 1.5}              // longer than a lease, and they look at their term
	careless = virtual.Work{Drain: 1.5, Blind: true} // longer than a lease, and they do not: the elector goes on renewing for them
)

// alone is a hunt with one candidate: its writes are not refused, which would end
// its work, because somebody else writes.
var alone = fuzz.Pins{Nodes: 1}

// drains are about a leader that resigns while its work goes on.
func drains() []Mutant {
	return []Mutant{
		{
			Name: "drain-without-renewal", Where: Machine, What: "a leader whose work takes its time to end renews no more",
			Scenario: "resign-leader", Pins: alone,
			Breaks: []checker.Promise{checker.LossHeeded, checker.WriteWithinTerm, checker.Stable},
			Subject: working(careless, wrapped(func(b *bent) {
				b.after = func(b *bent, _ time.Duration, out *machine.Output) {
					if b.Role() == machine.Draining {
						out.Requests = slices.DeleteFunc(out.Requests, func(r machine.Request) bool { return r.Call == machine.Renew })
					}
				}
			})),
		}, {
			Name: "releases-before-work-ends", Where: Machine, What: "the drain time-out is in seconds, and taken for milliseconds: the lease is given back while the work still runs",
			Scenario: "resign-leader", Pins: alone,
			Breaks:  []checker.Promise{checker.LossHeeded, checker.WriteWithinTerm},
			Subject: working(careless, configured(func(c *machine.Config) { c.DrainTimeout /= 1000 })),
		}, {
			Name: "drain-hears-no-loss", Where: Machine, What: "while the work ends, a renewal that the store refuses is repeated like one that failed",
			Breaks: []checker.Promise{checker.LossHeeded, checker.AtMostOneLeader, checker.BeliefWithinLease},
			Subject: working(slow, listening(func(b *bent, in *machine.Input) {
				if _, refused := b.outcome(in, machine.Renew, machine.NotHeld); refused && b.Role() == machine.Draining {
					in.Result, in.Err = machine.Unknown, errSomething
				}
			})),
		}, {
			Name: "work-outlasts-drain", Where: Shell, What: "the work goes on after the drain time-out, when the lease has been given back",
			Scenario: "resign-leader", Pins: alone,
			Breaks:  []checker.Promise{checker.LossHeeded, checker.WriteWithinTerm},
			Subject: working(virtual.Work{Drain: 2.2, Blind: true}, virtual.Subject{}),
		},
	}
}

// works are about when a leader's work begins, and when it ends.
func works() []Mutant {
	shell := func(name, what, scenario string, w virtual.Work, breaks ...checker.Promise) Mutant {
		return Mutant{Name: name, Where: Shell, What: what, Scenario: scenario, Breaks: breaks, Subject: working(w, virtual.Subject{})}
	}
	return []Mutant{
		shell("begins-no-work", "a leader is elected and renews, and its work never begins", "steady",
			virtual.Work{Rests: func(time.Duration, time.Duration) bool { return true }}, checker.LeaderReturns),
		shell("writes-on", "the work ends a twentieth of a lease after its term", "partition-leader",
			virtual.Work{Blind: true, Drain: 0.05}, checker.WriteWithinTerm, checker.LossHeeded),
		shell("works-once", "the work ends at the first renewal, while the term goes on", "steady",
			virtual.Work{Rests: func(since, lease time.Duration) bool { return since > lease/3 }}, checker.LeaderReturns),
		shell("works-late", "the work begins a lease after its term", "crash-leader",
			virtual.Work{Rests: func(since, lease time.Duration) bool { return since < lease }}, checker.FailoverBound, checker.LeaderReturns),
		{
			Name: "leads-a-little", Where: Machine, What: "a leader resigns a fortieth of a lease after it was elected",
			Scenario: "steady",
			Breaks:   []checker.Promise{checker.Stable, checker.LeaderReturns},
			Subject:  wrapped(leadsALittle),
		},
		shell("writes-before-elected", "the work begins when the lease is asked for, with the token of the process's last term", "partition-leader",
			virtual.Work{Eager: true}, checker.WriteWithinTerm, checker.LossHeeded),
	}
}

// leadsALittle ends every term that it begins.
func leadsALittle(b *bent) {
	due := machine.Never
	b.before = func(_ *bent, now *time.Duration, in *machine.Input) {
		if in.Kind == machine.Wake && *now >= due {
			*in, due = machine.Input{Kind: machine.Resign}, machine.Never
		}
	}
	b.after = func(b *bent, now time.Duration, out *machine.Output) {
		for _, t := range out.Transitions {
			switch t.Kind {
			case machine.Elected:
				due = now + b.cfg.Lease/40
			case machine.Deposed:
				due = machine.Never
			}
		}
		out.Wake = min(out.Wake, due)
	}
}

// tokens are about which tokens are told, and written with.
func tokens() []Mutant {
	told := func(name, what, scenario string, other func(terms, token uint64) uint64) Mutant {
		return Mutant{
			Name: name, Where: Machine, What: what, Scenario: scenario,
			Breaks: []checker.Promise{checker.TokensIncrease, checker.BeliefWithinLease}, Subject: wrapped(telling(other)),
		}
	}
	written := func(name, what, scenario string, other func(told, last uint64) uint64) Mutant {
		return Mutant{
			Name: name, Where: Shell, What: what, Scenario: scenario,
			Breaks:  []checker.Promise{checker.TokensIncrease, checker.WriteWithinTerm, checker.LossHeeded},
			Subject: working(virtual.Work{Token: other}, virtual.Subject{}),
		}
	}
	return []Mutant{
		written("writes-without-token", "a write of a process's later terms names no token", "slow-then-cut", func(told, last uint64) uint64 {
			if last == 0 {
				return told
			}
			return 0
		}),
		told("next-token", "a term is told the token after its own", "steady", func(_, token uint64) uint64 { return token + 1 }),
		told("first-token-zero", "the first term of a process is told the token 0", "slow-then-cut", func(terms, token uint64) uint64 {
			if terms == 1 {
				return 0
			}
			return token
		}),
		written("writes-with-next-token", "a write names the token after the term's", "steady", func(told, _ uint64) uint64 { return told + 1 }),
		written("writes-with-last-token", "a write names the token of the process's term before", "slow-then-cut", func(told, last uint64) uint64 {
			if last == 0 {
				return told
			}
			return last
		}),
	}
}
