package checker

import (
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

var tokens = []Promise{TokensIncrease}

var handmadeTokens = []handmade{
	{"one after the other, from a high start and with jumps", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1_700_000_000_000_000).elected("n1", 2*ms, 1_700_000_000_000_000, 2000*ms)
		s.acquire("n2", "b", 3000*ms, 3002*ms, 1_700_000_009_000_000).elected("n2", 3002*ms, 1_700_000_009_000_000, 5000*ms)
		s.acquire("n1", "c", 6000*ms, 6002*ms, 1<<63).elected("n1", 6002*ms, 1<<63, 8000*ms)
	}, nil, []Promise{TokensIncrease, BeliefWithinLease, LeaseLinearizable}},
	{"one token for two terms that nobody recorded", func(s *story) { claimedTokens(4, 4)(s) }, tokens, nil},
	{"falling, reported only", func(s *story) { claimedTokens(4, 3)(s) }, tokens, nil},
	{"rising, reported only", func(s *story) { claimedTokens(4, 5, 90, 91)(s) }, nil, tokens},
	{"0 among others, reported only", func(s *story) { claimedTokens(4, 5, 0, 91)(s) }, tokens, nil},
	{"0 for all", func(s *story) { claimedTokens(0, 0, 0)(s) }, nil, nil},
	{"falling after a long time", func(s *story) { claimedTokens(4, 5, 6, 7, 8, 9, 5)(s) }, tokens, nil},
	{"falling grants, of which nobody believed in one", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).acquire("n2", "b", 3000*ms, 3002*ms, 6)
	}, []Promise{TokensIncrease, LeaseLinearizable}, nil},
	{"equal grants to two attempts", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).acquire("n1", "b", 3000*ms, 3002*ms, 7)
	}, []Promise{TokensIncrease, LeaseLinearizable}, nil},
	{"equal grants to one attempt", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).acquire("n1", "a", 300*ms, 302*ms, 7)
	}, nil, tokens},
	{"reported one more than was granted", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).elected("n1", 2*ms, 8, 2000*ms)
	}, []Promise{TokensIncrease, BeliefWithinLease}, nil},
	{"reported the token of the leader before", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).elected("n1", 2*ms, 7, 2000*ms).acquire("n2", "b", 3000*ms, 3002*ms, 8).elected("n2", 3002*ms, 7, 5000*ms)
	}, []Promise{TokensIncrease, BeliefWithinLease}, nil},
	{"reported the token that another node is granted later", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).elected("n1", 2*ms, 8, 2000*ms).acquire("n2", "b", 3000*ms, 3002*ms, 8).elected("n2", 3002*ms, 8, 5000*ms)
	}, []Promise{TokensIncrease, BeliefWithinLease}, nil},
	{"reported one more than was granted, on a store that had lost its data before", func(s *story) {
		s.void(0).acquire("n2", "b", 10*ms, 12*ms, 1).elected("n2", 12*ms, 1, 2000*ms).acquire("n1", "a", 3010*ms, 3012*ms, 7).elected("n1", 3012*ms, 8, 5000*ms)
	}, []Promise{TokensIncrease, BeliefWithinLease}, nil},
	{"granted with a token that the store's record lost with its data", func(s *story) {
		s.acquire("n2", "b", 0, 2*ms, 1).elected("n2", 2*ms, 1, 2000*ms).asked("n1", "a", 3000*ms, 3100*ms).
			void(3150*ms).audit(history.Acquire, "n2", "b", 1, 3200*ms, true).elected("n1", 3200*ms, 2, 4900*ms)
	}, nil, nil},
	{"granted with tokens, and reported without", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).elected("n1", 2*ms, 0, 2000*ms).acquire("n2", "b", 3000*ms, 3002*ms, 8).elected("n2", 3002*ms, 0, 5000*ms)
	}, nil, []Promise{TokensIncrease, BeliefWithinLease}},
	{"reported with tokens, and granted without", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 7, 2000*ms).acquire("n2", "b", 3000*ms, 3002*ms, 0).elected("n2", 3002*ms, 8, 5000*ms)
	}, nil, []Promise{TokensIncrease, BeliefWithinLease}},
	{"reported falling, and granted without", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 8, 2000*ms).acquire("n2", "b", 3000*ms, 3002*ms, 0).elected("n2", 3002*ms, 7, 5000*ms)
	}, tokens, nil},
	{"reported falling while both believe", func(s *story) {
		s.elected("n1", 0, 8, 3000*ms).elected("n2", 1000*ms, 7, 4000*ms)
	}, []Promise{AtMostOneLeader}, nil},
	{"one grant recorded of four, rising", func(s *story) {
		claimedTokens(4, 5, 90, 91)(s)
		s.acquire("n1", "a", 1*ms, 8*ms, 4)
	}, nil, tokens},
	{"one grant recorded of four, and the last one falls", func(s *story) {
		claimedTokens(4, 5, 90, 89)(s)
		s.acquire("n1", "a", 1*ms, 8*ms, 4)
	}, tokens, nil},
	{"counted for each election", func(s *story) {
		for i, name := range []string{"east", "west"} {
			s.in(name, func(s *story) {
				t := uint64(9 - i)
				s.acquire("n1", "a"+name, 0, 2*ms, t).elected("n1", 2*ms, t, 2000*ms)
			})
		}
		s.in("west", func(s *story) { s.acquire("n2", "b", 3000*ms, 3002*ms, 9).elected("n2", 3002*ms, 9, 5000*ms) })
	}, nil, tokens},
	{"falling in one of two elections", func(s *story) {
		s.in("east", claimedTokens(1, 2, 3)).in("west", claimedTokens(5, 6, 5))
	}, tokens, nil},
	{"falling in the store's record, to one that never heard of it", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).audit(history.Acquire, "n1", "a", 7, 2*ms, true)
		s.asked("n2", "b", 3000*ms, 3200*ms).audit(history.Acquire, "n2", "b", 6, 3100*ms, true)
	}, []Promise{TokensIncrease, LeaseLinearizable}, nil},
	{"a record that ends early", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).elected("n1", 2*ms, 7, 2000*ms).audit(history.Acquire, "n1", "a", 7, 3*ms, true)
		s.acquire("n2", "b", 3000*ms, 3002*ms, 8).elected("n2", 3002*ms, 8, 5000*ms)
	}, nil, []Promise{TokensIncrease, BeliefWithinLease}},
	{"elected in between, and its token reported late", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).acquire("n2", "b", 3000*ms, 3002*ms, 8).elected("n2", 3002*ms, 8, 5000*ms)
		s.add(history.Event{Kind: history.Elected, Node: "n1", At: 3010 * ms, Token: 7, Until: history.At(2000 * ms), Arrived: true})
	}, nil, tokens},
	{"the store forgot its counter", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).elected("n1", 2*ms, 7, 2000*ms).
			fault("flush", 2500*ms, 2501*ms, func(e *history.Event) { e.Void = true }, "store").
			acquire("n2", "b", 3000*ms, 3002*ms, 1).elected("n2", 3002*ms, 1, 5000*ms)
	}, tokens, nil},
	{"the answer was lost, and asked again with the same nonce while another waits", func(s *story) {
		s.asked("n1", "a", 0, 200*ms).refused("n2", "b", 100*ms, 102*ms, "n1", 7).acquire("n1", "a", 300*ms, 302*ms, 7).elected("n1", 302*ms, 7, 2300*ms)
	}, nil, []Promise{TokensIncrease, BeliefWithinLease, LeaseLinearizable}},
	{"a grant that nobody used, and the next token is two larger", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).elected("n1", 2*ms, 7, 2000*ms).asked("n2", "b", 3000*ms, 3200*ms).
			acquire("n1", "c", 6000*ms, 6002*ms, 9).elected("n1", 6002*ms, 9, 8000*ms)
	}, nil, tokens},
	{"elected again after a restart, by a new attempt", func(s *story) {
		s.start("n1", 0).acquire("n1", "a", ms, 2*ms, 7).elected("n1", 2*ms, 7, 2000*ms).ended("n1", 500*ms, history.Killed).start("n1", 600*ms).
			refused("n1", "b", 700*ms, 702*ms, "n1", 7).acquire("n1", "b", 2100*ms, 2102*ms, 8).elected("n1", 2102*ms, 8, 4100*ms)
	}, nil, []Promise{TokensIncrease, BeliefWithinLease, LeaseLinearizable}},
	{"extended with a token of another term of its own", func(s *story) {
		s.elected("n1", 0, 7, 2000*ms).elected("n1", 3000*ms, 8, 5000*ms).extended("n1", 3500*ms, 7, 5500*ms)
	}, tokens, nil},
	{"extended with a token of no term", func(s *story) {
		s.elected("n1", 0, 7, 2000*ms).extended("n1", 500*ms, 8, 2500*ms)
	}, []Promise{WellFormed}, nil},
	{"deposed from its older term after its new one began", func(s *story) {
		s.elected("n1", 0, 7, 2000*ms).elected("n1", 1500*ms, 8, 3500*ms).deposed("n1", 1510*ms, 7, history.Superseded).extended("n1", 1700*ms, 8, 3700*ms)
	}, nil, tokens},
}

