package explore

import (
	"errors"
	"slices"
	"testing"

	"github.com/recount-io/recount/internal/machine"
)

// planted is the mutant of that name.
func planted(t *testing.T, name string) *plant {
	t.Helper()
	all := slices.Concat(plantedInBeliefs(), plantedInTurns(), plantedInBids(), plantedInScripts())
	i := slices.IndexFunc(all, func(p plant) bool { return p.name == name })
	if i < 0 {
		t.Fatalf("no bug %q is planted", name)
	}
	return &all[i]
}

// plantedInBeliefs are about when a leader believes, and what it believes in.
func plantedInBeliefs() []plant {
	return []plant{
		{
			name: "no-margin", what: "a belief lasts for as long as the lease was asked for",
			config: func(c *machine.Config) { c.Drift = -float64(machine.Tick) / float64(c.Lease) },
		}, {
			name: "no-drift-margin", what: "the deadline leaves no room for clocks that run at different rates",
			config: func(c *machine.Config) { c.Drift = 0 },
		}, {
			name: "counts-from-answer", what: "a lease counts from the moment in which the answer came in",
			after: countsFromAnswer,
		}, {
			name: "late-grant", what: "a grant that comes too late is believed in for as long as one in time",
			after: takesLateGrants,
		}, {
			name: "input-before-lapse", what: "an answer is looked at before what time has ended: it prolongs a belief that is over",
			before: func(s *situation) {
				if s.in.Kind == machine.Answer && s.call == machine.Renew {
					s.now -= machine.Tick
				}
			},
		}, {
			name: "refusal-is-transient", what: "a renewal that the store refuses is repeated like one that failed",
			before: func(s *situation) {
				if s.call == machine.Renew && s.in.Result == machine.NotHeld {
					s.in.Result, s.in.Err = machine.Unknown, errLost
				}
			},
		},
	}
}

// plantedInTurns are about how a term ends, and how the next one begins.
func plantedInTurns() []plant {
	return []plant{
		{
			name: "releases-before-work-ends", what: "the lease is given back when the belief ends, while the work still runs",
			after: releasesAtOnce,
		}, {
			name: "floor-not-raised", what: "tokens seen are not remembered: none is named to the store, and none refused",
			after: func(s *situation, out *machine.Output) {
				namesNoFloor(out)
				useDeclined(s, out, machine.ErrTokenSeen)
			},
		}, {
			name: "no-floor", what: "an attempt does not name the highest token known",
			after: func(_ *situation, out *machine.Output) { namesNoFloor(out) },
		}, {
			name: "tokens-unchecked", what: "a grant is used though its token is not larger than one seen before",
			after: func(s *situation, out *machine.Output) { useDeclined(s, out, machine.ErrTokenSeen) },
		}, {
			name: "drains-without-renewing", what: "a leader that waits for its work to end renews no more",
			after: func(s *situation, out *machine.Output) {
				for i := range out.Requests {
					if s.machine.Role() == machine.Draining && out.Requests[i].Call == machine.Renew {
						out.Requests[i].Call = machine.None
					}
				}
			},
		}, {
			name: "believes-after-release", what: "a leader that resigns gives its lease back and believes on to its deadline",
			after: func(_ *situation, out *machine.Output) {
				out.Transitions = slices.DeleteFunc(out.Transitions, func(t machine.Transition) bool {
					return t.Kind == machine.Deposed && t.Why == machine.Resigned
				})
			},
		}, {
			name: "adopted-is-sure", what: "a store that went back takes who renews there to be the only one that believes",
			sure: true,
		}, {
			name: "wakes-in-the-past", what: "the time of the next wake-up is one tick early, which may be now",
			after: func(_ *situation, out *machine.Output) { out.Wake -= machine.Tick },
		}, {
			name: "waits-for-hints", what: "a candidate that is refused waits for the news of a release, and polls no more",
			after: func(s *situation, out *machine.Output) {
				for i := range out.Requests {
					if r := &out.Requests[i]; r.Call == machine.Acquire && s.in.Kind == machine.Wake && r.Floor > 0 {
						r.Call = machine.None
					}
				}
			},
		},
	}
}

// countsFromAnswer moves the deadlines that the machine reports. The candidate itself must
// then notice that they have passed.
func countsFromAnswer(s *situation, out *machine.Output) {
	out.Transitions = slices.DeleteFunc(out.Transitions, func(t machine.Transition) bool {
		return t.Kind == machine.Deposed && t.Why == machine.Expired
	})
	for i := range out.Transitions {
		if t := &out.Transitions[i]; t.Kind == machine.Elected || t.Kind == machine.Extended {
			t.Until = s.now + s.usable()
		}
	}
}

func takesLateGrants(s *situation, out *machine.Output) { useDeclined(s, out, machine.ErrTooLate) }

