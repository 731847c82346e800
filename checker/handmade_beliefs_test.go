package checker

import (
	"testing"

	"github.com/recount-io/recount/history"
)

var belief = []Promise{BeliefWithinLease}

var handmadeBeliefs = []handmade{
	{"a tenth of a millisecond too long, with a margin", func(s *story) {
		s.stated(0, ms).acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1999*ms+100*us)
	}, belief, nil},
	{"to the nanosecond, with a margin", func(s *story) {
		s.stated(0, ms).acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1999*ms)
	}, nil, belief},
	{"sent and the lease less the drift, exactly", func(s *story) {
		s.stated(10_000, 0).acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1980*ms)
	}, nil, belief},
	{"the drift forgotten", func(s *story) {
		s.stated(10_000, 0).acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms)
	}, belief, nil},
	{"a millisecond too long, nothing stated", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2001*ms)
	}, belief, nil},
	{"rounded to whole milliseconds", func(s *story) {
		s.acquire("n1", "a", 300*us, 1700*us, 1).elected("n1", 1800*us, 1, 1800*us+1999*ms)
	}, nil, belief},
	{"counted from the answer", func(s *story) {
		s.acquire("n1", "a", 0, 40*ms, 1).elected("n1", 40*ms, 1, 2040*ms)
	}, belief, nil},
	{"two leases long, without tokens", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 0, 4000*ms)
	}, belief, nil},
	{"shorter than it might be", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 0, 1500*ms)
	}, nil, belief},
	{"extended after a renewal that was refused", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).
			renew("n1", 2500*ms, 2502*ms, history.Fail, 1).extended("n1", 2502*ms, 1, 4490*ms)
	}, []Promise{BeliefWithinLease, StepsDownOnLoss}, nil},
	{"extended after a renewal that had no answer", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms)
		s.op("n1", history.Renew, 700*ms, 0, "", token(1), history.Event{})
		s.extended("n1", 900*ms, 1, 2690*ms)
	}, belief, nil},
	{"a renewal without an answer, and no extension", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms)
		s.op("n1", history.Renew, 700*ms, 0, "", token(1), history.Event{})
		s.deposed("n1", 1990*ms, 1, history.Expired)
	}, nil, belief},
	{"extended by another node's renewal", func(s *story) {
		s.acquire("n2", "b", 0, 2*ms, 1).elected("n2", 2*ms, 1, 1990*ms).deposed("n2", 100*ms, 1, history.Resigned).release("n2", 100*ms, 101*ms, history.Ok, 1)
		s.acquire("n1", "a", 200*ms, 202*ms, 2).elected("n1", 202*ms, 2, 2190*ms).
			renew("n2", 900*ms, 902*ms, history.Fail, 1).extended("n1", 903*ms, 2, 2890*ms)
	}, belief, nil},
	{"extended by a renewal of an older term", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).deposed("n1", 100*ms, 1, history.Resigned).release("n1", 100*ms, 101*ms, history.Ok, 1)
		s.acquire("n1", "b", 200*ms, 202*ms, 2).elected("n1", 202*ms, 2, 2190*ms).
			renew("n1", 900*ms, 902*ms, history.Fail, 1).extended("n1", 903*ms, 2, 2890*ms)
	}, belief, nil},
	{"extended by a renewal in another election", func(s *story) {
		s.in("east", func(s *story) { s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms) })
		s.in("west", func(s *story) { s.acquire("n1", "b", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms) })
		s.in("west", func(s *story) { s.renew("n1", 900*ms, 902*ms, history.Ok, 1) })
		s.in("east", func(s *story) { s.extended("n1", 903*ms, 1, 2890*ms) })
	}, belief, nil},
	{"extended in two elections, each by its own renewal", func(s *story) {
		for _, name := range []string{"east", "west"} {
			s.in(name, func(s *story) {
				s.acquire("n1", "a"+name, 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).
					renew("n1", 900*ms, 902*ms, history.Ok, 1).extended("n1", 903*ms, 1, 2890*ms)
			})
		}
	}, nil, belief},
	{"extended to a renewal that was asked for only afterwards", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).
			extended("n1", 700*ms, 1, 2690*ms).renew("n1", 701*ms, 702*ms, history.Ok, 1)
	}, belief, nil},
	{"elected twice for one grant, the second time for longer", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 0, 1990*ms).deposed("n1", 1000*ms, 0, history.Failed).elected("n1", 1200*ms, 0, 3190*ms)
	}, belief, nil},
	{"the second of two renewals lost its answer, extended by the first", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).
			renew("n1", 600*ms, 602*ms, history.Ok, 1).extended("n1", 602*ms, 1, 2600*ms).renew("n1", 1200*ms, 1500*ms, history.Info, 1).
			extended("n1", 1500*ms, 1, 2600*ms)
	}, nil, belief},
	{"two renewals under way at a time, answered in the other order", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).
			renew("n1", 600*ms, 960*ms, history.Ok, 1).renew("n1", 900*ms, 950*ms, history.Ok, 1).
			extended("n1", 950*ms, 1, 2900*ms).extended("n1", 960*ms, 1, 2900*ms)
	}, nil, belief},
	{"never granted: its only attempt was refused", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).refused("n2", "b", 500*ms, 502*ms, "n1", 1).
			endless("n2", 3000*ms, 0).deposed("n2", 3500*ms, 0, history.Expired)
	}, []Promise{BeliefWithinLease, TokensIncrease}, nil},
	{"never granted: it asked for nothing, where others did", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 0, 1990*ms).deposed("n1", 1990*ms, 0, history.Expired).elected("n2", 3000*ms, 0, 4990*ms)
		s.acquire("n3", "c", 6000*ms, 6002*ms, 0).elected("n3", 6002*ms, 0, 7990*ms)
	}, belief, nil},
	{"only beliefs are reported", func(s *story) {
		s.elected("n1", 2*ms, 0, 1990*ms).extended("n1", 900*ms, 0, 2890*ms).deposed("n1", 2890*ms, 0, history.Expired).elected("n2", 3000*ms, 0, 4990*ms)
	}, nil, []Promise{AtMostOneLeader}},
	{"only requests are reported", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).renew("n1", 900*ms, 902*ms, history.Ok, 1).refused("n2", "b", 950*ms, 952*ms, "n1", 1)
	}, nil, []Promise{LeaseLinearizable}},
	{"nothing is reported", func(s *story) { s.start("n1", 0).start("n2", 0).endOfRun(5000 * ms) }, nil, nil},
	{"the answer was lost, and it sees that it holds the lease", func(s *story) {
		s.asked("n1", "a", 0, 300*ms).refused("n1", "b", 400*ms, 402*ms, "n1", 1).elected("n1", 402*ms, 1, 2000*ms)
	}, nil, nil},
	{"the answer was lost, and it observes that it holds the lease", func(s *story) {
		s.acquire("n2", "x", 0, 2*ms, 1).refused("n1", "z", 100*ms, 102*ms, "n2", 1).asked("n1", "a", 3000*ms, 3300*ms).observe("n1", 3400*ms, 3402*ms, "n1", 2).elected("n1", 3402*ms, 2, 5000*ms)
	}, nil, nil},
	{"the answer was lost, and its renewal succeeds", func(s *story) {
		s.acquire("n2", "x", 0, 2*ms, 0).elected("n2", 2*ms, 0, 2000*ms).refused("n1", "z", 100*ms, 102*ms, "n2", 0).
			asked("n1", "a", 3000*ms, 3300*ms).renew("n1", 3400*ms, 3402*ms, history.Ok, 0).elected("n1", 3402*ms, 0, 5400*ms)
	}, nil, nil},
	{"the answer was lost, and the store's record shows the grant, without tokens", func(s *story) {
		s.acquire("n2", "x", 0, 2*ms, 0).elected("n2", 2*ms, 0, 2000*ms).audit(history.Acquire, "n2", "x", 0, 2*ms, true)
		s.asked("n1", "a", 3000*ms, 3300*ms).audit(history.Acquire, "n1", "a", 0, 3100*ms, true).
			observe("n1", 3400*ms, 3402*ms, "n1", 0).elected("n1", 3402*ms, 0, 5000*ms)
	}, nil, nil},
	{"the answer was lost, and it observes that it holds the lease, after it gave another one back", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).deposed("n1", 500*ms, 1, history.Resigned).release("n1", 500*ms, 501*ms, history.Ok, 1).
			asked("n1", "b", 600*ms, 800*ms).observe("n1", 810*ms, 812*ms, "n1", 2).elected("n1", 812*ms, 2, 2590*ms).
			acquire("n2", "c", 3000*ms, 3002*ms, 3).elected("n2", 3002*ms, 3, 4990*ms)
	}, nil, []Promise{BeliefWithinLease, TokensIncrease, LeaseLinearizable}},
	{"the same without tokens", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 0, 1990*ms).deposed("n1", 500*ms, 0, history.Resigned).release("n1", 500*ms, 501*ms, history.Ok, 0).
			asked("n1", "b", 600*ms, 800*ms).observe("n1", 810*ms, 812*ms, "n1", 0).elected("n1", 812*ms, 0, 2590*ms)
	}, nil, belief},
	{"the answer was lost, and it observes that it holds the lease, after its renewal was refused", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 0, 1990*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 0).deposed("n1", 703*ms, 0, history.Superseded).
			asked("n1", "b", 800*ms, 1000*ms).observe("n1", 1010*ms, 1012*ms, "n1", 0).elected("n1", 1012*ms, 0, 2790*ms)
	}, nil, belief},
	{"the answer was lost, and it observes that it holds a lease of another token than before", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).void(300*ms).deposed("n1", 400*ms, 1, history.Failed).
			asked("n1", "b", 600*ms, 800*ms).observe("n1", 810*ms, 812*ms, "n1", 2).elected("n1", 812*ms, 2, 2590*ms).
			acquire("n2", "c", 3000*ms, 3002*ms, 3).elected("n2", 3002*ms, 3, 4990*ms)
	}, nil, []Promise{BeliefWithinLease, TokensIncrease}},
	{"the answer was lost, and it observes the lease that it had, after the renewal of an older one was refused", func(s *story) {
		s.acquire("n1", "z", 0, 2*ms, 1).elected("n1", 2*ms, 1, 100*ms).deposed("n1", 100*ms, 1, history.Resigned).release("n1", 100*ms, 102*ms, history.Ok, 1).
			acquire("n1", "a", 200*ms, 202*ms, 2).elected("n1", 202*ms, 2, 2200*ms).renew("n1", 300*ms, 302*ms, history.Fail, 1).
			asked("n1", "b", 900*ms, 1000*ms).observe("n1", 1010*ms, 1012*ms, "n1", 2).extended("n1", 1012*ms, 2, 2900*ms)
	}, belief, nil},
	{"extended by taking its own lease again with the same nonce", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).acquire("n1", "a", 700*ms, 702*ms, 1).extended("n1", 702*ms, 1, 2700*ms).
			acquire("n1", "a", 1400*ms, 1402*ms, 1).extended("n1", 1402*ms, 1, 3400*ms)
	}, nil, []Promise{BeliefWithinLease, LeaseLinearizable, TokensIncrease}},
	{"a lease that is asked for longer than the header's", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).last(func(*history.Event) { s.events[0].TTL = 9000 * ms }).elected("n1", 2*ms, 1, 9000*ms)
	}, nil, belief},
	{"a long lease renewed by a short one", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1)
		s.events[0].TTL = 9000 * ms
		s.elected("n1", 2*ms, 1, 9000*ms).renew("n1", 3000*ms, 3002*ms, history.Ok, 1).extended("n1", 3002*ms, 1, 9000*ms)
	}, belief, nil},
	{"on a clock that a fault of an unknown name skews", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1)
		s.add(history.Event{Kind: history.Fault, ID: "f", Fault: "my-clock", Phase: history.On, At: ms, Targets: []string{"n1"}, Effect: &history.Effect{Skews: true}}).
			elected("n1", 2*ms, 1, 2400*ms).
			add(history.Event{Kind: history.Fault, ID: "f", Fault: "my-clock", Phase: history.Off, At: 900 * ms})
	}, nil, nil},
	{"on a clock, while a fault of an unknown name does nothing known", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).fault("clock-rate-2", ms, 900*ms, nil, "n1").elected("n1", 2*ms, 1, 2400*ms)
	}, belief, nil},
	{"on a clock, while a fault skews another node's", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).fault("clock-rate", ms, 900*ms, nil, "n2").elected("n1", 2*ms, 1, 2400*ms)
	}, belief, nil},
	{"after a cut, which excuses no deadline", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).fault("partition", 100*ms, 900*ms, nil, "n1").elected("n1", 2*ms, 1, 2400*ms)
	}, belief, nil},
	{"that names no election, in a run with one", func(s *story) {
		s.in("jobs", func(s *story) { s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms) })
		s.renew("n1", 900*ms, 902*ms, history.Ok, 1).extended("n1", 902*ms, 1, 2890*ms).deposed("n1", 1500*ms, 1, history.Stopped)
	}, nil, belief},
	{"read off the wire, two at a time", func(s *story) {
		s.wired("n1", history.Acquire, 0, 2*ms, history.Ok).elected("n1", 2*ms, 0, 2000*ms).last(func(e *history.Event) { e.Evidence = history.FromWire })
		s.wired("n2", history.Acquire, 500*ms, 502*ms, history.Ok).elected("n2", 502*ms, 0, 2500*ms).last(func(e *history.Event) { e.Evidence = history.FromWire })
	}, []Promise{AtMostOneLeader, LeaseLinearizable}, nil},
	{"read off the wire, one after the other", func(s *story) {
		s.wired("n1", history.Acquire, 0, 2*ms, history.Ok).elected("n1", 2*ms, 0, 2000*ms).last(func(e *history.Event) { e.Evidence = history.FromWire })
		s.wired("n2", history.Acquire, 2100*ms, 2102*ms, history.Ok).elected("n2", 2102*ms, 0, 4100*ms).last(func(e *history.Event) { e.Evidence = history.FromWire })
	}, nil, nil},
}

// A candidate that believes to lead holds a lease that is good for it.
func TestHandmadeBeliefs(t *testing.T) { testHandmade(t, handmadeBeliefs, safety) }
