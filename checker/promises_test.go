package checker

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// promiseStories are small histories by hand, with what one promise must make
// of each.
var promiseStories = []struct {
	name     string
	promise  Promise
	story    func(s *story)
	want     Verdict
	evidence []int64
}{
	{"pairs match", WellFormed, func(s *story) { s.acquire("n1", "a", 0, 2*ms, 1) }, Pass, nil},
	{"completion without invocation", WellFormed, func(s *story) {
		s.add(history.Event{Kind: history.Ok, Node: "n1", Op: 7, Call: history.Acquire})
	}, Fail, []int64{1}},
	{"two completions", WellFormed, func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).add(history.Event{Kind: history.Info, Node: "n1", Op: 1, At: 3 * ms})
	}, Fail, []int64{3}},
	{"one number twice", WellFormed, func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).add(history.Event{Kind: history.Invoke, Node: "n1", Op: 1, Call: history.Observe, At: 3 * ms})
	}, Fail, []int64{3}},
	{"an invocation without a number", WellFormed, func(s *story) {
		s.add(history.Event{Kind: history.Invoke, Node: "n1", Call: history.Observe})
	}, Fail, []int64{1}},
	{"completed by another node", WellFormed, func(s *story) {
		s.op("n1", history.Observe, 0, 0, "", history.Event{}, history.Event{})
		s.add(history.Event{Kind: history.Ok, Node: "n2", Op: 1, At: 3 * ms})
	}, Fail, []int64{2}},
	{"completed as another call", WellFormed, func(s *story) {
		s.op("n1", history.Observe, 0, 0, "", history.Event{}, history.Event{})
		s.add(history.Event{Kind: history.Ok, Node: "n1", Op: 1, Call: history.Renew, At: 3 * ms})
	}, Fail, []int64{2}},
	{"extended without election", WellFormed, func(s *story) { s.extended("n1", 0, 3, ms) }, Fail, []int64{1}},
	{"deposed from another token", WellFormed, func(s *story) {
		s.elected("n1", 0, 3, ms).deposed("n1", ms, 4, history.Expired)
	}, Fail, []int64{2}},
	{"a fault off without on", WellFormed, func(s *story) {
		s.add(history.Event{Kind: history.Fault, ID: "f", Fault: "pause", Phase: history.Off})
	}, Fail, []int64{1}},
	{"a fault on twice", WellFormed, func(s *story) {
		e := history.Event{Kind: history.Fault, ID: "f", Fault: "pause", Phase: history.On}
		s.add(e).add(e)
	}, Fail, []int64{2}},
	{"healed under a fault", WellFormed, func(s *story) {
		s.add(history.Event{Kind: history.Fault, ID: "f", Fault: "pause", Phase: history.On}).healed(ms)
	}, Fail, []int64{2}},
	{"healed twice", WellFormed, func(s *story) { s.healed(ms).healed(2 * ms) }, Fail, []int64{2}},
	{"granted before it was asked for", WellFormed, func(s *story) { s.standing("n1", "a", 20*ms, 10*ms, 1) }, Fail, []int64{1}},
	{"granted after it was refused for good", WellFormed, func(s *story) { s.tried("n1", false) }, Fail, []int64{3}},
	{"granted after it was refused and stood", WellFormed, func(s *story) { s.tried("n1", true) }, Pass, nil},
	{"healed while the machine stalled", WellFormed, func(s *story) {
		s.fault(history.StallFault, 0, 5*ms, nil, "n1").healed(2*ms).acquire("n1", "a", 6*ms, 7*ms, 1)
	}, Pass, nil},
	{"a fault without effect", WellFormed, func(s *story) {
		s.fault("pause", 0, ms, func(e *history.Event) { e.Effective = history.Bool(false) }, "n1")
	}, Unknown, []int64{1, 2}},
	{"a partition that let an operation through", WellFormed, func(s *story) {
		s.fault("partition", 0, 100*ms, nil, "n1").acquire("n1", "a", 10*ms, 12*ms, 1)
	}, Unknown, nil},
	{"a partition that let an operation through before it was in force", WellFormed, func(s *story) {
		s.fault("partition", 0, 100*ms, func(e *history.Event) { e.Since = history.At(20 * ms) }, "n1").acquire("n1", "a", 10*ms, 12*ms, 1)
	}, Pass, nil},
	{"a partition while a request stood that was granted then", WellFormed, func(s *story) {
		s.fault("partition", 20*ms, 100*ms, nil, "n1").observe("n2", 30*ms, 31*ms, "", 0).observe("n2", 35*ms, 36*ms, "", 0).standing("n1", "a", 10*ms, 50*ms, 1)
	}, Pass, nil},
	{"a partition that let an operation through beside one that stood", WellFormed, func(s *story) {
		s.fault("partition", 20*ms, 100*ms, nil, "n1").acquire("n1", "a", 40*ms, 42*ms, 1).standing("n1", "b", 10*ms, 50*ms, 2)
	}, Unknown, nil},
	{"a request that was sent in the moment in which its process was paused", WellFormed, func(s *story) {
		s.header.ClockError = 0
		s.acquire("n1", "a", 10*ms, 90*ms, 1)
		s.fault("pause", 10*ms, 100*ms, nil, "n1")
	}, Pass, nil},
	{"a partition of another node", WellFormed, func(s *story) {
		s.fault("partition", 0, 100*ms, nil, "n2").acquire("n1", "a", 10*ms, 12*ms, 1)
	}, Pass, nil},
	{"a fault that says nothing about its effect", WellFormed, func(s *story) {
		s.fault("pause", 0, ms, func(e *history.Event) { e.Effective = nil }, "n1")
	}, Pass, nil},
	{"an operation that vanished", WellFormed, func(s *story) {
		s.op("n1", history.Observe, 0, 0, "", history.Event{}, history.Event{})
		s.observe("n1", 9000*ms, 9001*ms, "", 0)
	}, Unknown, []int64{1}},
	{"an operation that ended with its process", WellFormed, func(s *story) {
		s.op("n1", history.Observe, 0, 0, "", history.Event{}, history.Event{})
		s.exit("n1", ms).observe("n1", 9000*ms, 9001*ms, "", 0)
	}, Pass, nil},
	{"an operation that vanished long before its process ended", WellFormed, func(s *story) {
		s.op("n1", history.Observe, 0, 0, "", history.Event{}, history.Event{})
		s.observe("n1", 9000*ms, 9001*ms, "", 0).exit("n1", 9002*ms)
	}, Unknown, []int64{1}},
	{"an operation that vanished long before the end of the run", WellFormed, func(s *story) {
		s.op("n1", history.Observe, 0, 0, "", history.Event{}, history.Event{})
		s.observe("n1", 9000*ms, 9001*ms, "", 0)
		s.add(history.Event{Kind: history.Exit, Node: "n1", At: 9002 * ms, Why: history.EndOfRun})
	}, Unknown, []int64{1}},
	{"an operation that vanished in the second life of its process", WellFormed, func(s *story) {
		s.exit("n1", ms).add(history.Event{Kind: history.Start, Node: "n1", At: 2 * ms})
		s.op("n1", history.Observe, 3*ms, 0, "", history.Event{}, history.Event{})
		s.exit("n1", 4*ms).observe("n1", 9000*ms, 9001*ms, "", 0).exit("n1", 9002*ms)
	}, Pass, nil},
	{"an operation that the end of the run cut off", WellFormed, func(s *story) {
		s.op("n1", history.Observe, 8900*ms, 0, "", history.Event{}, history.Event{})
		s.observe("n1", 9000*ms, 9001*ms, "", 0)
		s.add(history.Event{Kind: history.Exit, Node: "n1", At: 9002 * ms, Why: history.EndOfRun})
	}, Pass, nil},
	{"an operation that the end of the run cut off, of a node that had something to say later", WellFormed, func(s *story) {
		s.elected("n1", 0, 1, 30_000*ms)
		s.op("n1", history.Observe, 19_900*ms, 0, "", history.Event{}, history.Event{})
		s.endOfRun(20_000*ms).deposed("n1", 22_500*ms, 1, history.Stopped)
	}, Pass, nil},
	{"an operation that vanished long before an end of the run that a note tells", WellFormed, func(s *story) {
		s.elected("n1", 0, 1, 30_000*ms)
		s.op("n1", history.Observe, 17_900*ms, 0, "", history.Event{}, history.Event{})
		s.endOfRun(20_000*ms).deposed("n1", 22_500*ms, 1, history.Stopped)
	}, Unknown, []int64{2}},
	{"an operation that vanished long before a fault", WellFormed, func(s *story) {
		s.op("n1", history.Observe, 0, 0, "", history.Event{}, history.Event{})
		s.fault("pause", 9000*ms, 9001*ms, nil, "n1").observe("n1", 9100*ms, 9101*ms, "", 0)
	}, Unknown, []int64{1}},
	{"an operation that a fault met on its way", WellFormed, func(s *story) {
		s.op("n1", history.Observe, 0, 0, "", history.Event{}, history.Event{})
		s.fault("pause", 100*ms, 9001*ms, nil, "n1").observe("n1", 9100*ms, 9101*ms, "", 0)
	}, Pass, nil},

	{"one after the other", AtMostOneLeader, func(s *story) {
		s.elected("n1", 0, 1, 100*ms).elected("n2", 100*ms, 2, 200*ms)
	}, Pass, nil},
	{"two at one time", AtMostOneLeader, func(s *story) {
		s.elected("n1", 0, 3, 1000*ms).elected("n2", 188*ms, 4, 2000*ms)
	}, Fail, []int64{1, 2}},
	{"two at one time by an extension", AtMostOneLeader, func(s *story) {
		s.elected("n1", 0, 3, 100*ms).extended("n1", 90*ms, 3, 300*ms).elected("n2", 188*ms, 4, 2000*ms)
	}, Fail, []int64{1, 3}},
	{"deposed in time", AtMostOneLeader, func(s *story) {
		s.elected("n1", 0, 3, 1000*ms).deposed("n1", 100*ms, 3, history.Resigned).elected("n2", 188*ms, 4, 2000*ms)
	}, Pass, nil},
	{"killed in time", AtMostOneLeader, func(s *story) {
		s.elected("n1", 0, 3, 1000*ms).exit("n1", 100*ms).elected("n2", 188*ms, 4, 2000*ms)
	}, Pass, nil},
	{"believes until further notice", AtMostOneLeader, func(s *story) {
		s.add(history.Event{Kind: history.Elected, Node: "n1"}).elected("n2", 188*ms, 4, 2000*ms)
	}, Fail, []int64{1, 2}},
	{"the clocks can explain it", AtMostOneLeader, func(s *story) {
		s.header.ClockError = 10 * ms
		s.elected("n1", 0, 3, 100*ms).elected("n2", 90*ms, 4, 200*ms)
	}, Pass, nil},
	{"the clocks cannot explain it", AtMostOneLeader, func(s *story) {
		s.header.ClockError = 9 * ms
		s.elected("n1", 0, 3, 100*ms).elected("n2", 90*ms, 4, 200*ms)
	}, Fail, []int64{1, 2}},
	{"two terms of one node", AtMostOneLeader, func(s *story) {
		s.elected("n1", 0, 3, 100*ms).elected("n1", 90*ms, 4, 200*ms)
	}, Pass, nil},
	{"two elections", AtMostOneLeader, func(s *story) {
		s.elected("n1", 0, 3, 100*ms).elected("n2", 90*ms, 4, 200*ms)
		s.events[0].Election, s.events[1].Election = "east", "west"
	}, Pass, nil},
	{"led in the gap before a late extension", AtMostOneLeader, func(s *story) {
		s.elected("n1", 0, 3, 100*ms).elected("n2", 150*ms, 4, 200*ms).extended("n1", 250*ms, 3, 300*ms)
	}, Pass, nil},
	{"two that tell in each round that they lead", AtMostOneLeader, func(s *story) {
		s.repeats("n1", 0, 19_800).repeats("n2", 5000, 15_000)
	}, Fail, []int64{26, 27}},
	{"nobody believed", AtMostOneLeader, func(s *story) { s.acquire("n1", "a", 0, 2*ms, 1) }, Unknown, nil},

	{"larger tokens", TokensIncrease, func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 10*ms).acquire("n2", "b", 3000*ms, 3002*ms, 2)
	}, Pass, nil},
	{"a smaller token", TokensIncrease, func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 2).acquire("n2", "b", 3000*ms, 3002*ms, 1)
	}, Fail, []int64{2, 4}},
	{"a smaller token while the first was on the way", TokensIncrease, func(s *story) {
		s.acquire("n1", "a", 0, 20*ms, 2).acquire("n2", "b", 10*ms, 30*ms, 1)
	}, Pass, nil},
	{"a shared token", TokensIncrease, func(s *story) {
		s.acquire("n1", "a", 0, 20*ms, 2).acquire("n2", "b", 10*ms, 30*ms, 2)
	}, Fail, []int64{3, 4}},
	{"a token for two attempts of a node", TokensIncrease, func(s *story) {
		s.acquire("n1", "a", 0, 20*ms, 2).acquire("n1", "b", 30*ms, 31*ms, 2)
	}, Fail, []int64{2, 4}},
	{"a token for one attempt twice", TokensIncrease, func(s *story) {
		s.acquire("n1", "a", 0, 20*ms, 2).acquire("n1", "a", 30*ms, 31*ms, 2)
	}, Pass, nil},
	{"elected with another's token", TokensIncrease, func(s *story) {
		s.acquire("n1", "a", 0, 20*ms, 2).elected("n2", 30*ms, 2, 40*ms)
	}, Fail, []int64{2, 3}},
	{"elected again with one token", TokensIncrease, func(s *story) {
		s.elected("n1", 0, 2, 10*ms).elected("n1", 30*ms, 2, 40*ms)
	}, Fail, []int64{1, 2}},
	{"smaller by belief alone", TokensIncrease, func(s *story) {
		s.elected("n1", 0, 2, 10*ms).elected("n2", 30*ms, 1, 40*ms)
	}, Fail, []int64{1, 2}},
	{"smaller in the store's own record", TokensIncrease, func(s *story) {
		s.acquire("n1", "a", 0, 20*ms, 2).acquire("n2", "b", 10*ms, 30*ms, 1)
		s.audit(history.Acquire, "n1", "a", 2, 40*ms, true).audit(history.Acquire, "n2", "b", 1, 41*ms, true)
	}, Fail, []int64{5, 6}},
	{"no tokens", TokensIncrease, func(s *story) { s.elected("n1", 0, 0, 10*ms) }, Unknown, nil},

	{"writes of growing tokens", FencedWrites, func(s *story) {
		s.write("n1", 0, ms, history.Ok, 1, "x", 0).write("n2", 2*ms, 3*ms, history.Ok, 2, "y", 0).
			write("n1", 4*ms, 5*ms, history.Fail, 1, "z", 2).read("n3", 6*ms, 7*ms, "y", 2)
	}, Pass, nil},
	{"a stale write", FencedWrites, func(s *story) {
		s.write("n2", 2*ms, 3*ms, history.Ok, 2, "y", 0).write("n1", 4*ms, 5*ms, history.Ok, 1, "z", 0)
	}, Fail, []int64{2, 4}},
	{"a stale write at the same time", FencedWrites, func(s *story) {
		s.write("n2", 2*ms, 6*ms, history.Ok, 2, "y", 0).write("n1", 4*ms, 5*ms, history.Ok, 1, "z", 0)
	}, Pass, nil},
	{"a refusal without reason", FencedWrites, func(s *story) {
		s.write("n2", 2*ms, 3*ms, history.Fail, 2, "y", 3)
	}, Fail, []int64{2}},
	{"a refusal by an equal fence", FencedWrites, func(s *story) {
		s.write("n2", 0, ms, history.Ok, 2, "y", 0).write("n2", 2*ms, 3*ms, history.Fail, 2, "y", 2)
	}, Fail, []int64{4}},
	{"a refusal by an equal fence, although a larger token had arrived", FencedWrites, func(s *story) {
		s.write("n2", 0, ms, history.Ok, 3, "y", 0).write("n2", 2*ms, 3*ms, history.Fail, 2, "y", 2)
	}, Fail, []int64{4}},
	{"a refusal that names no fence", FencedWrites, func(s *story) {
		s.write("n2", 2*ms, 3*ms, history.Fail, 2, "y", 0)
	}, Fail, []int64{2}},
	{"a read of what was overwritten", FencedWrites, func(s *story) {
		s.write("n1", 0, ms, history.Ok, 1, "x", 0).write("n2", 2*ms, 3*ms, history.Ok, 2, "y", 0).read("n3", 6*ms, 7*ms, "x", 1)
	}, Fail, []int64{4, 6}},
	{"a read of what nobody wrote", FencedWrites, func(s *story) {
		s.write("n1", 0, ms, history.Ok, 1, "x", 0).read("n3", 6*ms, 7*ms, "q", 1)
	}, Fail, []int64{4}},
	{"a read of nothing before any write", FencedWrites, func(s *story) {
		s.read("n3", 0, ms, "", 0).write("n1", 2*ms, 3*ms, history.Ok, 1, "x", 0)
	}, Pass, nil},
	{"a read of nothing after a write", FencedWrites, func(s *story) {
		s.write("n1", 0, ms, history.Ok, 1, "x", 0).read("n3", 6*ms, 7*ms, "", 0)
	}, Fail, []int64{2, 4}},
	{"writes in an election of which no belief is reported", WriteWithinTerm, func(s *story) {
		s.in("east", func(s *story) { s.elected("n1", 0, 1, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0) })
		s.in("west", func(s *story) { s.write("n2", 200*ms, 201*ms, history.Ok, 1, "y", 0) })
	}, Unknown, []int64{4}},
	{"writes in an election of which no belief is reported, and in another one of somebody who never led", WriteWithinTerm, func(s *story) {
		s.in("east", func(s *story) { s.elected("n1", 0, 1, 2000*ms).write("n3", 100*ms, 101*ms, history.Ok, 1, "x", 0) })
		s.in("west", func(s *story) { s.write("n2", 200*ms, 201*ms, history.Ok, 1, "y", 0) })
	}, Fail, []int64{2}},
	{"no fenced write", FencedWrites, func(s *story) { s.write("n1", 0, ms, history.Ok, 0, "x", 0) }, Unknown, nil},

	{"led to the end", LeaderReturns, func(s *story) {
		s.healed(0).elected("n1", 1000*ms, 1, 20000*ms).note(20000 * ms)
	}, Pass, nil},
	{"handed over", LeaderReturns, func(s *story) {
		s.healed(0).elected("n1", 1000*ms, 1, 5000*ms).elected("n2", 6000*ms, 2, 20000*ms).note(20000 * ms)
	}, Pass, nil},
	{"came too late", LeaderReturns, func(s *story) {
		s.healed(0).elected("n1", 9000*ms, 1, 20000*ms).note(20000 * ms)
	}, Fail, []int64{1}},
	{"never came", LeaderReturns, func(s *story) { s.elected("n1", 0, 1, 10*ms).healed(20 * ms).note(20000 * ms) }, Fail, []int64{2}},
	{"went away again", LeaderReturns, func(s *story) {
		s.healed(0).elected("n1", 1000*ms, 1, 5000*ms).note(20000 * ms)
	}, Fail, []int64{1, 2}},
	{"the bound of the scenario", LeaderReturns, func(s *story) {
		s.header.ReturnBound = 500 * ms
		s.healed(0).elected("n1", 1000*ms, 1, 20000*ms).note(20000 * ms)
	}, Fail, nil},
	{"came too late on a machine that stalled", LeaderReturns, func(s *story) {
		s.header.ReturnBound = 3000 * ms
		s.healed(0).fault(history.StallFault, 2000*ms, 2500*ms, nil, "n1").fault(history.StallFault, 5000*ms, 5100*ms, nil, history.StoreTarget).
			elected("n1", 6000*ms, 1, 20000*ms).note(20000 * ms)
	}, Unknown, []int64{1}},
	{"went away again on a machine that had stalled before", LeaderReturns, func(s *story) {
		s.header.ReturnBound = 3000 * ms
		s.healed(0).fault(history.StallFault, 2000*ms, 2500*ms, nil, "n1").elected("n1", 5000*ms, 1, 8000*ms).note(20000 * ms)
	}, Fail, nil},
	{"came too late though the machine had been calm for long enough", LeaderReturns, func(s *story) {
		s.header.ReturnBound = 3000 * ms
		s.healed(0).fault(history.StallFault, 2000*ms, 2500*ms, nil, "n1").elected("n1", 5600*ms, 1, 20000*ms).note(20000 * ms)
	}, Fail, nil},
	{"came too late while a candidate waited for a processor", LeaderReturns, func(s *story) {
		s.healed(0).fault(history.StarvedFault, 0, 8500*ms, nil, "n1").elected("n1", 9000*ms, 1, 20000*ms).note(20000 * ms)
	}, Unknown, []int64{1}},
	{"too early to tell", LeaderReturns, func(s *story) { s.elected("n1", 0, 1, 10*ms).healed(20 * ms).note(1000 * ms) }, Unknown, nil},
	{"healed with the last event", LeaderReturns, func(s *story) { s.elected("n1", 0, 1, 30_000*ms).healed(20 * ms) }, Unknown, []int64{2}},
	{"healed after the end of the run", LeaderReturns, func(s *story) {
		s.elected("n1", 0, 1, 30_000*ms).endOfRun(1000 * ms).healed(2000 * ms).note(20_000 * ms)
	}, Unknown, []int64{3}},
	{"writes alone", LeaderReturns, func(s *story) { s.healed(0).write("n1", 10*ms, 11*ms, history.Ok, 1, "x", 0).note(20_000 * ms) }, Unknown, nil},
	{"granted and renewed, and nobody tells a belief", LeaderReturns, func(s *story) {
		s.healed(0).acquire("n1", "a", 0, 2*ms, 1)
		for at := 500 * ms; at < 20_000*ms; at += 500 * ms {
			s.renew("n1", at, at+ms, history.Ok, 1)
		}
		s.note(20_000 * ms)
	}, Unknown, nil},
	{"never granted, and nobody tells a belief", LeaderReturns, func(s *story) { s.healed(0).asked("n1", "a", 0, 300*ms).note(20_000 * ms) }, Fail, nil},
	{"never healed", LeaderReturns, func(s *story) { s.elected("n1", 0, 1, 10*ms) }, Unknown, nil},
	{"stopped at the end of the run", LeaderReturns, func(s *story) {
		s.header.ReturnBound = 100 * ms
		s.healed(0).elected("n1", 50*ms, 1, 30000*ms).deposed("n1", 20000*ms, 1, history.Stopped)
		for i, n := range []string{"n1", "n2", "n3"} {
			s.add(history.Event{Kind: history.Exit, Node: n, Why: history.EndOfRun, At: 20000*ms + time.Duration(i)*500*ms})
		}
	}, Pass, nil},
	{"killed processes that took seconds to go", LeaderReturns, func(s *story) {
		s.header.ReturnBound = 100 * ms
		s.healed(0).elected("n1", 50*ms, 1, 21000*ms)
		for i, n := range []string{"n2", "n1", "n3"} {
			s.add(history.Event{Kind: history.Exit, Node: n, Why: history.EndOfRun, At: 20000*ms + time.Duration(i)*6000*ms})
		}
	}, Pass, nil},
	{"the last leader ended by itself", LeaderReturns, func(s *story) {
		s.header.ReturnBound = 100 * ms
		s.healed(0).elected("n1", 50*ms, 1, 30000*ms)
		s.add(history.Event{Kind: history.Exit, Node: "n1", Why: history.ByItself, At: 19500 * ms}).note(20500 * ms)
	}, Fail, nil},

	{"nothing happened", Stable, func(s *story) { s.elected("n1", 0, 1, 10000*ms).note(9000 * ms) }, Pass, nil},
	{"a change without a fault", Stable, func(s *story) {
		s.elected("n1", 0, 1, 10000*ms).deposed("n1", 3000*ms, 1, history.Expired).elected("n2", 4000*ms, 2, 20000*ms).note(20000 * ms)
	}, Fail, []int64{1, 2}},
	{"a change in a fault", Stable, func(s *story) {
		s.elected("n1", 0, 1, 1900*ms).extended("n1", 1000*ms, 1, 3000*ms).fault("pause", 1500*ms, 6000*ms, nil, "n1").
			elected("n2", 4000*ms, 2, 90000*ms).note(90000 * ms)
	}, Pass, nil},
	{"a change in a fault of a steadfast scenario", Stable, func(s *story) {
		s.header.Steadfast = true
		s.elected("n1", 0, 1, 1900*ms).extended("n1", 1000*ms, 1, 3000*ms).fault("pause", 1500*ms, 6000*ms, nil, "n1").
			elected("n2", 4000*ms, 2, 90000*ms).note(90000 * ms)
	}, Fail, nil},
	{"a change in a steadfast scenario while the machine stalled", Stable, func(s *story) {
		s.header.Steadfast = true
		s.elected("n1", 0, 1, 1900*ms).extended("n1", 1000*ms, 1, 3000*ms).fault(history.StallFault, 1500*ms, 3000*ms, nil, "n1").
			elected("n2", 4000*ms, 2, 90000*ms).note(90000 * ms)
	}, Pass, nil},
	{"a second leader without a fault", Stable, func(s *story) {
		s.elected("n1", 0, 1, 20000*ms).elected("n2", 4000*ms, 2, 20000*ms).note(20000 * ms)
	}, Fail, []int64{1, 2}},
	{"nobody was elected", Stable, func(s *story) { s.acquire("n1", "a", 0, ms, 1) }, Unknown, nil},
	{"faults all the time", Stable, func(s *story) {
		s.fault("latency", 0, 5000*ms, nil, "n1").elected("n1", 10*ms, 1, 5000*ms).note(5000 * ms)
	}, Unknown, nil},

	{"a failover in time", FailoverBound, func(s *story) { s.events = goodStory().events }, Pass, nil},
	{"a failover that took too long", FailoverBound, func(s *story) {
		s.header.FailoverBound = 10 * ms
		s.events = goodStory().events
	}, Fail, nil},
	{"a failover that took too long on a machine that stalled", FailoverBound, func(s *story) {
		s.header.FailoverBound = 10 * ms
		s.events = goodStory().events
		s.fault(history.StallFault, 0, 90000*ms, nil, history.StoreTarget)
	}, Unknown, nil},
	{"a failover that took far longer than a short stall explains", FailoverBound, func(s *story) {
		s.acquire("n1", "a", 10*ms, 12*ms, 1).elected("n1", 12*ms, 1, 1979*ms).fault("crash", 1950*ms, 4000*ms, nil, "n1").exit("n1", 1951*ms).
			fault(history.StallFault, 2500*ms, 2800*ms, nil, "n2").acquire("n2", "b", 60_000*ms, 60_001*ms, 2).elected("n2", 60_001*ms, 2, 61_900*ms)
	}, Fail, nil},
	{"a failover that took longer where a candidate waited for a processor", FailoverBound, func(s *story) {
		s.header.FailoverBound = 10 * ms
		s.events = goodStory().events
		s.fault(history.StarvedFault, 0, 90000*ms, nil, "n1")
	}, Unknown, nil},
	{"a last renewal of unknown outcome, which may have kept the lease", FailoverBound, func(s *story) {
		s.header.FailoverBound = 50 * ms
		s.acquire("n1", "a", 10*ms, 12*ms, 1).elected("n1", 12*ms, 1, 1979*ms).
			renew("n1", 1900*ms, 1951*ms, history.Info, 1).fault("crash", 1950*ms, 4000*ms, nil, "n1").exit("n1", 1951*ms).
			acquire("n2", "b", 3902*ms, 3903*ms, 2).elected("n2", 3903*ms, 2, 5879*ms)
	}, Pass, nil},
	{"a last renewal of unknown outcome and without a token, which may have kept the lease", FailoverBound, func(s *story) {
		s.header.FailoverBound = 50 * ms
		s.acquire("n1", "a", 10*ms, 12*ms, 0).elected("n1", 12*ms, 1, 1979*ms).
			renew("n1", 1900*ms, 1951*ms, history.Info, 0).fault("crash", 1950*ms, 4000*ms, nil, "n1").exit("n1", 1951*ms).
			acquire("n2", "b", 3902*ms, 3903*ms, 0).elected("n2", 3903*ms, 2, 5879*ms)
	}, Pass, nil},
	{"a last renewal of unknown outcome, and a longer wait than it explains", FailoverBound, func(s *story) {
		s.header.FailoverBound = 50 * ms
		s.acquire("n1", "a", 10*ms, 12*ms, 1).elected("n1", 12*ms, 1, 1979*ms).
			renew("n1", 1900*ms, 1951*ms, history.Info, 1).fault("crash", 1950*ms, 5000*ms, nil, "n1").exit("n1", 1951*ms).
			acquire("n2", "b", 4102*ms, 4103*ms, 2).elected("n2", 4103*ms, 2, 6079*ms)
	}, Fail, nil},
	{"the leader changed while only a follower was slow", Stable, func(s *story) {
		s.fault("latency", 2000*ms, 9000*ms, nil, "n3").elected("n1", 10*ms, 1, 4000*ms).deposed("n1", 4000*ms, 1, history.Superseded).elected("n2", 4100*ms, 2, 30_000*ms).note(30_000 * ms)
	}, Fail, nil},
	{"the leader changed after the store was split, on the side of a follower", Stable, func(s *story) {
		s.fault("store-split", 2000*ms, 3000*ms, func(e *history.Event) { e.Void = true }, "n3").elected("n1", 10*ms, 1, 4000*ms).deposed("n1", 4000*ms, 1, history.Superseded).elected("n2", 4100*ms, 2, 30_000*ms).note(30_000 * ms)
	}, Pass, nil},
	{"who was granted the lease in between crashed before it said so", Stable, func(s *story) {
		s.header.ReturnBound = 1000 * ms
		s.elected("n1", 10*ms, 1, 2000*ms).fault("crash", 1000*ms, 1500*ms, nil, "n1").exit("n1", 1000*ms).start("n1", 1500*ms)
		s.add(history.Event{Kind: history.Invoke, Node: "n2", At: 1990 * ms, Op: 900, Call: history.Acquire, Nonce: "b", TTL: 2000 * ms})
		s.fault("crash", 2000*ms, 2500*ms, nil, "n2").exit("n2", 2000*ms).add(history.Event{Kind: history.Info, Node: "n2", At: 2000 * ms, Op: 900, Call: history.Acquire, Nonce: "b"})
		s.start("n2", 2500*ms).elected("n3", 3400*ms, 3, 30_000*ms).note(30_000 * ms)
	}, Pass, nil},
	{"the leader changed while it was slow", Stable, func(s *story) {
		s.fault("latency", 2000*ms, 9000*ms, nil, "n1").elected("n1", 10*ms, 1, 4000*ms).deposed("n1", 4000*ms, 1, history.Expired).elected("n2", 4100*ms, 2, 30_000*ms).note(30_000 * ms)
	}, Pass, nil},
	{"a follower that was restarted took over", Stable, func(s *story) {
		s.fault("crash", 2000*ms, 3000*ms, nil, "n3").elected("n1", 10*ms, 1, 4000*ms).deposed("n1", 4000*ms, 1, history.Superseded).elected("n3", 4100*ms, 2, 30_000*ms).note(30_000 * ms)
	}, Pass, nil},
	{"nothing changed, though a candidate waited for a processor all the time", Stable, func(s *story) {
		s.fault(history.StarvedFault, 0, 20_000*ms, nil, "n1").elected("n1", 10*ms, 1, 20_000*ms).note(20_000 * ms)
	}, Pass, nil},
	{"the leader changed while a candidate waited for a processor", Stable, func(s *story) {
		s.fault(history.StarvedFault, 2000*ms, 9000*ms, nil, "n1").elected("n1", 10*ms, 1, 4000*ms).deposed("n1", 4000*ms, 1, history.Expired).elected("n2", 5000*ms, 2, 30_000*ms).note(30_000 * ms)
	}, Pass, nil},
	{"no failover", FailoverBound, func(s *story) { s.elected("n1", 0, 1, 10000*ms) }, Unknown, nil},
}

