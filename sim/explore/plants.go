package explore

import (
	"errors"
	"slices"

	"github.com/recount-io/recount/internal/machine"
)

// FindPlant is the planted bug with a name; without a name, it is none. It is nil if
// there is none of that name.
func FindPlant(name string) *Plant {
	if name == "" {
		return &Plant{}
	}
	for _, p := range Plants() {
		if p.Name == name {
			return &p
		}
	}
	return nil
}

// Plants are the planted bugs with a name. Each is the machine itself but for one
// thing.
func Plants() []Plant {
	return slices.Concat(plantedInBeliefs(), plantedInTurns(), plantedInBids(), plantedInScripts(), plantedInMajorities())
}

// plantedInBeliefs are about when a leader believes, and what it believes in.
func plantedInBeliefs() []Plant {
	return []Plant{
		{
			Name: "no-margin", What: "a belief lasts for as long as the lease was asked for",
			Config: func(c *machine.Config) { c.Drift = -float64(machine.Tick) / float64(c.Lease) },
		}, {
			Name: "no-drift-margin", What: "the deadline leaves no room for clocks that run at different rates",
			Config: func(c *machine.Config) { c.Drift = 0 },
		}, {
			Name: "counts-from-answer", What: "a lease counts from the moment in which the answer came in",
			After: countsFromAnswer,
		}, {
			Name: "late-grant", What: "a grant that comes too late is believed in for as long as one in time",
			After: takesLateGrants,
		}, {
			Name: "input-before-lapse", What: "an answer is looked at before what time has ended: it prolongs a belief that is over",
			Before: func(s *Situation) {
				if s.In.Kind == machine.Answer && s.Call == machine.Renew {
					s.Now -= machine.Tick
				}
			},
		}, {
			Name: "refusal-is-transient", What: "a renewal that the store refuses is repeated like one that failed",
			Before: func(s *Situation) {
				if s.Call == machine.Renew && s.In.Result == machine.NotHeld {
					s.In.Result, s.In.Err = machine.Unknown, errLost
				}
			},
		},
	}
}

// plantedInTurns are about how a term ends, and how the next one begins.
func plantedInTurns() []Plant {
	return []Plant{
		{
			Name: "releases-before-work-ends", What: "the lease is given back when the belief ends, while the work still runs",
			After: releasesAtOnce,
		}, {
			Name: "floor-not-raised", What: "tokens seen are not remembered: none is named to the store, and none refused",
			After: func(s *Situation, out *machine.Output) {
				namesNoFloor(out)
				useDeclined(s, out, machine.ErrTokenSeen)
			},
		}, {
			Name: "no-floor", What: "an attempt does not name the highest token known",
			After: func(_ *Situation, out *machine.Output) { namesNoFloor(out) },
		}, {
			Name: "tokens-unchecked", What: "a grant is used though its token is not larger than one seen before",
			After: func(s *Situation, out *machine.Output) { useDeclined(s, out, machine.ErrTokenSeen) },
		}, {
			Name: "drains-without-renewing", What: "a leader that waits for its work to end renews no more",
			After: func(s *Situation, out *machine.Output) {
				for i := range out.Requests {
					if s.Machine.Role() == machine.Draining && out.Requests[i].Call == machine.Renew {
						out.Requests[i].Call = machine.None
					}
				}
			},
		}, {
			Name: "believes-after-release", What: "a leader that resigns gives its lease back and believes on to its deadline",
			After: func(_ *Situation, out *machine.Output) {
				out.Transitions = slices.DeleteFunc(out.Transitions, func(t machine.Transition) bool {
					return t.Kind == machine.Deposed && t.Why == machine.Resigned
				})
			},
		}, {
			Name: "adopted-is-sure", What: "a store that went back takes who renews there to be the only one that believes",
			Sure: true,
		}, {
			Name: "wakes-in-the-past", What: "the time of the next wake-up is one tick early, which may be now",
			After: func(_ *Situation, out *machine.Output) { out.Wake -= machine.Tick },
		}, {
			Name: "waits-for-hints", What: "a candidate that is refused waits for the news of a release, and polls no more",
			After: func(s *Situation, out *machine.Output) {
				for i := range out.Requests {
					if r := &out.Requests[i]; r.Call == machine.Acquire && s.In.Kind == machine.Wake && r.Floor > 0 {
						r.Call = machine.None
					}
				}
			},
		},
	}
}

// countsFromAnswer moves the deadlines that are told, and leaves it to whoever is
// told to notice that they have passed.
func countsFromAnswer(s *Situation, out *machine.Output) {
	out.Transitions = slices.DeleteFunc(out.Transitions, func(t machine.Transition) bool {
		return t.Kind == machine.Deposed && t.Why == machine.Expired
	})
	for i := range out.Transitions {
		if t := &out.Transitions[i]; t.Kind == machine.Elected || t.Kind == machine.Extended {
			t.Until = s.Now + s.Usable()
		}
	}
}

func takesLateGrants(s *Situation, out *machine.Output) { useDeclined(s, out, machine.ErrTooLate) }

func namesNoFloor(out *machine.Output) {
	for i := range out.Requests {
		out.Requests[i].Floor = 0
	}
}

// useDeclined tells of a term where the machine has declined a grant.
func useDeclined(s *Situation, out *machine.Output, why error) {
	for i := range out.Transitions {
		if t := &out.Transitions[i]; t.Kind == machine.Trouble && errors.Is(t.Err, why) {
			*t = machine.Transition{Kind: machine.Elected, At: s.Now, Token: s.In.Token, Until: s.Now + s.Usable()}
			for k := range out.Requests {
				out.Requests[k].Call = machine.None // it was to be given back
			}
		}
	}
}

// releasesAtOnce tells the machine of the work's end when its term is over.
func releasesAtOnce(s *Situation, out *machine.Output) {
	for _, t := range out.Transitions {
		if t.Kind == machine.Deposed {
			transitions, requests := slices.Clone(out.Transitions), slices.Clone(out.Requests)
			*out = s.Machine.Step(s.Now, machine.Input{Kind: machine.WorkEnded, Token: t.Token})
			out.Transitions, out.Requests = append(transitions, out.Transitions...), append(requests, out.Requests...)
			return
		}
	}
}
