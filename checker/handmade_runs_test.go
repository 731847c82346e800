package checker

import (
	"testing"

	"github.com/recount-io/recount/history"
)

// progress are the promises about whether somebody leads, and for how long.
var progress = []Promise{WellFormed, LeaderReturns, FailoverBound, Stable}

// leads adds a leader that renews every 500 ms, and believes without a gap.
func (s *story) leads(node string, token uint64, from, to int64) *story {
	return s.serving(node, token, msec(from), msec(to), "")
}

// all three exit as the run ends.
func (s *story) exits(from, step int64) *story {
	for i, n := range []string{"n1", "n2", "n3"} {
		s.ended(n, msec(from+int64(i)*step), history.EndOfRun)
	}
	return s
}

var handmadeRuns = []handmade{
	{"one leader, and a note at the end", func(s *story) { s.healed(0).leads("n1", 1, 0, 20_000).endOfRun(20_000*ms).exits(20_100, 10) }, nil, []Promise{Stable, LeaderReturns}},
	{"one leader, and exits at the end, without a note", func(s *story) { s.healed(0).leads("n1", 1, 0, 20_000).exits(20_000, 3000) }, nil, []Promise{Stable, LeaderReturns}},
	{"one leader, and nothing at the end", func(s *story) { s.healed(0).leads("n1", 1, 0, 20_000) }, nil, []Promise{Stable, LeaderReturns}},
	{"one leader, and a note after the exits", func(s *story) { s.healed(0).leads("n1", 1, 0, 20_000).exits(20_000, 3000).endOfRun(27_000 * ms) }, nil, []Promise{Stable, LeaderReturns}},
	{"one leader, and its resignation after the note", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 20_000).endOfRun(20_000*ms).deposed("n1", 20_001*ms, 1, history.Resigned).
			acquire("n2", "x", 20_010*ms, 20_011*ms, 2).elected("n2", 20_012*ms, 2, 22_000*ms).exits(20_020, 3000)
	}, nil, []Promise{Stable, LeaderReturns}},
	{"one leader, and its stop just before an exit that tells the end", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 19_900).deposed("n1", 19_990*ms, 1, history.Stopped).exits(20_000, 10)
	}, nil, []Promise{Stable, LeaderReturns}},
	{"one leader, and its stop long before an exit that tells the end", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 4000).deposed("n1", 4000*ms, 1, history.Stopped).exits(20_000, 10)
	}, []Promise{Stable, LeaderReturns}, nil},
	{"one leader, and its resignation just before an exit that tells the end", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 19_900).deposed("n1", 19_990*ms, 1, history.Resigned).exits(20_000, 10)
	}, []Promise{Stable}, nil},
	{"one leader, and its exit for no known reason just before one that tells the end", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 19_900).ended("n1", 19_990*ms, "").exits(20_000, 10)
	}, []Promise{Stable}, nil},
	{"one leader, and its stop just before a note that tells the end", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 19_900).deposed("n1", 19_990*ms, 1, history.Stopped).endOfRun(20_000*ms).exits(20_010, 10)
	}, []Promise{Stable}, nil},
	{"a note about one node that reads like the end", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 4000).add(history.Event{Kind: history.Note, Node: "n1", At: 4000 * ms, Text: history.EndOfRunNote}).endOfRun(30_000 * ms)
	}, []Promise{LeaderReturns, Stable}, nil},
	{"it just ends its term, and nobody follows", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 4000).deposed("n1", 4000*ms, 1, history.Resigned).endOfRun(30_000 * ms)
	}, []Promise{LeaderReturns, Stable}, nil},
	{"a hand-over without a fault", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 4000).deposed("n1", 4001*ms, 1, history.Resigned).release("n1", 4002*ms, 4003*ms, history.Ok, 1).leads("n2", 2, 4005, 20_000).endOfRun(20_000 * ms)
	}, []Promise{Stable}, []Promise{LeaderReturns}},
	{"a hand-over that was asked for", func(s *story) {
		s.leads("n1", 1, 0, 4000).fault("resign", 3999*ms, 4004*ms, nil, "n1").deposed("n1", 4001*ms, 1, history.Resigned).release("n1", 4002*ms, 4003*ms, history.Ok, 1).
			healed(4004*ms).leads("n2", 2, 4005, 20_000).endOfRun(20_000 * ms)
	}, nil, progress},
	{"a hand-over in another election's fault", func(s *story) {
		s.in("east", func(s *story) {
			s.leads("n1", 1, 0, 4000).deposed("n1", 4001*ms, 1, history.Resigned).leads("n2", 2, 4005, 20_000)
		})
		s.in("west", func(s *story) { s.leads("n3", 1, 0, 20_000) })
		s.healed(0).endOfRun(20_000 * ms)
	}, []Promise{Stable}, nil},
	{"one of two elections has no leader", func(s *story) {
		s.in("east", func(s *story) { s.leads("n1", 1, 0, 20_000) })
		s.in("west", func(s *story) { s.refused("n2", "b", 0, ms, "", 0) })
		s.healed(0).endOfRun(20_000 * ms)
	}, []Promise{LeaderReturns}, nil},
	{"two elections, each with a leader", func(s *story) {
		s.in("east", func(s *story) { s.leads("n1", 1, 0, 20_000) })
		s.in("west", func(s *story) { s.leads("n2", 1, 0, 20_000) })
		s.healed(0).endOfRun(20_000 * ms)
	}, nil, []Promise{Stable, LeaderReturns}},
	{"never healed, and nobody leads", func(s *story) { s.leads("n1", 1, 0, 4000).endOfRun(30_000 * ms) }, []Promise{Stable}, nil},
	{"healed, and a leader within the bound", func(s *story) {
		s.fault("store-crash", 0, 1000*ms, nil, "store").healed(1000*ms).leads("n1", 1, 4000, 20_000).endOfRun(20_000 * ms)
	}, nil, []Promise{LeaderReturns, Stable}},
	{"healed, and a leader only after a minute", func(s *story) {
		s.fault("store-crash", 0, 1000*ms, nil, "store").healed(1000*ms).leads("n1", 1, 61_000, 80_000).endOfRun(80_000 * ms)
	}, []Promise{LeaderReturns}, nil},
	{"the leader's process ends by itself, and another one follows late", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 4000).ended("n1", 4100*ms, history.ByItself).leads("n2", 2, 14_000, 20_000).endOfRun(20_000 * ms)
	}, []Promise{LeaderReturns, Stable, FailoverBound}, nil},
	{"a crash, and a successor in time", func(s *story) {
		s.leads("n1", 1, 0, 4000).fault("crash", 3900*ms, 4100*ms, nil, "n1").ended("n1", 3902*ms, history.Killed).healed(4100*ms).
			leads("n2", 2, 5600, 20_000).endOfRun(20_000 * ms)
	}, nil, progress},
	{"a crash, and a successor after four leases", func(s *story) {
		s.leads("n1", 1, 0, 4000).fault("crash", 3900*ms, 4100*ms, nil, "n1").ended("n1", 3902*ms, history.Killed).
			leads("n2", 2, 12_000, 20_000).endOfRun(20_000 * ms)
	}, []Promise{FailoverBound, Stable}, nil},
	{"a crash, and a successor after four leases, on a store that was overloaded", func(s *story) {
		s.leads("n1", 1, 0, 4000).fault("crash", 3900*ms, 4100*ms, nil, "n1").ended("n1", 3902*ms, history.Killed).
			fault(history.OverloadFault, 5000*ms, 11_000*ms, nil, "store").leads("n2", 2, 12_000, 20_000).endOfRun(20_000 * ms)
	}, nil, nil},
	{"a stall after which the leader changes", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 4000).stall(4000, 6500, "n1").leads("n2", 2, 6600, 20_000).endOfRun(20_000 * ms)
	}, nil, []Promise{LeaderReturns, Stable}},
	{"a steadfast run in which a partition moves the leader", func(s *story) {
		s.header.Steadfast = true
		s.leads("n1", 1, 0, 4000).fault("partition", 4000*ms, 5000*ms, nil, "n2").deposed("n1", 4500*ms, 1, history.Resigned).leads("n3", 2, 4600, 20_000).endOfRun(20_000 * ms)
	}, []Promise{Stable}, nil},
	{"a fault of an unknown name that says it cuts, and a request that got through", func(s *story) {
		s.add(history.Event{Kind: history.Fault, ID: "f", Fault: "mine", Phase: history.On, Targets: []string{"n1"}, Effect: &history.Effect{Cuts: true}}).
			add(history.Event{Kind: history.Fault, ID: "f", Fault: "mine", Phase: history.Off, At: 5000 * ms}).leads("n1", 1, 1000, 4000)
	}, nil, nil}, // undecided
	{"a clock error that explains who led when", func(s *story) {
		s.header.ClockError = 20 * ms
		s.healed(0).leads("n1", 1, 0, 20_000).endOfRun(20_000 * ms)
	}, nil, []Promise{Stable, LeaderReturns}},
	{"a leader that owes writes and makes none", func(s *story) {
		s.header.Write = 20 * ms
		s.healed(0).leads("n1", 1, 0, 20_000).endOfRun(20_000 * ms)
	}, []Promise{LeaderReturns}, nil},
	{"a leader that owes no writes and makes one", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 20_000).write("n1", 700*ms, 701*ms, history.Ok, 1, "x", 0).endOfRun(20_000 * ms)
	}, nil, []Promise{Stable, LeaderReturns}},
	{"a leader that tells no token, and whose write has one", func(s *story) {
		s.healed(0).leads("n1", 0, 0, 20_000).write("n1", 700*ms, 701*ms, history.Ok, 7, "x", 0).endOfRun(20_000 * ms)
	}, nil, []Promise{Stable, LeaderReturns}},
	{"a lone leader that tells in each round that it leads", func(s *story) {
		s.header.Nodes = []string{"n1"}
		s.healed(0).repeats("n1", 0, 19_800).endOfRun(20_000 * ms)
	}, nil, []Promise{Stable, LeaderReturns}},
	{"a lone leader that tells in each round that it leads, and writes now and then", func(s *story) {
		s.header.Nodes = []string{"n1"}
		s.healed(0).repeats("n1", 0, 19_800).write("n1", 100*ms, 101*ms, history.Ok, 0, "x", 0).write("n1", 9050*ms, 9051*ms, history.Ok, 0, "y", 0).endOfRun(20_000 * ms)
	}, nil, []Promise{Stable, LeaderReturns}},
	{"a leader whose writes are all refused", func(s *story) {
		s.healed(0).serving("n1", 1, 0, 20_000*ms, history.Fail).endOfRun(20_000 * ms)
	}, []Promise{LeaderReturns}, nil},
	{"a leader that holds on without telling until when", func(s *story) {
		s.healed(0).endless("n1", 0, 1).endOfRun(20_000 * ms)
	}, nil, []Promise{Stable, LeaderReturns}},
	{"another nonce of the leader's own, while it leads", func(s *story) {
		s.healed(0).leads("n1", 1, 0, 20_000).refused("n1", "y", 700*ms, 701*ms, "n1", 1).endOfRun(20_000 * ms)
	}, nil, []Promise{Stable, LeaderReturns}},
}