func namesNoFloor(out *machine.Output) {
	for i := range out.Requests {
		out.Requests[i].Floor = 0
	}
}

// useDeclined tells of a term where the machine has declined a grant.
func useDeclined(s *situation, out *machine.Output, why error) {
	for i := range out.Transitions {
		if t := &out.Transitions[i]; t.Kind == machine.Trouble && errors.Is(t.Err, why) {
			*t = machine.Transition{Kind: machine.Elected, At: s.now, Token: s.in.Token, Until: s.now + s.usable()}
			for k := range out.Requests {
				out.Requests[k].Call = machine.None // it was to be given back
			}
		}
	}
}

// releasesAtOnce tells the machine of the work's end when its term is over.
func releasesAtOnce(s *situation, out *machine.Output) {
	for _, t := range out.Transitions {
		if t.Kind == machine.Deposed {
			transitions, requests := slices.Clone(out.Transitions), slices.Clone(out.Requests)
			*out = s.machine.Step(s.now, machine.Input{Kind: machine.WorkEnded, Token: t.Token})
			out.Transitions, out.Requests = append(transitions, out.Transitions...), append(requests, out.Requests...)
			return
		}
	}
}

// plantedInScripts are about who is granted a lease after keys were lost.
func plantedInScripts() []plant {
	return []plant{
		{
			name: "grant-without-witness", what: "a grant does not tell the witness when the lease ends",
			old: "call('HSET', witness, 'of ' .. guard, ends)\nif own", new: "if own",
		}, {
			name: "renewal-without-witness", what: "a renewal does not tell the witness when the lease ends",
			old: "call('HSET', witness, 'of ' .. guard, ends) == 1", new: "false",
		}, {
			name: "grant-ignores-since", what: "a grant does not ask for how long the server has forgotten nothing",
			old: "math.max(since + most, doubt, ends)", new: "math.max(doubt, ends)",
		}, {
			name: "witness-keeps-since", what: "a witness that is made anew says that the server has never forgotten anything",
			old: "    since = now\n", new: "    since = 0\n",
		}, {
			name: "created-is-sure", what: "who creates an election says that the server has never forgotten anything",
			old: "call('SET', KEYS[2], '0')", new: "call('SET', KEYS[2], '0')\ncall('HSET', KEYS[4], 'since', '0')",
		}, {
			name: "counts-on", what: "tokens count on from the last one, and are not the server's time",
			old: "if protect == '1' or protect == '2' and older then", new: "if false then",
		},
	}
}

// plantedInBids are about leases that are passed on: who gets one, and for how long
// it is believed in.
func plantedInBids() []plant {
	return []plant{
		{
			name: "bid-from-receipt", what: "a lease that is passed on counts from the moment in which the news came in",
			after: func(s *situation, out *machine.Output) {
				if s.in.Kind == machine.HintPassed {
					countsFromAnswer(s, out)
				}
				hidesExpiry(out)
			},
		}, {
			name: "bid-of-others", what: "a lease that was passed on is believed in whatever it was asked for with",
			after: acceptsLateGrants,
		}, {
			name: "bid-announced-twice", what: "the second announcement of a lease that was passed on prolongs the belief",
			after: extendsAgain,
		}, {
			name: "bid-from-arrival", what: "a lease that is passed on lasts from the arrival of the bid on, by the store's clock",
			fromArrival: true,
		}, {
			name: "bid-after-rewind", what: "a store that went back passes a lease on",
			trusts: true,
		}, {
			name: "bid-of-releaser", what: "a lease is passed on to the candidate that gives it back",
			toReleaser: true,
		}, {
			name: "bid-not-withdrawn", what: "a candidate that stops leaves its bid standing",
			after: func(_ *situation, out *machine.Output) {
				for i := range out.Requests {
					if r := &out.Requests[i]; r.Call == machine.Withdraw {
						r.Call = machine.None
					}
				}
			},
		},
	}
}

// hidesExpiry takes the expiry out. The candidate itself must notice that its deadline has
// passed.
func hidesExpiry(out *machine.Output) {
	out.Transitions = slices.DeleteFunc(out.Transitions, func(t machine.Transition) bool {
		return t.Kind == machine.Deposed && t.Why == machine.Expired
	})
}

func acceptsLateGrants(s *situation, out *machine.Output) {
	if s.in.Kind == machine.HintPassed {
		useDeclined(s, out, machine.ErrStray)
	}
}

func extendsAgain(s *situation, out *machine.Output) {
	m := s.machine
	if s.in.Kind == machine.HintPassed && m.Role() == machine.Leader && m.Floor() == s.in.Token && len(out.Transitions) == 0 {
		out.Transitions = append(out.Transitions, machine.Transition{Kind: machine.Extended, Token: s.in.Token, Until: s.now + s.usable()})
	}
	hidesExpiry(out)
}