// tried is an attempt that is refused, and granted later.
func (s *story) tried(node string, stands bool) *story {
	s.refused(node, "a", 0, 2*ms, "n2", 0).last(func(e *history.Event) { e.Stands = stands })
	s.events[0].Try = 5
	s.standing(node, "a", 0, 10*ms, 1)
	s.events[2].Try = 5
	return s
}

// What the header lacks is taken from the requests and events, or the verdict is unknown:
// nobody is accused for it.
func TestHeaderThatLacksThings(t *testing.T) {
	for name, lacks := range map[string]func(h *history.History){
		"lease and nodes": func(h *history.History) { h.Header.Lease, h.Header.Nodes = 0, nil },
		"lease, with no TTL either": func(h *history.History) {
			h.Header.Lease = 0
			for i := range h.Events {
				h.Events[i].TTL = 0
			}
		},
	} {
		s := newStory()
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1900*ms).write("n1", 20*ms, 21*ms, history.Ok, 1, "x", 0)
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms).fault("partition", 1900*ms, 6000*ms, nil, "n2", "n3")
		s.add(history.Event{Kind: history.Start, Node: "n2", At: 0}).add(history.Event{Kind: history.Start, Node: "n3", At: 0})
		s.acquire("n2", "b", 6010*ms, 6012*ms, 2).elected("n2", 6013*ms, 2, 7900*ms).write("n2", 6014*ms, 6015*ms, history.Ok, 2, "y", 0)
		h := s.build()
		whole := Check(h, Options{})
		lacks(h)
		v := Check(h, Options{})
		if slices.ContainsFunc(whole.Asked, func(f Finding) bool { return f.Verdict == Fail }) {
			t.Fatalf("with all of it: %+v", whole.Asked)
		}
		for i, f := range v.Asked {
			if f.Verdict == Fail || name == "lease and nodes" && f.Verdict != whole.Asked[i].Verdict {
				t.Errorf("without %s: %s is %v (%s), was %v", name, f.Promise, f.Verdict, f.Reason, whole.Asked[i].Verdict)
			}
			if timed := f.Promise == BeliefWithinLease || f.Promise == FailoverBound; timed && name != "lease and nodes" && f.Verdict != Unknown {
				t.Errorf("without %s: %s is %v", name, f.Promise, f.Verdict)
			}
		}
	}
}

