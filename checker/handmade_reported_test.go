package checker

import (
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// arrived says of the event that was added last that the harness stamped it.
func (s *story) arrived() *story { return s.last(func(e *history.Event) { e.Arrived = true }) }

// late says of the begin of the operation that was added last that the harness stamped
// it, when it had read the line so much too late.
func (s *story) late(by time.Duration) *story {
	for i := range s.events {
		if e := &s.events[i]; e.Kind == history.Invoke && e.Op == s.ops {
			e.At, e.Arrived = e.At+by, true
		}
	}
	return s
}

// repeats adds a leader that says in each round, without a token and in a line without
// a stamp, that it was elected.
func (s *story) repeats(node string, from, to int64) *story {
	for at := from; at <= to; at += 200 {
		s.untimed(history.Elected, node, msec(at), 1800*ms)
	}
	return s
}

var handmadeReported = []handmade{
	{"a deadline that is over when the belief begins", func(s *story) {
		s.elected("n1", 1000*ms, 1, 500*ms).extended("n1", 1050*ms, 1, 1080*ms).elected("n2", 1100*ms, 2, 3000*ms)
	}, nil, []Promise{AtMostOneLeader}},
	{"a release whose begin was read late", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).release("n1", 500*ms, 530*ms, history.Ok, 1).late(20*ms).acquire("n2", "b", 505*ms, 506*ms, 2)
	}, nil, []Promise{LeaseLinearizable}},
	{"a release whose begin was read a second late", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).release("n1", 500*ms, 1530*ms, history.Ok, 1).late(1000*ms).acquire("n2", "b", 505*ms, 506*ms, 2)
	}, []Promise{LeaseLinearizable}, nil},
	{"a renewal whose begin was read late, and the deadline that counts from there", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).
			renew("n1", 700*ms, 730*ms, history.Ok, 1).late(20*ms).extended("n1", 730*ms, 1, 2720*ms)
	}, nil, belief},
	{"a renewal whose begin was read late, and a later deadline", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).
			renew("n1", 700*ms, 730*ms, history.Ok, 1).late(20*ms).extended("n1", 730*ms, 1, 2731*ms)
	}, belief, nil},
	{"a farewell that was read late", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).deposed("n1", 1000*ms+500*us, 1, history.Resigned).arrived().elected("n2", 1000*ms, 2, 3000*ms)
	}, nil, []Promise{AtMostOneLeader}},
	{"a farewell that was reported late", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).deposed("n1", 1000*ms+500*us, 1, history.Resigned).elected("n2", 1000*ms, 2, 3000*ms)
	}, []Promise{AtMostOneLeader}, nil},
	{"a farewell that was read a second late", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).deposed("n1", 2000*ms, 1, history.Resigned).arrived().elected("n2", 1000*ms, 2, 3000*ms)
	}, []Promise{AtMostOneLeader}, nil},
	{"two that tell in each round that they lead", func(s *story) {
		s.repeats("n1", 0, 19_800).repeats("n2", 5000, 15_000)
	}, []Promise{AtMostOneLeader}, nil},
	{"one that tells in each round that it leads, and another one after its last round", func(s *story) {
		s.repeats("n1", 0, 4800).deposed("n1", 5200*ms, 0, history.Resigned).arrived().repeats("n2", 5000, 15_000)
	}, nil, []Promise{AtMostOneLeader}},
	{"a farewell and a next election that were read late together, and another one between them", func(s *story) {
		s.untimed(history.Elected, "n1", 0, 1800*ms).elected("n2", 60*ms, 0, 100*ms).
			deposed("n1", 300*ms, 0, history.Resigned).arrived().untimed(history.Elected, "n1", 300*ms, 1800*ms)
	}, nil, []Promise{AtMostOneLeader}},
	{"a deadline that may have passed before the next election, and another one between them", func(s *story) {
		s.untimed(history.Elected, "n1", 0, 200*ms).elected("n2", 50*ms, 0, 150*ms).untimed(history.Elected, "n1", 199*ms, 1800*ms)
	}, nil, []Promise{AtMostOneLeader}},
	{"a stamped term, and a next one that was read late and is soon over", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).elected("n1", 500*ms, 2, 2500*ms).deposed("n1", 550*ms, 2, history.Resigned).arrived().elected("n2", 450*ms, 3, 2500*ms)
	}, []Promise{AtMostOneLeader}, nil},
	{"a deadline that counts from when the line was read", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 40*ms, 1, 2038*ms).arrived().acquire("n2", "b", 2001*ms, 2002*ms, 2).elected("n2", 2003*ms, 2, 4000*ms)
	}, nil, []Promise{AtMostOneLeader, BeliefWithinLease}},
	{"a line that was read a second late", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 1000*ms, 1, 2998*ms).arrived()
	}, belief, nil},
	{"a belief that is noted just before the answer", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms-100*us, 1, 2000*ms).
			renew("n1", 700*ms, 702*ms, history.Ok, 1).extended("n1", 702*ms-100*us, 1, 2700*ms)
	}, nil, belief},
	{"a lease renewed for less, soon", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1)
		s.events[0].TTL = 9000 * ms
		s.elected("n1", 2*ms, 1, 9000*ms).renew("n1", 1000*ms, 1002*ms, history.Ok, 1).extended("n1", 1002*ms, 1, 9000*ms)
	}, belief, nil},
	{"elected after it observed that another one holds the lease", func(s *story) {
		s.acquire("n2", "x", 0, 2*ms, 0).elected("n2", 2*ms, 0, 500*ms).deposed("n2", 500*ms, 0, history.Failed).
			refused("n1", "a", 590*ms, 592*ms, "n2", 0).observe("n1", 600*ms, 602*ms, "n2", 0).elected("n1", 602*ms, 0, 2000*ms)
	}, belief, nil},
	{"the answer was lost, and the deadline counts from the observation", func(s *story) {
		s.asked("n1", "a", 0, 300*ms).observe("n1", 900*ms, 902*ms, "n1", 1).elected("n1", 902*ms, 1, 2900*ms)
	}, belief, nil},
	{"asked again without an answer, and it observes the lease that it had", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).asked("n1", "a", 700*ms, 900*ms).observe("n1", 950*ms, 951*ms, "n1", 1).extended("n1", 951*ms, 1, 2700*ms)
	}, belief, nil},
	{"elected when its request had no answer", func(s *story) {
		s.acquire("n2", "x", 0, 2*ms, 1).elected("n2", 2*ms, 1, 2000*ms).deposed("n2", 2000*ms, 1, history.Expired).
			asked("n1", "a", 3000*ms, 3300*ms).elected("n1", 3300*ms, 2, 5000*ms).
			acquire("n3", "c", 6000*ms, 6002*ms, 3).elected("n3", 6002*ms, 3, 8000*ms)
	}, []Promise{BeliefWithinLease, TokensIncrease}, nil},
	{"a lease that was passed on, counted from when that was heard, and renewed at once", func(s *story) {
		s.acquire("n2", "x", 0, ms, 1).refused("n1", "a", 2*ms, 3*ms, "n2", 1).last(func(e *history.Event) { e.Stands = true }).release("n2", 250*ms, 299*ms, history.Ok, 1).
			standing("n1", "a", 2*ms, 300*ms, 2).elected("n1", 300*ms, 2, 2299*ms).renew("n1", 300*ms, 301*ms, history.Ok, 2)
	}, belief, nil},
	{"a belief that goes on when its lease was given back", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).release("n1", 600*ms, 602*ms, history.Ok, 1).note(3000 * ms)
	}, []Promise{StepsDownOnLoss}, nil},
	{"a belief that ends just after its lease was given back", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms).release("n1", 600*ms, 602*ms, history.Ok, 1).deposed("n1", 610*ms, 1, history.Resigned).note(3000 * ms)
	}, nil, []Promise{StepsDownOnLoss}},
	{"a deadline that lies before it is reported", func(s *story) {
		s.acquire("n1", "a", 0, 2300*ms, 1).elected("n1", 2300*ms, 1, 2000*ms).acquire("n2", "b", 4400*ms, 4401*ms, 2).elected("n2", 4401*ms, 2, 6000*ms)
	}, nil, []Promise{AtMostOneLeader, BeliefWithinLease}},
	{"extended when its deadline had passed, by a renewal that succeeded", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1900*ms).renew("n1", 1800*ms, 1950*ms, history.Ok, 1).extended("n1", 1950*ms, 1, 3800*ms)
	}, nil, []Promise{AtMostOneLeader, BeliefWithinLease}},
	{"not held, in the words of a class", func(s *story) {
		s.elected("n1", 2*ms, 1, 2000*ms).failed("n1", 700*ms, 702*ms, 1, "LockNotOwnedError").note(3000 * ms)
	}, []Promise{StepsDownOnLoss}, nil},
	{"not held, in the words of a Go library", func(s *story) {
		s.elected("n1", 2*ms, 1, 2000*ms).failed("n1", 700*ms, 702*ms, 1, "redislock: lock not held").note(3000 * ms)
	}, []Promise{StepsDownOnLoss}, nil},
	{"a renewal of its older attempt is refused, without tokens", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 0).elected("n1", 2*ms, 0, 2000*ms).deposed("n1", 2000*ms, 0, history.Expired).
			acquire("n1", "b", 3000*ms, 3002*ms, 0).elected("n1", 3002*ms, 0, 5000*ms)
		s.op("n1", history.Renew, 3400*ms, 3402*ms, history.Fail, nonce("a"), history.Event{})
		s.note(9000 * ms)
	}, nil, []Promise{StepsDownOnLoss}},
	{"a new process of the node begins, and the old one's belief is over", func(s *story) {
		s.start("n1", 0).elected("n1", 10*ms, 1, 2000*ms).start("n1", 500*ms).elected("n2", 600*ms, 2, 2500*ms)
	}, nil, []Promise{AtMostOneLeader}},
	{"a process that exits as it was asked to", func(s *story) {
		s.elected("n1", 10*ms, 1, 2000*ms).ended("n1", 500*ms, history.Dismissed).elected("n2", 600*ms, 2, 2500*ms)
	}, nil, []Promise{AtMostOneLeader}},
	{"extended by a process that has exited", func(s *story) {
		s.elected("n1", 10*ms, 1, 900*ms).ended("n1", 500*ms, history.ByItself).extended("n1", 800*ms, 1, 2700*ms).elected("n2", 1000*ms, 2, 2500*ms)
	}, []Promise{AtMostOneLeader}, nil},
	{"elected before its process began", func(s *story) {
		s.elected("n1", 0, 1, 900*ms).start("n1", 100*ms).elected("n2", 500*ms, 2, 2500*ms)
	}, nil, []Promise{AtMostOneLeader}},
	{"deposed twice", func(s *story) {
		s.elected("n1", 0, 1, 900*ms).deposed("n1", 100*ms, 1, history.Failed).deposed("n1", 100*ms, 1, history.Stopped).elected("n2", 500*ms, 2, 2500*ms)
	}, nil, []Promise{AtMostOneLeader, WellFormed}},
	{"deposed in the other election", func(s *story) {
		s.in("east", func(s *story) { s.elected("n1", 0, 1, 2000*ms) })
		s.in("west", func(s *story) { s.elected("n1", 0, 1, 2000*ms).deposed("n1", 100*ms, 1, history.Failed) })
		s.in("east", func(s *story) { s.elected("n2", 500*ms, 2, 2500*ms) })
	}, []Promise{AtMostOneLeader}, nil},
	{"three leaders, one after the other, each by the clock", func(s *story) {
		s.header.ClockError = ms
		s.elected("n1", 0, 1, 1000*ms).elected("n2", 1000*ms-900*us, 2, 2000*ms).elected("n3", 2000*ms-900*us, 3, 3000*ms)
	}, nil, []Promise{AtMostOneLeader}},
}

// Each event counts for what it reports, at the time at which it was reported.
func TestHandmadeReported(t *testing.T) { testHandmade(t, handmadeReported, safety) }
