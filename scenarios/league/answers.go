package league

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/machine"
)

// answers are about what is made of the store's answers on their way to the
// machine.
func answers() []Mutant {
	return []Mutant{
		{
			Name: "lost-is-success", Where: Answers, What: "a renewal whose answer is lost counts as granted",
			Breaks: []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader, checker.LossHeeded},
			Subject: listening(func(b *bent, in *machine.Input) {
				if _, lost := b.outcome(in, machine.Renew, machine.Unknown); lost {
					in.Result = machine.Done
				}
			}),
		}, {
			Name: "time-out-is-refusal", Where: Answers, What: "a request for the lease that fails counts as refused, and the next one has a new nonce",
			Scenario: "reply-lost-grant",
			Breaks:   []checker.Promise{checker.FailoverBound},
			Subject: listening(func(b *bent, in *machine.Input) {
				if _, lost := b.outcome(in, machine.Acquire, machine.Unknown); lost {
					in.Result, in.Remaining = machine.Held, b.cfg.Retry
				}
			}),
		}, {
			Name: "error-is-fatal", Where: Answers, What: "a request that fails for any reason ends the process for good",
			Breaks: []checker.Promise{checker.LeaderReturns, checker.Stable},
			Subject: listening(func(_ *bent, in *machine.Input) {
				if in.Kind == machine.Answer && in.Result == machine.Unknown {
					in.Result = machine.Fatal
				}
			}),
		}, {
			Name: "hung-requests-stay", Where: Answers, What: "a request that was given up is never forgotten, and after eight of them there is no room for another one",
			Breaks: []checker.Promise{checker.LeaderReturns},
			Subject: listening(func(b *bent, in *machine.Input) {
				if in.Kind == machine.Answer && in.Result == machine.Unknown && b.timedOut(in) {
					in.Kind = machine.Wake
				}
			}),
		}, {
			Name: "answers-shift", Where: Answers, What: "after a time-out the connection stays in use, and the late answer is taken for that of the next request",
			Breaks:  []checker.Promise{checker.BeliefWithinLease, checker.AtMostOneLeader, checker.LeaseLinearizable, checker.LossHeeded},
			Subject: wrapped(answersShift),
		},
	}
}

// answersShift gives the answer of a request that was given up to the next one
// of its kind that is under way.
func answersShift(b *bent) {
	var sent []uint64
	takenFor := map[uint64]uint64{}
	b.before = func(b *bent, _ *time.Duration, in *machine.Input) {
		if in.Kind != machine.Answer {
			return
		}
		number := in.Request
		if in.Result != machine.Unknown && b.timedOut(in) && takenFor[number] == 0 {
			r := b.asked[number]
			next := slices.IndexFunc(sent, func(n uint64) bool {
				return n > number && takenFor[n] == 0 && b.asked[n].Call == r.Call && b.asked[n].Nonce == r.Nonce
			})
			if next >= 0 {
				takenFor[number], takenFor[sent[next]] = sent[next], number
			}
		}
		if other := takenFor[number]; other != 0 {
			in.Request = other
		}
	}
	b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
		for _, r := range out.Requests {
			sent = append(sent, r.Number)
		}
	}
}
