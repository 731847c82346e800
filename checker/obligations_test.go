package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// led is a story in which n1 was granted token 1 at 0 to 2 ms, with a lease of 2 s,
// a drift of 1 % and a margin of 1 ms: it may believe until 1979 ms.
func ledStory() *story {
	s := newStory()
	s.header.DriftPPM, s.header.Margin = 10_000, ms
	return s.acquire("n1", "a", 0, 2*ms, 1)
}

// claimedTokens is a story in which nobody reports requests, and only beliefs name tokens.
func claimedTokens(tokens ...uint64) func(*story) {
	return func(s *story) {
		for i, token := range tokens {
			at := time.Duration(i) * 3000 * ms
			s.elected("n"+string(rune('1'+i%3)), at+10*ms, token, at+1900*ms)
		}
	}
}

// wired adds the events of an operation as they are read off the wire.
func (s *story) wired(node string, call history.Call, from, to time.Duration, kind history.Kind) *story {
	s.ops++
	e := history.Event{Kind: history.Invoke, Node: node, Call: call, At: from, Op: s.ops, TTL: 2000 * ms, Evidence: history.FromWire}
	s.add(e)
	e.Kind, e.At, e.TTL = kind, to, 0
	return s.add(e)
}

// endless adds an election without a deadline.
func (s *story) endless(node string, at time.Duration, t uint64) *story {
	return s.add(history.Event{Kind: history.Elected, Node: node, At: at, Token: t})
}

// untimed adds a belief that is said without a time, to end so long after it is read.
func (s *story) untimed(kind history.Kind, node string, at, lasts time.Duration) *story {
	return s.add(history.Event{Kind: kind, Node: node, At: at, Until: history.At(at + lasts), Arrived: true})
}

// failed adds a renewal that failed with an error's text.
func (s *story) failed(node string, from, to time.Duration, t uint64, text string) *story {
	s.op(node, history.Renew, from, to, history.Fail, token(t), history.Event{Error: text})
	return s
}

