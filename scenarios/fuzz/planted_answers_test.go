package fuzz_test

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/machine"
)

// The bugs in this file are in how the store's answers are handled, on the way
// between it and the machine.

func answerBugs() []bug {
	return []bug{
		{
			name: "lost-is-success", where: inAnswers, what: "a renewal whose answer is lost counts as granted",
			breaks: []checker.Promise{checker.AtMostOneLeader, checker.LossHeeded},
			subject: listening(func(b *bent, in *machine.Input) {
				if _, lost := b.outcome(in, machine.Renew, machine.Unknown); lost {
					in.Result = machine.Done
				}
			}),
		}, {
			name: "time-out-is-refusal", where: inAnswers, what: "a request for the lease that fails counts as refused, and the next one has a new nonce",
			unseen: "it costs at most the rest of a lease that nobody knows of, and FailoverBound, which would tell, is waived where answers are lost",
			breaks: []checker.Promise{checker.FailoverBound},
			subject: listening(func(b *bent, in *machine.Input) {
				if _, lost := b.outcome(in, machine.Acquire, machine.Unknown); lost {
					in.Result, in.Remaining = machine.Held, b.cfg.Retry
				}
			}),
		}, {
			name: "error-is-fatal", where: inAnswers, what: "a request that fails for any reason ends the process for good",
			breaks: []checker.Promise{checker.LeaderReturns, checker.Stable},
			subject: listening(func(_ *bent, in *machine.Input) {
				if in.Kind == machine.Answer && in.Result == machine.Unknown {
					in.Result = machine.Fatal
				}
			}),
		}, {
			name: "hung-requests-stay", where: inAnswers, what: "a request that was given up is never forgotten, and after eight of them there is no room for another one",
			breaks: []checker.Promise{checker.LeaderReturns},
			subject: listening(func(b *bent, in *machine.Input) {
				if in.Kind == machine.Answer && in.Result == machine.Unknown && b.timedOut(in) {
					in.Kind = machine.Wake
				}
			}),
		}, {
			name: "answers-shift", where: inAnswers, what: "after a time-out the connection stays in use, and the late answer is taken for that of the next request",
			unseen:  "too rare for this test, about one schedule in ten thousand: an answer must be slower than a time-out, and the very next request must be lost",
			breaks:  []checker.Promise{checker.AtMostOneLeader, checker.LeaseLinearizable, checker.LossHeeded},
			subject: wrapped(answersShift),
		},
	}
}

// timedOut says whether the request that an input answers had been given up.
func (b *bent) timedOut(in *machine.Input) bool {
	r := b.asked[in.Request]
	return b.now >= r.at+r.Timeout
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
