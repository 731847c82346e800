package explore

import (
	"slices"

	"github.com/recount-io/recount/internal/machine"
)

// plantedInBids are about leases that are passed on: who gets one, and for how long
// it is believed in.
func plantedInBids() []Plant {
	return []Plant{
		{
			Name: "bid-from-last-sending", What: "a lease that is passed on counts from the last request of its nonce",
			Before: func(s *Situation) { namesLastRequest(s); namesBid(s) },
		}, {
			Name: "bid-from-receipt", What: "a lease that is passed on counts from the moment in which the news came in",
			After: func(s *Situation, out *machine.Output) {
				if s.In.Kind == machine.HintPassed {
					countsFromAnswer(s, out)
				}
				believesOn(out)
			},
		}, {
			Name: "bid-from-last-refused", What: "a lease that is passed on counts from the request of its nonce that was refused last",
			Before: namesBid,
		}, {
			Name: "bid-tokens-unchecked", What: "a lease that was passed on is believed in though its token is not larger than one seen before",
			Before: unlearns,
		}, {
			Name: "bid-of-others", What: "a lease that was passed on is believed in whatever it was asked for with",
			After: believesStrays,
		}, {
			Name: "bid-told-twice", What: "the news of a lease that was passed on, told twice, prolongs the belief",
			After: extendsAgain,
		}, {
			Name: "bid-not-retired", What: "a bid stands on when it was granted, and its token is not compared with those seen",
			Before: notesBid, After: keepsBid,
		}, {
			Name: "bid-from-arrival", What: "a lease that is passed on lasts from the arrival of the bid on, by the store's clock",
			FromArrival: true,
		}, {
			Name: "bid-after-rewind", What: "a store that went back passes a lease on",
			Trusts: true,
		}, {
			Name: "bid-of-releaser", What: "a lease is passed on to whoever gives it back",
			ToReleaser: true,
		}, {
			Name: "bid-not-withdrawn", What: "a candidate that stops leaves its bid standing",
			After: func(_ *Situation, out *machine.Output) {
				for i := range out.Requests {
					if r := &out.Requests[i]; r.Call == machine.Withdraw {
						r.Call = machine.None
					}
				}
			},
		},
	}
}

func notesBid(s *Situation) { _, _, s.Sent = s.Machine.Bid() }

// namesBid makes what was passed on to any request of a nonce passed on to the one
// that was refused last.
func namesBid(s *Situation) {
	if nonce, number, _ := s.Machine.Bid(); s.In.Kind == machine.HintPassed && nonce == s.In.Nonce {
		s.In.Request = number
	}
}

func namesLastRequest(s *Situation) {
	if s.In.Kind != machine.HintPassed {
		return
	}
	if last := s.Machine.LastOf(s.In.Nonce); last != 0 {
		s.In.Request = last
	}
}

// believesOn leaves it to whoever was told a deadline to notice that it has passed.
func believesOn(out *machine.Output) {
	out.Transitions = slices.DeleteFunc(out.Transitions, func(t machine.Transition) bool {
		return t.Kind == machine.Deposed && t.Why == machine.Expired
	})
}

// unlearns makes the token of what was passed on larger than all that were seen.
func unlearns(s *Situation) {
	if s.In.Kind == machine.HintPassed {
		s.Machine.Unlearn(s.In.Token)
	}
}

func believesStrays(s *Situation, out *machine.Output) {
	if s.In.Kind == machine.HintPassed {
		useDeclined(s, out, machine.ErrStray)
	}
}

func extendsAgain(s *Situation, out *machine.Output) {
	m := s.Machine
	if s.In.Kind == machine.HintPassed && m.Role() == machine.Leader && m.Floor() == s.In.Token && len(out.Transitions) == 0 {
		out.Transitions = append(out.Transitions, machine.Transition{Kind: machine.Extended, Token: s.In.Token, Until: s.Now + s.Usable()})
	}
	believesOn(out)
}

// keepsBid leaves the bid where a term began by it, and begins another one by it if
// the news comes once more.
func keepsBid(s *Situation, out *machine.Output) {
	if s.In.Kind != machine.HintPassed {
		return
	}
	m := s.Machine
	nonce, number, sent := m.Bid()
	switch {
	case slices.ContainsFunc(out.Transitions, func(t machine.Transition) bool { return t.Kind == machine.Elected }):
		m.SetBid(s.In.Nonce, s.In.Request, s.Sent)
	case m.Role() == machine.Follower && nonce == s.In.Nonce && number == s.In.Request && s.Now < sent+s.Usable():
		out.Transitions = append(out.Transitions, machine.Transition{Kind: machine.Elected, At: s.Now, Token: s.In.Token, Until: sent + s.Usable()})
	}
}
