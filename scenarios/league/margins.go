package league

import (
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual"
)

// margins are about what a deadline leaves for clocks that differ, and for what
// a store rounds.
func margins() []Mutant {
	// margin is a machine whose deadlines leave another margin, which counts no
	// millisecond for rounding.
	margin := func(of func(c *machine.Config) time.Duration) virtual.Subject {
		return configured(func(c *machine.Config) {
			c.Drift = float64(of(c)-time.Millisecond) / float64(c.Lease)
		})
	}
	share := func(c *machine.Config) time.Duration { return time.Duration(c.Drift * float64(c.Lease)) }
	steady := func(name, what string, s virtual.Subject) Mutant {
		return Mutant{
			Name: name, Where: Machine, What: what, Scenario: "steady",
			Breaks: []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader}, Subject: s,
		}
	}
	return []Mutant{
		steady("no-millisecond", "the deadline leaves room for drift, and no millisecond for what the store rounds", margin(share)),
		steady("divides-by-drift", "the deadline is Lease / (1 + Drift), and not Lease × (1 − Drift)", configured(func(c *machine.Config) {
			c.Drift /= 1 + c.Drift
		})),
		steady("drift-off-renewal", "the drift is taken off the interval of renewals, and not off the lease", configured(func(c *machine.Config) {
			c.Renew -= time.Duration(c.Drift * float64(c.Renew))
			c.Drift = 0
		})),
		steady("drift-of-one-interval", "the margin is the drift of one interval of renewals, and not of a lease", margin(func(c *machine.Config) time.Duration {
			return time.Duration(c.Drift*float64(c.Renew)) + time.Millisecond
		})),
		steady("drift-in-thousandths", "a drift in hundredths is taken for one in thousandths", configured(func(c *machine.Config) { c.Drift /= 10 })),
		steady("margin-of-microseconds", "the millisecond for what the store rounds is a microsecond", margin(func(c *machine.Config) time.Duration {
			return share(c) + time.Microsecond
		})),
		steady("margin-on-grants", "a lease that was granted is believed in for less than it lasts, one that was renewed for as long as it lasts",
			believing(func(b *bent, t *machine.Transition) time.Duration {
				if t.Kind == machine.Extended {
					return b.answer.at + b.cfg.Lease
				}
				return t.Until
			})),
		steady("margin-on-renewals", "a lease that was renewed is believed in for less than it lasts, one that was granted for as long as it lasts",
			believing(func(b *bent, t *machine.Transition) time.Duration {
				if t.Kind == machine.Elected {
					return b.answer.at + b.cfg.Lease
				}
				return t.Until
			})),
	}
}

// anchors are about what a deadline counts from, and what may move it.
func anchors() []Mutant {
	return []Mutant{
		{
			Name: "counts-on", Where: Machine, What: "a renewal moves the deadline on by the interval of renewals, from wherever it was",
			Breaks: []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader},
			Subject: wrapped(func(b *bent) {
				var last time.Duration
				believe(b, func(b *bent, t *machine.Transition) time.Duration {
					if t.Kind == machine.Elected {
						last = t.Until
					} else {
						last += b.cfg.Renew
					}
					return last
				})
			}),
		}, {
			Name: "counts-from-last-try", Where: Machine, What: "there is one time of sending, the last request's: the late answer to an earlier one counts from there",
			Breaks: []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader},
			Subject: believing(func(b *bent, _ *machine.Transition) time.Duration {
				if b.latest.Call == b.answer.Call && b.latest.Nonce == b.answer.Nonce {
					return b.latest.at + b.cfg.Usable()
				}
				return 0
			}),
		}, {
			Name: "late-grant-counts-anew", Where: Machine, What: "a grant whose request was given up counts from the moment in which it came in",
			Breaks: []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader},
			Subject: believing(func(b *bent, t *machine.Transition) time.Duration {
				if t.Kind == machine.Elected && b.now >= b.answer.at+b.answer.Timeout {
					return b.now + b.cfg.Usable()
				}
				return t.Until
			}),
		}, {
			Name: "extended-when-over", Where: Machine, What: "the answer to a renewal makes a belief last longer that is over",
			Breaks:  []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader, checker.WellFormed},
			Subject: wrapped(extendedWhenOver),
		}, {
			Name: "revived", Where: Machine, What: "a leader whose renewal is under way at its deadline waits for the answer, which makes the term go on",
			Breaks:  []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader},
			Subject: wrapped(revived),
			Unseen:  "the new deadline lies within the lease, and that the old one had passed when it was told is not looked at",
		},
	}
}

// believing is a machine whose beliefs last longer than they should: until says
// until when one lasts that begins or goes on. What is earlier than the
// machine's own deadline counts as that.
func believing(until func(b *bent, t *machine.Transition) time.Duration) virtual.Subject {
	return wrapped(func(b *bent) { believe(b, until) })
}

// believe holds the end of a belief back until its later deadline.
func believe(b *bent, until func(b *bent, t *machine.Transition) time.Duration) {
	var held *machine.Transition
	var deadline time.Duration
	b.after = func(b *bent, now time.Duration, out *machine.Output) {
		var told []machine.Transition
		for _, t := range out.Transitions {
			switch {
			case t.Kind == machine.Elected || t.Kind == machine.Extended:
				t.Until = max(until(b, &t), t.Until)
				deadline = t.Until
			case t.Kind == machine.Deposed && t.Why == machine.Expired && now < deadline:
				held = &t
				continue
			}
			told = append(told, t)
		}
		switch {
		case held == nil:
		case now >= deadline:
			told, held = append(told, *held), nil
		default:
			out.Wake = min(out.Wake, deadline)
		}
		out.Transitions = told
	}
}

// extendedWhenOver goes on extending the last belief.
func extendedWhenOver(b *bent) {
	over := false
	b.after = func(b *bent, now time.Duration, out *machine.Output) {
		for _, t := range out.Transitions {
			switch t.Kind {
			case machine.Elected:
				over = false
			case machine.Deposed:
				over = true
			}
		}
		until := b.answer.at + b.cfg.Usable()
		if over && b.answer.Call == machine.Renew && b.result == machine.Done && now < until {
			out.Transitions = append(out.Transitions, machine.Transition{Kind: machine.Extended, At: now, Token: b.answer.Token, Until: until})
		}
	}
}

// revived makes the machine's time stand still at its deadline for as long as a
// renewal is under way.
func revived(b *bent) {
	var until time.Duration
	var renewal uint64 // under way
	b.before = func(b *bent, now *time.Duration, in *machine.Input) {
		if renewal != 0 && *now >= until {
			*now = until - 1
		}
		if in.Kind == machine.Answer && in.Request == renewal {
			renewal = 0
		}
	}
	b.after = func(b *bent, now time.Duration, out *machine.Output) {
		for _, t := range out.Transitions {
			switch t.Kind {
			case machine.Elected, machine.Extended:
				until = t.Until
			case machine.Deposed:
				renewal = 0
			}
		}
		for _, r := range out.Requests {
			if r.Call == machine.Renew {
				renewal = r.Number
			}
		}
		if renewal != 0 && now >= until {
			out.Wake = machine.Never // the answer will come, or the end of the wait for it
		}
	}
}