// obligations are the smallest histories that show each step that is held to the
// record by itself: no second candidate has to be elected just then.
var obligations = []struct {
	name    string
	story   func() *story
	promise Promise
	want    Verdict
}{
	// A belief lies within the lease that backs it.
	{"a deadline with drift and margin", func() *story { return ledStory().elected("n1", 2*ms, 1, 1979*ms) }, BeliefWithinLease, Pass},
	{"a deadline without the margin", func() *story { return ledStory().elected("n1", 2*ms, 1, 1980*ms) }, BeliefWithinLease, Fail},
	{"the lease divided by one and the drift", func() *story {
		return ledStory().elected("n1", 2*ms, 1, 2000*ms*100/101-ms)
	}, BeliefWithinLease, Fail},
	{"the drift of the renewal interval", func() *story { return ledStory().elected("n1", 2*ms, 1, 2000*ms-7*ms-ms) }, BeliefWithinLease, Fail},
	{"an extension that counts from the answer", func() *story {
		return ledStory().elected("n1", 2*ms, 1, 1979*ms).renew("n1", 700*ms, 703*ms, history.Ok, 1).extended("n1", 703*ms, 1, 703*ms+1979*ms)
	}, BeliefWithinLease, Fail},
	{"an extension by a renewal that had no answer yet", func() *story {
		return ledStory().elected("n1", 2*ms, 1, 1979*ms).renew("n1", 700*ms, 903*ms, history.Ok, 1).extended("n1", 800*ms, 1, 700*ms+1979*ms)
	}, BeliefWithinLease, Fail},
	{"an extension by a renewal of unknown outcome", func() *story {
		return ledStory().elected("n1", 2*ms, 1, 1979*ms).renew("n1", 700*ms, 900*ms, history.Info, 1).extended("n1", 901*ms, 1, 700*ms+1979*ms)
	}, BeliefWithinLease, Fail},
	{"a right extension", func() *story {
		return ledStory().elected("n1", 2*ms, 1, 1979*ms).renew("n1", 700*ms, 703*ms, history.Ok, 1).extended("n1", 703*ms, 1, 700*ms+1979*ms)
	}, BeliefWithinLease, Pass},
	{"a deadline of a clock that a fault holds", func() *story {
		return ledStory().elected("n1", 2*ms, 1, 1990*ms).fault("clock-rate", ms, 900*ms, nil, "n1").note(3000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline", func() *story { return ledStory().endless("n1", 2*ms, 1) }, BeliefWithinLease, Pass},
	{"a deadline beyond what was read off the wire", func() *story {
		s := newStory()
		return s.wired("n1", history.Acquire, 0, 2*ms, history.Ok).elected("n1", 2*ms, 0, 2002*ms)
	}, BeliefWithinLease, Fail},
	{"a deadline within what was read off the wire", func() *story {
		s := newStory()
		return s.wired("n1", history.Acquire, 0, 2*ms, history.Ok).elected("n1", 2*ms, 0, 2000*ms)
	}, BeliefWithinLease, Pass},
	{"a belief stamped by a coarse clock, before the request that the wire shows", func() *story {
		s := newStory()
		return s.wired("n1", history.Acquire, 12*ms, 14*ms, history.Ok).elected("n1", 10*ms, 1, 1970*ms).
			wired("n1", history.Renew, 712*ms, 714*ms, history.Ok).extended("n1", 710*ms, 1, 2670*ms)
	}, BeliefWithinLease, Pass},
	{"a late line that says a right time to go", func() *story {
		s := newStory().acquire("n1", "a", 0, 2*ms, 1)
		return s.add(history.Event{Kind: history.Elected, Node: "n1", At: 40 * ms, Token: 1, Until: history.At(2030 * ms), Arrived: true})
	}, BeliefWithinLease, Pass},
	{"a line that came at once, of a deadline that counts from the answer", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 40*ms, history.Ok).untimed(history.Elected, "n1", 41*ms, 2000*ms)
	}, BeliefWithinLease, Fail},
	{"a late line of a deadline that counts from the request", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 40*ms, history.Ok).untimed(history.Elected, "n1", 140*ms, 1960*ms)
	}, BeliefWithinLease, Pass},
	{"a late line of a deadline that may belong to the answer before the last one", func() *story {
		return newStory().wired("n1", history.Acquire, 0, ms, history.Ok).wired("n1", history.Renew, 100*ms, 200*ms, history.Ok).
			untimed(history.Elected, "n1", 210*ms, 1999*ms)
	}, BeliefWithinLease, Pass},
	{"a line of a deadline that counts from the answer, and cannot belong to one long before", func() *story {
		return newStory().wired("n1", history.Acquire, 0, ms, history.Ok).untimed(history.Elected, "n1", 2*ms, 1900*ms).
			wired("n1", history.Renew, 600*ms, 640*ms, history.Ok).untimed(history.Extended, "n1", 641*ms, 1999*ms).
			wired("n1", history.Renew, 1200*ms, 1240*ms, history.Ok).untimed(history.Extended, "n1", 1300*ms, 1999*ms)
	}, BeliefWithinLease, Fail},
	{"a line that came before its answer", func() *story {
		return newStory().wired("n1", history.Acquire, 0, ms, history.Ok).untimed(history.Elected, "n1", 2*ms, 1900*ms).
			untimed(history.Extended, "n1", 101*ms, 2000*ms).wired("n1", history.Renew, 100*ms, 140*ms, history.Ok)
	}, BeliefWithinLease, Fail},
	{"a line of a deadline that counts from the answer, just before another answer", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 40*ms, history.Ok).untimed(history.Elected, "n1", 41*ms, 1900*ms).
			untimed(history.Extended, "n1", 200*ms, 2000*ms).wired("n1", history.Renew, 201*ms, 201*ms, history.Ok)
	}, BeliefWithinLease, Fail},
	{"a line that the machine may have held up", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 40*ms, history.Ok).untimed(history.Elected, "n1", 41*ms, 2000*ms).
			fault(history.StallFault, 10*ms, 50*ms, nil, "n1")
	}, BeliefWithinLease, Pass},

	// A candidate that believes until further notice gives notice when its lease ends.
	{"no deadline, and no renewal", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).note(5000 * ms)
	}, BeliefWithinLease, Fail},
	{"no deadline, and nobody reports a renewal", func() *story { return ledStory().endless("n1", 2*ms, 1).note(5000 * ms) }, BeliefWithinLease, Pass},
	{"no deadline, and the last renewals have no answer", func() *story {
		return ledStory().endless("n1", 2*ms, 1).renew("n1", 700*ms, 702*ms, history.Ok, 1).renew("n1", 1400*ms, 1900*ms, history.Info, 1).
			renew("n1", 2100*ms, 2600*ms, history.Info, 1).note(5000 * ms)
	}, BeliefWithinLease, Fail},
	{"no deadline, and an answer that comes long after the lease", func() *story {
		return ledStory().endless("n1", 2*ms, 1).renew("n1", 1900*ms, 2600*ms, history.Ok, 1).deposed("n1", 2700*ms, 1, history.Resigned).note(5000 * ms)
	}, BeliefWithinLease, Fail},
	{"no deadline, and renewed to the end", func() *story {
		return ledStory().endless("n1", 2*ms, 1).renew("n1", 1900*ms, 1902*ms, history.Ok, 1).renew("n1", 3800*ms, 3802*ms, history.Ok, 1).note(5000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, again and again, and renewed to the end", func() *story {
		return ledStory().endless("n1", 2*ms, 1).renew("n1", 1900*ms, 1902*ms, history.Ok, 1).add(history.Event{Kind: history.Extended, Node: "n1", At: 1903 * ms, Token: 1}).
			renew("n1", 3800*ms, 3802*ms, history.Ok, 1).add(history.Event{Kind: history.Extended, Node: "n1", At: 3803 * ms, Token: 1}).note(5000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, again and again, without a renewal", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).
			add(history.Event{Kind: history.Extended, Node: "n1", At: 1500 * ms}).add(history.Event{Kind: history.Extended, Node: "n1", At: 3000 * ms})
	}, BeliefWithinLease, Fail},
	{"no deadline, and then one that is right", func() *story {
		return ledStory().endless("n1", 2*ms, 1).renew("n1", 1900*ms, 1902*ms, history.Ok, 1).extended("n1", 1903*ms, 1, 3879*ms).note(9000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, and then one in a line that the machine held up", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).wired("n1", history.Renew, 700*ms, 702*ms, history.Ok).
			fault(history.StallFault, 710*ms, 1100*ms, nil, "n1").untimed(history.Extended, "n1", 1100*ms, 1998*ms).note(5000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, and notice when the lease ends", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).deposed("n1", 2200*ms, 0, history.Expired).note(5000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, and notice half a second later", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).deposed("n1", 2500*ms, 0, history.Expired).note(5000 * ms)
	}, BeliefWithinLease, Fail},
	{"no deadline, of a process that ends", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).exit("n1", 1900*ms).note(5000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, at the end of the run", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).
			add(history.Event{Kind: history.Note, At: 2100 * ms, Text: history.EndOfRunNote}).note(5000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, of a process that stands still, and notice when it goes on", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).fault("pause", 1000*ms, 4000*ms, nil, "n1").
			deposed("n1", 4100*ms, 0, history.Expired).note(5000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, of a process that stands still, and no notice", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).fault("pause", 1000*ms, 4000*ms, nil, "n1").note(5000 * ms)
	}, BeliefWithinLease, Fail},
	{"no deadline, on a clock that a fault holds", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).fault("clock-rate", 100*ms, 5000*ms, nil, "n1").note(5000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, and a request on the lease that is not understood", func() *story {
		s := newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).wired("n1", history.Renew, 1000*ms, 1002*ms, history.Info)
		s.events[len(s.events)-2].TTL = 24 * time.Hour
		return s.note(5000 * ms)
	}, BeliefWithinLease, Pass},
	{"no deadline, on a lock of which little is understood", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).endless("n1", 2*ms, 0).
			add(history.Event{Kind: history.Note, At: 5000 * ms, Text: "read", Wire: &history.Wire{Lock: "e:lock", Operations: 10, Understood: 5}})
	}, BeliefWithinLease, Pass},
	{"elected after a refusal", func() *story {
		return ledStory().elected("n1", 2*ms, 1, 1979*ms).refused("n2", "b", 10*ms, 12*ms, "n1", 1).elected("n2", 13*ms, 2, 1979*ms)
	}, BeliefWithinLease, Fail},

	{"elected after a refusal, by what was read of a key that may be no lock", func() *story {
		return newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok).wired("n2", history.Acquire, 10*ms, 12*ms, history.Fail).elected("n2", 13*ms, 2, 1979*ms).
			add(history.Event{Kind: history.Note, At: 5000 * ms, Text: "read", Wire: &history.Wire{Operations: 10}})
	}, BeliefWithinLease, Unknown},

	// Who leads no more writes no more, with tokens and without.
	{"a writer who never was elected", func() *story {
		return newStory().elected("n1", 0, 0, 2000*ms).write("n2", 300*ms, 301*ms, history.Ok, 0, "x", 0)
	}, WriteWithinTerm, Fail},
	{"a write long after the writer's deadline, without tokens", func() *story {
		return newStory().elected("n1", 0, 0, 2000*ms).write("n1", 2500*ms, 2501*ms, history.Ok, 0, "x", 0)
	}, WriteWithinTerm, Fail},
	{"a write long after deposed", func() *story {
		return newStory().elected("n1", 0, 3, 9000*ms).deposed("n1", 100*ms, 3, history.Resigned).write("n1", 500*ms, 501*ms, history.Fail, 3, "x", 4)
	}, WriteWithinTerm, Fail},
	{"a write with a token of nobody's term", func() *story {
		return newStory().elected("n1", 0, 3, 9000*ms).write("n1", 500*ms, 501*ms, history.Ok, 4, "x", 0)
	}, WriteWithinTerm, Fail},
	{"a write of a process that stood still in between", func() *story {
		return newStory().elected("n1", 0, 0, 2000*ms).fault("pause", 1900*ms, 2499*ms, nil, "n1").write("n1", 2500*ms, 2501*ms, history.Ok, 0, "x", 0)
	}, WriteWithinTerm, Pass},
	{"a write just before the program says so", func() *story {
		return newStory().write("n1", 8*ms, 9*ms, history.Ok, 3, "x", 0).elected("n1", 10*ms, 3, 2000*ms)
	}, WriteWithinTerm, Pass},

	{"a third write in a row after the term, of a writer in step", func() *story {
		s := newStory().elected("n1", 0, 3, 1000*ms)
		s.header.Write = 10 * ms
		for at := 980 * ms; at < 1040*ms; at += 10 * ms {
			s.write("n1", at, at+ms, history.Ok, 3, "x", 0)
		}
		return s
	}, WriteWithinTerm, Fail},
	{"two writes on their way when the term ends, of a writer in step", func() *story {
		s := newStory().elected("n1", 0, 3, 1000*ms)
		s.header.Write = 10 * ms
		return s.write("n1", 1001*ms, 1002*ms, history.Ok, 3, "x", 0).write("n1", 1003*ms, 1004*ms, history.Ok, 3, "x", 0)
	}, WriteWithinTerm, Pass},
	{"a write of the first of two terms with one token", func() *story {
		return newStory().elected("n1", 0, 3, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 3, "x", 0).exit("n1", 200*ms).elected("n1", 3000*ms, 3, 5000*ms)
	}, WriteWithinTerm, Pass},
	{"a write without the token of its term, where others have theirs", func() *story {
		return newStory().elected("n1", 0, 3, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 3, "x", 0).write("n1", 200*ms, 201*ms, history.Ok, 0, "y", 0)
	}, WriteWithinTerm, Fail},

	// Reported tokens are judged.
	{"reported tokens that fall, with grants on the wire that have none", func() *story {
		s := newStory()
		s.wired("n1", history.Acquire, 0, 2*ms, history.Ok).wired("n2", history.Acquire, 3001*ms, 3002*ms, history.Ok)
		s.wired("n3", history.Acquire, 6001*ms, 6002*ms, history.Ok)
		claimedTokens(1, 5, 2)(s)
		return s
	}, TokensIncrease, Fail},
	{"reported tokens that fall, with one grant of many", func() *story {
		s := newStory().acquire("n1", "a", 0, 2*ms, 1)
		claimedTokens(1, 5, 2)(s)
		return s
	}, TokensIncrease, Fail},
	{"reported tokens that rise, with one grant of many", func() *story {
		s := newStory().acquire("n1", "a", 0, 2*ms, 1)
		claimedTokens(1, 2, 5)(s)
		return s
	}, TokensIncrease, Pass},
	{"a token that nobody was granted", func() *story { return ledStory().elected("n1", 2*ms, 2, 1979*ms) }, TokensIncrease, Fail},
	{"a term without a token among terms with tokens", func() *story {
		s := newStory()
		claimedTokens(1, 0, 2)(s)
		return s
	}, TokensIncrease, Fail},
	{"a node that goes back to an older term", func() *story {
		return newStory().elected("n1", 0, 1, 1000*ms).elected("n1", 1200*ms, 2, 3000*ms).extended("n1", 1500*ms, 1, 3000*ms)
	}, TokensIncrease, Fail},

	// What a node says of its terms is a belief.
	{"extended after deposed", func() *story {
		return newStory().elected("n1", 0, 1, 1000*ms).deposed("n1", 500*ms, 1, history.Expired).extended("n1", 600*ms, 1, 3000*ms).
			elected("n2", 2000*ms, 2, 3000*ms)
	}, AtMostOneLeader, Fail},
	{"extended after exit", func() *story {
		return newStory().elected("n1", 0, 1, 1000*ms).exit("n1", 500*ms).extended("n1", 600*ms, 1, 3000*ms).elected("n2", 2000*ms, 2, 3000*ms)
	}, AtMostOneLeader, Fail},
	{"extended of an older term", func() *story {
		return newStory().elected("n1", 0, 1, 300*ms).elected("n1", 500*ms, 2, 900*ms).extended("n1", 600*ms, 1, 3000*ms).
			elected("n2", 2000*ms, 3, 3000*ms)
	}, AtMostOneLeader, Fail},
	{"beliefs without end that meet at the last event", func() *story {
		return newStory().endless("n1", 0, 1).endless("n2", 2000*ms, 2)
	}, AtMostOneLeader, Fail},
	{"a refusal whose error says that it is not held", func() *story {
		return newStory().elected("n1", 0, 1, 1980*ms).failed("n1", 698*ms, 700*ms, 1, "lock is not held").note(3000 * ms)
	}, StepsDownOnLoss, Fail},
	{"a refusal that is heeded by nobody, without tokens", func() *story {
		return newStory().elected("n1", 0, 0, 1980*ms).renew("n1", 698*ms, 700*ms, history.Fail, 0).note(3000 * ms)
	}, StepsDownOnLoss, Fail},
	{"a refusal, and the lease taken anew at once, without tokens", func() *story {
		return newStory().elected("n1", 0, 0, 1980*ms).renew("n1", 698*ms, 700*ms, history.Fail, 0).acquire("n1", "b", 702*ms, 704*ms, 0).note(3000 * ms)
	}, StepsDownOnLoss, Pass},

	// A clock error near a lease leaves nothing to judge.
	{"a clock error near a lease", func() *story {
		s := newStory().elected("n1", 0, 1, 2000*ms).elected("n2", 100*ms, 2, 2000*ms)
		s.header.ClockError = 1900 * ms
		return s
	}, Stable, Unknown},
	// A store that was overloaded makes failovers unknown.
	{"a failover on a store that refused connections", func() *story {
		s := newStory().acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1979*ms)
		s.fault("crash", 500*ms, 600*ms, nil, "n1").exit("n1", 501*ms)
		s.fault(history.OverloadFault, 2000*ms, 8000*ms, nil, "store")
		return s.acquire("n2", "b", 12_000*ms, 12_002*ms, 2).elected("n2", 12_002*ms, 2, 13_900*ms)
	}, FailoverBound, Unknown},
}