// Every promise is kept, broken and undecided where it must be, with a
// sentence and with the guilty events.
func TestPromiseStories(t *testing.T) {
	for _, x := range promiseStories {
		t.Run(string(x.promise)+"/"+x.name, func(t *testing.T) {
			s := newStory()
			x.story(s)
			f := expect(t, Check(s.build(), Options{}), x.promise, x.want)
			if x.evidence != nil && !slices.Equal(f.Evidence, x.evidence) {
				t.Errorf("evidence %v (%s), want %v", f.Evidence, f.Reason, x.evidence)
			}
		})
	}
}

// The reason is a sentence that an outsider understands.
func TestReasonIsASentence(t *testing.T) {
	s := newStory()
	s.elected("n1", 5000*ms, 3, 5932*ms).elected("n2", 5120*ms, 4, 9000*ms)
	r := Check(s.build(), Options{})
	want := "n1 (token 3) and n2 (token 4) both believed they led for 812 ms, from 5.120 s"
	if f := of(r, AtMostOneLeader); f.Reason != want {
		t.Errorf("%q, want %q", f.Reason, want)
	}
	if r.DualBelief != 812*ms {
		t.Error(r.DualBelief)
	}
}

// A history that is not well-formed is judged no further.
func TestMalformedHistoryIsJudgedNoFurther(t *testing.T) {
	s := newStory()
	s.elected("n1", 0, 3, 5000*ms).elected("n2", 10*ms, 4, 5000*ms).extended("n3", 20*ms, 9, 30*ms)
	r := Check(s.build(), Options{})
	for _, p := range Promises[1:] {
		expect(t, r, p, Unknown)
	}
	if expect(t, r, WellFormed, Fail); r.Verdict != Fail {
		t.Error(r.Verdict)
	}
	h := newStory().note(1).note(2).build()
	h.Events[1].Seq = 7
	expect(t, Check(h, Options{}), WellFormed, Fail)
	h = newStory().note(1).note(2).build()
	h.Events[1].At = 0
	expect(t, Check(h, Options{}), WellFormed, Fail)
}