// Tokens tell terms apart and put them in order.
func TestHandmadeTokens(t *testing.T) { testHandmade(t, handmadeTokens, safety) }

var handmadeLosses = []handmade{
	{"believed on for a second", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1)
	}, []Promise{StepsDownOnLoss}, nil},
	{"heeded at once", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1).
			deposed("n1", 703*ms, 1, history.Superseded)
	}, nil, []Promise{StepsDownOnLoss}},
	{"heeded within an eighth of a lease", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1).
			deposed("n1", 950*ms, 1, history.Superseded)
	}, nil, []Promise{StepsDownOnLoss}},
	{"with the words of another library: not owned", func(s *story) {
		s.elected("n1", 2*ms, 1, 2000*ms).failed("n1", 700*ms, 702*ms, 1, "Cannot extend a lock that's no longer owned").note(3000 * ms)
	}, []Promise{StepsDownOnLoss}, nil},
	{"no rights, which says nothing of the lease", func(s *story) {
		s.elected("n1", 2*ms, 1, 2000*ms).failed("n1", 700*ms, 702*ms, 1, "NOPERM this user has no permissions to run the 'evalsha' command").note(3000 * ms)
	}, nil, nil},
	{"a key of another kind, which says nothing of who holds the lease", func(s *story) {
		s.elected("n1", 2*ms, 1, 2000*ms).failed("n1", 700*ms, 702*ms, 1, "WRONGTYPE Operation against a key holding the wrong kind of value").note(3000 * ms)
	}, nil, nil},
	{"a table of another owner, which says nothing of who holds the lease", func(s *story) {
		s.elected("n1", 2*ms, 1, 2000*ms).failed("n1", 700*ms, 702*ms, 1, "ERROR: must be owner of table leases (SQLSTATE 42501)").note(3000 * ms)
	}, nil, nil},
	{"a server that holds no script, which says nothing of the lease", func(s *story) {
		s.elected("n1", 2*ms, 1, 2000*ms).failed("n1", 700*ms, 702*ms, 1, "NOSCRIPT No matching script. Please use EVAL.").note(3000 * ms)
	}, nil, nil},
	{"a threshold of replicas, which says nothing of the lease", func(s *story) {
		s.elected("n1", 2*ms, 1, 2000*ms).failed("n1", 700*ms, 702*ms, 1, "NOREPLICAS below the threshold of good replicas").note(3000 * ms)
	}, nil, nil},
	{"the beliefs tell tokens, the requests none", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 3, 2000*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 0).note(3000 * ms)
	}, []Promise{StepsDownOnLoss}, nil},
	{"the requests tell tokens, the beliefs none", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 3).elected("n1", 2*ms, 0, 2000*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 3).note(3000 * ms)
	}, []Promise{StepsDownOnLoss}, nil},
	{"a late refusal of an older term", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).renew("n1", 1900*ms, 3100*ms, history.Fail, 1).deposed("n1", 2000*ms, 1, history.Expired).
			acquire("n1", "b", 3000*ms, 3002*ms, 2).elected("n1", 3002*ms, 2, 5000*ms).note(9000 * ms)
	}, nil, []Promise{StepsDownOnLoss}},
	{"a late refusal of an older term, where beliefs tell no tokens", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 0, 2000*ms).renew("n1", 1900*ms, 3100*ms, history.Fail, 1).deposed("n1", 2000*ms, 0, history.Expired).
			acquire("n1", "b", 3000*ms, 3002*ms, 2).elected("n1", 3002*ms, 0, 5000*ms).note(9000 * ms)
	}, nil, []Promise{StepsDownOnLoss}},
	{"heeded, and believed again on a store that had lost its data", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1).
			deposed("n1", 703*ms, 1, history.Superseded).extended("n1", 900*ms, 1, 1990*ms)
	}, []Promise{StepsDownOnLoss}, nil},
	{"granted the same token anew by a store that had forgotten it", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1).
			deposed("n1", 703*ms, 1, history.Superseded).acquire("n1", "b", 800*ms, 802*ms, 1).extended("n1", 803*ms, 1, 2790*ms)
	}, []Promise{TokensIncrease}, []Promise{StepsDownOnLoss}},
	{"believed on, and the machine held up another one for a moment", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1).
			stall(800, 810, "n3").note(3000 * ms)
	}, []Promise{StepsDownOnLoss}, nil},
	{"paused when it learned it, and believed on when it went on", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1).
			fault("pause", 710*ms, 1200*ms, nil, "n1").deposed("n1", 1801*ms, 1, history.Superseded)
	}, []Promise{StepsDownOnLoss}, nil},
	{"paused when it learned it, and the history ends with that", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).renew("n1", 500*ms, 502*ms, history.Ok, 1).extended("n1", 502*ms, 1, 2490*ms).
			void(600*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1).fault("pause", 710*ms, 1800*ms, nil, "n1")
	}, nil, []Promise{StepsDownOnLoss}},
	{"paused when it learned it", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).void(300*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1).
			fault("pause", 710*ms, 1800*ms, nil, "n1").deposed("n1", 1801*ms, 1, history.Superseded)
	}, nil, []Promise{StepsDownOnLoss}},
	{"refused in another election", func(s *story) {
		s.in("east", func(s *story) { s.elected("n1", 2*ms, 1, 2000*ms) })
		s.in("west", func(s *story) { s.elected("n1", 2*ms, 1, 500*ms).renew("n1", 700*ms, 702*ms, history.Fail, 1) })
		s.note(3000 * ms)
	}, nil, []Promise{StepsDownOnLoss}},
	{"refused to another node", func(s *story) {
		s.elected("n1", 2*ms, 0, 2000*ms).renew("n2", 700*ms, 702*ms, history.Fail, 0).note(3000 * ms)
	}, nil, []Promise{StepsDownOnLoss}},
}

// void adds a fault that deletes leases.
func (s *story) void(at time.Duration) *story {
	return s.fault("key-deleted", at, at+ms, func(e *history.Event) { e.Void = true }, "store")
}

// A candidate that learns that its lease is over believes no longer.
func TestHandmadeLosses(t *testing.T) { testHandmade(t, handmadeLosses, safety) }