// Each step is held to the record by itself.
func TestObligations(t *testing.T) {
	for _, x := range obligations {
		t.Run(x.name, func(t *testing.T) { expect(t, Check(x.story().build(), Options{}), x.promise, x.want) })
	}
}

// serving adds a leader that renews and writes for so long.
func (s *story) serving(node string, token uint64, from, to time.Duration, kind history.Kind) *story {
	s.acquire(node, node+"/a", from, from+ms, token).elected(node, from+ms, token, from+1900*ms)
	for at := from + 500*ms; at < to; at += 500 * ms {
		s.renew(node, at, at+ms, history.Ok, token).extended(node, at+ms, token, at+1900*ms)
		if kind != "" {
			s.write(node, at+10*ms, at+11*ms, kind, token, "x", token+7)
		}
	}
	return s
}

// A leader works: one that gets nothing done is none.
func TestLeaderWorks(t *testing.T) {
	for _, x := range []struct {
		name  string
		write time.Duration // that a leader owes
		story func(s *story)
		want  Verdict
	}{
		{"a leader that works", 500 * ms, func(s *story) { s.serving("n1", 1, 0, 60_000*ms, history.Ok) }, Pass},
		{"every write is refused", 0, func(s *story) {
			s.serving("n1", 8, 0, 2000*ms, history.Ok).serving("n2", 1, 4000*ms, 60_000*ms, history.Fail)
		}, Fail},
		{"no write, where one is owed", 500 * ms, func(s *story) { s.serving("n1", 1, 0, 60_000*ms, "") }, Fail},
		{"no write, where nobody knows of any", 0, func(s *story) { s.serving("n1", 1, 0, 60_000*ms, "") }, Pass},
		{"no write, where others write", 0, func(s *story) {
			s.serving("n1", 1, 0, 2000*ms, history.Ok).serving("n2", 2, 4000*ms, 60_000*ms, "")
		}, Fail},
		{"one write, and nothing more to do", 0, func(s *story) {
			s.serving("n1", 1, 0, 60_000*ms, "").write("n1", 20*ms, 21*ms, history.Ok, 1, "x", 0)
		}, Pass},
		{"ten milliseconds of every four hundred", 0, func(s *story) {
			for i := range uint64(150) {
				at := time.Duration(i) * 400 * ms
				s.acquire("n1", "a"+string(rune(i)), at, at+ms, i+1).elected("n1", at+ms, i+1, at+1900*ms).
					write("n1", at+3*ms, at+4*ms, history.Ok, i+1, "x", 0).deposed("n1", at+11*ms, i+1, history.Resigned).
					release("n1", at+11*ms, at+12*ms, history.Ok, i+1)
			}
		}, Fail},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newStory()
			s.header.Write = x.write
			x.story(s)
			s.healed(10 * ms).note(60_000 * ms)
			r := Check(s.build(), Options{})
			expect(t, r, LeaderReturns, x.want)
			if high := r.Availability > 0.5; high != (x.want == Pass) {
				t.Errorf("availability %v", r.Availability)
			}
		})
	}
}