// What is asked decides the verdict; a waived promise is measured, with the
// waiver; a promise of an unknown name is undecided.
func TestAskedPromises(t *testing.T) {
	two := func(change func(*history.Header)) *Result {
		s := newStory()
		s.acquire("n1", "a", 0, ms, 3).elected("n1", ms, 3, 1900*ms).elected("n2", 10*ms, 4, 1900*ms).healed(20 * ms)
		change(&s.header)
		return Check(s.build(), Options{})
	}
	r := two(func(h *history.Header) { h.Promises = []string{"LeaseLinearizable", "TokensIncrease"} })
	if r.Verdict != Pass || len(r.Asked) != 2 || len(r.Measured) != len(Promises)-2 || of(r, AtMostOneLeader).Verdict != Fail {
		t.Errorf("%v %+v", r.Verdict, r.Asked)
	}
	r = two(func(h *history.Header) {
		h.Waived = map[string]string{"AtMostOneLeader": "it cannot", "FencedWrites": "no", "FailoverBound": "no", "LeaderReturns": "no", "Stable": "no", "WriteWithinTerm": "no"}
	})
	if f := of(r, AtMostOneLeader); r.Verdict != Pass || len(r.Asked) != len(Promises)-6 || f.Reason[:17] != "waived: it cannot" {
		t.Errorf("%v %+v %s", r.Verdict, r.Asked, f.Reason)
	}
	r = two(func(h *history.Header) { h.Promises = []string{"LeaseLinearizable", "Peace"} })
	if r.Verdict != Unknown || len(r.Asked) != 2 {
		t.Errorf("%v %+v", r.Verdict, r.Asked)
	}
	r = two(func(h *history.Header) {
		h.Promises, h.Waived = []string{"Stable"}, map[string]string{"Stable": "no"}
	})
	if r.Verdict != Unknown {
		t.Error("nothing was asked, but the verdict is", r.Verdict)
	}
}

