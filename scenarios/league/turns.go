package league

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/machine"
)

// turns are about how a term ends, and who becomes the next leader, and when.
func turns() []Mutant {
	return []Mutant{
		{
			Name: "releases-first", Where: Machine, What: "a leader that resigns waits for the answer to its release before it steps down",
			Breaks:  []checker.Promise{checker.AtMostOneLeader},
			Subject: wrapped(func(b *bent) { releasesFirst(b, true) }),
		}, {
			Name: "believes-after-release", Where: Machine, What: "a leader that resigns gives its lease back and believes on to its deadline",
			Breaks:  []checker.Promise{checker.AtMostOneLeader},
			Subject: wrapped(func(b *bent) { releasesFirst(b, false) }),
		}, {
			Name: "resigns-without-release", Where: Machine, What: "a leader that resigns does not give its lease back, which ends by itself",
			Breaks: []checker.Promise{checker.FailoverBound, checker.LeaderReturns},
			Subject: wrapped(func(b *bent) {
				b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
					out.Requests = slices.DeleteFunc(out.Requests, func(r machine.Request) bool { return r.Call == machine.Release })
				}
			}),
		}, {
			Name: "own-count", Where: Machine, What: "the token is the number of terms that the candidate has led, not the store's",
			Breaks:  []checker.Promise{checker.TokensIncrease, checker.BeliefWithinLease},
			Subject: wrapped(telling(func(terms, _ uint64) uint64 { return terms })),
		}, {
			Name: "no-floor", Where: Machine, What: "an attempt does not name the highest token known, so a store without protection that lost its count begins again",
			Scenario: "counter-deleted",
			Breaks:   []checker.Promise{checker.LeaseLinearizable, checker.TokensIncrease},
			Subject: unprotected(wrapped(func(b *bent) {
				b.after = func(_ *bent, _ time.Duration, out *machine.Output) {
					for i := range out.Requests {
						out.Requests[i].Floor = 0
					}
				}
			})),
		}, {
			Name: "new-nonce-on-retry", Where: Machine, What: "an attempt that is repeated gets a new nonce, and is refused by the lease that it got itself",
			Scenario: "reply-lost-grant",
			Breaks:   []checker.Promise{checker.FailoverBound},
			Subject:  wrapped(newNonces),
		}, {
			Name: "gives-up", Where: Machine, What: "a candidate whose request fails never asks again",
			Breaks:  []checker.Promise{checker.LeaderReturns},
			Subject: wrapped(givesUp),
		},
	}
}

// waits are about when a follower asks for the lease.
func waits() []Mutant {
	return []Mutant{
		{
			Name: "waits-for-hints", Where: Machine, What: "a follower waits for the news of a release, and polls no more",
			Breaks:  []checker.Promise{checker.LeaderReturns},
			Subject: wrapped(waitsForHints),
		}, {
			Name: "waits-twice", Where: Machine, What: "a follower waits for twice as long as the lease has left",
			Breaks: []checker.Promise{checker.LeaderReturns, checker.FailoverBound, checker.Stable},
			Subject: listening(func(_ *bent, in *machine.Input) {
				if in.Kind == machine.HintGranted {
					in.Kind = machine.Wake // it would bound the wait
				}
				in.Remaining *= 2
			}),
		}, {
			Name: "deaf", Where: Machine, What: "a follower hears no release and asks again a lease after it was refused",
			Breaks: []checker.Promise{checker.FailoverBound, checker.LeaderReturns, checker.Stable},
			Subject: listening(func(b *bent, in *machine.Input) {
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

// waitsForHints does not wake a follower that was refused, until it hears of a
// release.
func waitsForHints(b *bent) {
	waits := false
	b.before = func(_ *bent, _ *time.Duration, in *machine.Input) {
		waits = (waits || in.Result == machine.Held) && in.Kind != machine.HintReleased
	}
	b.after = func(b *bent, _ time.Duration, out *machine.Output) {
		if waits && b.Role() == machine.Follower {
			out.Wake = machine.Never
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

// telling tells everybody around the machine other tokens than the machine
// itself works with: of the process's so many-th term, which has that token.
func telling(other func(terms, token uint64) uint64) func(b *bent) {
	return func(b *bent) {
		var terms, real, told uint64
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
					real, told = t.Token, other(terms, t.Token)
					t.Token = told
				case machine.Extended, machine.Deposed:
					t.Token = told
				}
			}
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