// A run ends at its note, not at the first exit: a leader that takes long to stop
// is accused of nothing.
func TestRunEndsAtItsNote(t *testing.T) {
	s := newStory().serving("n1", 1, 0, 20_000*ms, "").healed(10 * ms)
	s.add(history.Event{Kind: history.Note, At: 19_000 * ms, Text: history.EndOfRunNote})
	s.deposed("n1", 19_100*ms, 1, history.Stopped)
	for i, node := range []string{"n1", "n2"} {
		s.add(history.Event{Kind: history.Exit, Node: node, At: time.Duration(24+6*i) * time.Second, Why: history.EndOfRun})
	}
	r := Check(s.build(), Options{})
	expect(t, r, Stable, Pass)
	expect(t, r, LeaderReturns, Pass)
}

// What rests on requests that were mostly not understood is unknown, and a pass
// says how many were. A user without a lock is asked to name one, and nobody else is.
func TestUnderstoodRequests(t *testing.T) {
	for _, x := range []struct {
		wire *history.Wire
		want Verdict
		says string
	}{
		{&history.Wire{Lock: "e:lock", Operations: 1892, Understood: 1884}, Pass, "understood 1,884 of 1,892 requests on the lock that were read off the wire"},
		{&history.Wire{Lock: "e:lock", Operations: 10, Understood: 5}, Unknown, "understood 5 of 10 requests on the lock that were read off the wire"},
		{&history.Wire{Lock: "e:lock", Operations: 1200}, Unknown, `of 1,200 requests on the lock "e:lock" that were read off the wire none was understood: ` +
			"have the program tell its requests, or if another key is the lock name it with --lock-key"},
		{&history.Wire{Operations: 12}, Unknown, "no lock was found on the wire: name its key with --lock-key"},
		{&history.Wire{}, Unknown, "no lock was found on the wire: name its key with --lock-key"},
	} {
		s := newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok)
		s.add(history.Event{Kind: history.Note, At: 9000 * ms, Text: "read", Wire: x.wire})
		r := Check(s.build(), Options{})
		expect(t, r, LeaseLinearizable, x.want)
		for _, f := range r.Asked {
			if f.Promise == LeaseLinearizable && !strings.HasSuffix(f.Reason, x.says) {
				t.Errorf("%+v: %s\nwant %s", x.wire, f.Reason, x.says)
			}
		}
	}
}