// A history that names a promise as an earlier version did is judged as one that has the
// present name: the promise is asked for, or waived.
func TestOldNamesAreRead(t *testing.T) {
	const old = "LossHeeded"
	judge := func(promises []string, waived map[string]string) *Result {
		s := newStory()
		s.acquire("n1", "a", 0, ms, 1).elected("n1", ms, 1, 1980*ms).renew("n1", 698*ms, 700*ms, history.Fail, 1)
		s.header.Promises, s.header.Waived = promises, waived
		return Check(s.build(), Options{})
	}
	now := string(StepsDownOnLoss)
	asked := judge([]string{now, "Stable"}, nil)
	if of(asked, StepsDownOnLoss).Verdict != Fail || asked.Verdict != Fail {
		t.Fatalf("with the present name the verdict is %v: %+v", asked.Verdict, asked.Asked)
	}
	if got := judge([]string{old, "Stable"}, nil); !reflect.DeepEqual(got, asked) {
		t.Errorf("asked for as %s:\n%+v\nwant\n%+v", old, got, asked)
	}
	waived := judge(nil, map[string]string{now: "it cannot"})
	if f := of(waived, StepsDownOnLoss); !strings.HasPrefix(f.Reason, "waived: it cannot") {
		t.Fatalf("with the present name: %+v", f)
	}
	if got := judge(nil, map[string]string{old: "it cannot"}); !reflect.DeepEqual(got, waived) {
		t.Errorf("waived as %s:\n%+v\nwant\n%+v", old, got, waived)
	}
	var read map[Promise]Promise
	if err := json.Unmarshal([]byte(`{"LossHeeded":"LossHeeded","Stable":"Stable"}`), &read); err != nil || !reflect.DeepEqual(read, map[Promise]Promise{StepsDownOnLoss: StepsDownOnLoss, Stable: Stable}) {
		t.Errorf("read from JSON: %v, %v", read, err)
	}
}

