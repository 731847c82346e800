package league

import (
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/machine"
)

// hearsay is about what is made of announcements and refusals.
func hearsay() []Mutant {
	return []Mutant{
		{
			Name: "hint-is-grant", Where: Machine, What: "a candidate whose request is under way takes the announcement of a grant for its own",
			Breaks:  []checker.Promise{checker.AtMostOneLeader, checker.BeliefWithinLease, checker.TokensIncrease},
			Subject: wrapped(hintIsGrant),
		}, {
			Name: "own-news-deposes", Where: Machine, What: "a leader that hears its own grant announced takes it for a later term's, and resigns",
			Scenario: "steady",
			Breaks:   []checker.Promise{checker.Stable, checker.LeaderReturns},
			Subject: wrapped(func(b *bent) {
				var token uint64
				b.before = func(_ *bent, _ *time.Duration, in *machine.Input) {
					if in.Kind == machine.HintGranted && in.Token == token {
						*in = machine.Input{Kind: machine.Resign}
					}
				}
				b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
					for _, t := range out.Transitions {
						if t.Kind == machine.Elected {
							token = t.Token
						}
					}
				}
			}),
		}, {
			Name: "refusal-in-seconds", Where: Machine, What: "the milliseconds that a refusal says the lease has left are taken for seconds",
			Breaks: []checker.Promise{checker.LeaderReturns, checker.FailoverBound},
			Subject: listening(func(_ *bent, in *machine.Input) {
				if in.Result == machine.Held {
					in.Remaining *= 1000
				}
			}),
		}, {
			Name: "backs-off", Where: Machine, What: "a follower waits twice as long after each refusal as after the one before, until it leads",
			Breaks:  []checker.Promise{checker.LeaderReturns, checker.FailoverBound},
			Subject: wrapped(backsOff),
		}, {
			Name: "refused-repetition-is-grant", Where: Machine, What: "a repeated attempt that is refused counts as granted: the first request will have got the lease",
			Breaks: []checker.Promise{checker.AtMostOneLeader, checker.BeliefWithinLease, checker.TokensIncrease},
			Subject: wrapped(func(b *bent) {
				tries := map[string]int{}
				b.before = func(b *bent, _ *time.Duration, in *machine.Input) {
					if r, refused := b.outcome(in, machine.Acquire, machine.Held); refused && tries[r.Nonce] > 1 {
						in.Result = machine.Done
					}
				}
				b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
					for _, r := range out.Requests {
						if r.Call == machine.Acquire {
							tries[r.Nonce]++
						}
					}
				}
			}),
		},
	}
}

// hintIsGrant answers the request for the lease that is under way by whatever
// grant is announced.
func hintIsGrant(b *bent) {
	var open uint64
	b.before = func(_ *bent, _ *time.Duration, in *machine.Input) {
		switch {
		case in.Kind == machine.Answer && in.Request == open:
			open = 0
		case in.Kind == machine.HintGranted && open != 0:
			*in = machine.Input{Kind: machine.Answer, Result: machine.Done, Request: open, Token: in.Token}
			open = 0
		}
	}
	b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
		for _, r := range out.Requests {
			if r.Call == machine.Acquire {
				open = r.Number
			}
		}
	}
}

// backsOff makes each wait longer than the one before.
func backsOff(b *bent) {
	refusals := 0
	b.before = func(_ *bent, _ *time.Duration, in *machine.Input) {
		if in.Result == machine.Held {
			in.Remaining <<= min(refusals, 10)
			refusals++
		}
	}
	b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
		for _, t := range out.Transitions {
			if t.Kind == machine.Elected {
				refusals = 0
			}
		}
	}
}