// That nobody is seen to lead says nothing where that was inferred from requests most
// of which are not understood: renewals may be among them.
func TestObscureRequestsAccuseNobodyOfNotLeading(t *testing.T) {
	for understood, want := range map[int64]Verdict{8: Fail, 4: Unknown} {
		s := newStory().healed(ms)
		for at := 10 * ms; at < 20_000*ms; at += 8000 * ms {
			s.wired("n1", history.Acquire, at, at+ms, history.Ok)
			s.add(history.Event{Kind: history.Elected, Node: "n1", At: at + ms, Until: history.At(at + 2000*ms), Evidence: history.FromWire})
		}
		s.add(history.Event{Kind: history.Note, At: 30_000 * ms, Text: "read", Wire: &history.Wire{Lock: "e:lock", Operations: 10, Understood: understood}})
		r := Check(s.build(), Options{})
		for _, promise := range []Promise{Stable, LeaderReturns, FailoverBound} {
			expect(t, r, promise, want)
		}
	}
}

// A program that says nothing works as long as its writes are accepted, whatever
// tokens they carry.
func TestSilentLeaderWorks(t *testing.T) {
	s := newStory().wired("n1", history.Acquire, 0, 2*ms, history.Ok)
	s.add(history.Event{Kind: history.Elected, Node: "n1", At: 2 * ms, Until: history.At(60_000 * ms), Evidence: history.FromWire})
	for at := 100 * ms; at < 60_000*ms; at += 100 * ms {
		s.write("n1", at, at+ms, history.Ok, 7, "x", 0)
	}
	r := Check(s.healed(10*ms).note(60_000*ms).build(), Options{})
	expect(t, r, LeaderReturns, Pass)
	if r.Availability < 0.99 {
		t.Errorf("availability %v", r.Availability)
	}
}