// The record shows whether somebody leads, and goes on leading.
func TestHandmadeRuns(t *testing.T) { testHandmade(t, handmadeRuns, progress) }

var linear = []Promise{LeaseLinearizable}

var handmadeRecords = []handmade{
	{"granted while another lease lasts", func(s *story) { s.acquire("n1", "a", 0, 2*ms, 1).acquire("n2", "b", 1000*ms, 1002*ms, 2) }, linear, nil},
	{"granted when the other lease is over, to the millisecond", func(s *story) { s.acquire("n1", "a", 0, 2*ms, 1).acquire("n2", "b", 2000*ms, 2001*ms, 2) }, nil, linear},
	{"renewed when the lease was over", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).renew("n1", 5000*ms, 5002*ms, history.Ok, 1)
	}, linear, nil},
	{"released, and granted at once", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).release("n1", 100*ms, 102*ms, history.Ok, 1).acquire("n2", "b", 103*ms, 104*ms, 2)
	}, nil, linear},
	{"refused though nobody holds it", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).refused("n2", "b", 9000*ms, 9002*ms, "n1", 1)
	}, linear, nil},
	{"refused for want of rights", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1)
		s.op("n2", history.Acquire, 9000*ms, 9001*ms, history.Fail, nonce("b"), history.Event{Error: "NOPERM"})
	}, nil, linear},
	{"refused while an unanswered request may hold it", func(s *story) {
		s.asked("n1", "a", 0, 300*ms).refused("n2", "b", 500*ms, 502*ms, "n1", 1)
	}, nil, linear},
	{"granted while a fault may have deleted the lease", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).void(500*ms).acquire("n2", "b", 1000*ms, 1002*ms, 2)
	}, nil, linear},
	{"granted on a store whose clock was set ahead", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).fault("store-clock-jump", 500*ms, 510*ms, func(e *history.Event) { e.Shorten = 1500 * ms }, "store").acquire("n2", "b", 700*ms, 702*ms, 2)
	}, nil, linear},
	{"observed nobody, while a lease lasts", func(s *story) { s.acquire("n1", "a", 0, 2*ms, 1).observe("n2", 500*ms, 501*ms, "", 0) }, linear, nil},
	{"a record that lacks what was answered", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).acquire("n2", "b", 3000*ms, 3002*ms, 2).acquire("n3", "c", 6000*ms, 6002*ms, 3)
		s.audit(history.Acquire, "n1", "a", 1, 7000*ms, true).audit(history.Acquire, "n3", "c", 3, 7000*ms, true)
	}, nil, nil},
	{"a record of a grant to a request for longer that was refused before, and whose caller heard of neither", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, ms, true)
		s.lasting("n2", history.Acquire, "b", 100*ms, 300*ms, 5000*ms, history.Info).audit(history.Acquire, "n2", "b", 1, 101*ms, false)
		s.release("n1", 150*ms, 160*ms, history.Ok, 1).audit(history.Release, "n1", "", 1, 155*ms, true).audit(history.Acquire, "n2", "b", 2, 155*ms, true)
		s.refused("n3", "c", 4000*ms, 4002*ms, "n2", 2).audit(history.Acquire, "n3", "c", 2, 4001*ms, false)
	}, nil, linear},
	{"a record that ends before the run", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 3*ms, true).acquire("n2", "b", 3000*ms, 3002*ms, 2).elected("n2", 3002*ms, 2, 5000*ms)
	}, nil, nil},
	{"a record of a grant that its caller calls refused", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).refused("n2", "b", 1000*ms, 1002*ms, "n1", 1)
		s.audit(history.Acquire, "n1", "a", 1, 7000*ms, true).audit(history.Acquire, "n2", "b", 2, 7000*ms, true)
	}, nil, nil},
	{"restated: a leader of an earlier piece", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 2000*ms)
		for i := range s.events {
			s.events[i].Restated = true
		}
		s.renew("n1", 700*ms, 702*ms, history.Ok, 1).extended("n1", 702*ms, 1, 2700*ms)
	}, nil, []Promise{LeaseLinearizable, BeliefWithinLease, AtMostOneLeader}},
}

// The answers are those of one lease, whatever the store's own record lacks.
func TestHandmadeRecords(t *testing.T) { testHandmade(t, handmadeRecords, safety) }