// Faults are counted by name, and those without effect are counted apart.
func TestFaultCounts(t *testing.T) {
	s := newStory()
	s.fault("pause", 0, ms, nil, "n1").fault("pause", 2*ms, 3*ms, func(e *history.Event) { e.Effective = history.Bool(false) }, "n2").
		fault("crash", 4*ms, 5*ms, nil, "n1")
	want := []FaultCount{{"crash", 1, 1}, {"pause", 2, 1}}
	if got := Check(s.build(), Options{}).Faults; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Writes that nobody stopped although somebody else led by then are counted.
func TestStaleWrites(t *testing.T) {
	s := newStory()
	s.acquire("n1", "a", 0, ms, 1).write("n1", 5*ms, 6*ms, history.Ok, 0, "x", 0)
	s.acquire("n2", "b", 3000*ms, 3001*ms, 2).write("n1", 3005*ms, 3006*ms, history.Ok, 0, "y", 0)
	s.write("n1", 3007*ms, 3008*ms, history.Ok, 1, "z", 0).write("n2", 3009*ms, 3010*ms, history.Ok, 2, "q", 0)
	s.write("n1", 3011*ms, 3012*ms, history.Fail, 1, "z", 2)
	if got := Check(s.build(), Options{}).Writes; got != (WriteCounts{Accepted: 4, Refused: 1, StaleAccepted: 2}) {
		t.Errorf("%+v", got)
	}
}

// Leaderless time and availability are those from the first term to the end.
func TestAvailability(t *testing.T) {
	s := newStory()
	s.elected("n1", 1000*ms, 1, 2000*ms).elected("n2", 3000*ms, 2, 5000*ms).note(5000 * ms)
	r := Check(s.build(), Options{})
	if r.Leaderless != time.Second || r.Availability != 0.75 {
		t.Errorf("%v %v", r.Leaderless, r.Availability)
	}
}