// strange is a term of a program that stamps its lines itself: n extensions, the
// first of which are late by the excess.
func strange(n, late int, excess time.Duration) *story {
	s := ledStory().elected("n1", 2*ms, 1, 1979*ms)
	s.header.Margin, s.header.Foreign = 0, true
	for i := range n {
		at := time.Duration(i+1) * 500 * ms
		until := at + 1980*ms
		if i < late {
			until += excess
		}
		s.renew("n1", at, at+3*ms, history.Ok, 1).extended("n1", at+3*ms, 1, until)
	}
	return s
}

// A program that stamps its lines itself may stand still between two readings of
// its clock. What is computed wrong is wrong again and again.
func TestChanceIsNotHeldAgainstAForeignProgram(t *testing.T) {
	for _, x := range []struct {
		name  string
		story *story
		want  Verdict
	}{
		{"right", strange(20, 0, 0), Pass},
		{"one late stamp", strange(20, 1, 3*ms), Pass},
		{"four late stamps of four", strange(4, 4, 3*ms), Pass},
		{"four late stamps", strange(20, 4, 100*ms), Pass},
		{"a fourth of all", strange(20, 5, 3*ms), Fail},
		{"five of 21", strange(21, 5, 3*ms), Pass},
		{"each by less than a millisecond", strange(20, 20, 900*time.Microsecond), Fail},
		{"each by less than is rounded", strange(20, 20, 400*time.Microsecond), Pass},
		{"one by more than an eighth of a lease", strange(20, 1, 251*ms), Fail},
	} {
		t.Run(x.name, func(t *testing.T) { expect(t, Check(x.story.build(), Options{}), BeliefWithinLease, x.want) })
	}
}

// Of late deadlines the one that is furthest off is the evidence.
func TestWorstDeadlineIsTheEvidence(t *testing.T) {
	s := strange(20, 9, 3*ms)
	s.renew("n1", 12*time.Second, 12*time.Second+3*ms, history.Ok, 1).extended("n1", 12*time.Second+3*ms, 1, 13987*ms)
	if f := expect(t, Check(s.build(), Options{}), BeliefWithinLease, Fail); !strings.Contains(f.Reason, "7 ms longer") {
		t.Errorf("got %s", f.Reason)
	}
}
