package checker

import (
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

var (
	within = []Promise{WriteWithinTerm}
	fence  = []Promise{FencedWrites}
)

func msec(n int64) time.Duration { return time.Duration(n) * ms }

// stall adds a time in which the machine did not let the node go on.
func (s *story) stall(on, off int64, node string) *story {
	return s.fault(history.StallFault, msec(on), msec(off), nil, node)
}

var handmadeWrites = []handmade{
	{"accepted, after the resource had named a larger fence", func(s *story) {
		s.elected("n2", 0, 5, 500*ms).elected("n1", 600*ms, 6, 2000*ms).elected("n3", 2100*ms, 9, 4000*ms)
		s.op("n3", history.Write, 2101*ms, 2102*ms, history.Info, history.Event{Token: 9, Value: "z"}, history.Event{})
		s.write("n2", 2110*ms, 2111*ms, history.Fail, 5, "x", 9).write("n1", 2120*ms, 2121*ms, history.Ok, 6, "y", 0)
	}, []Promise{WriteWithinTerm, FencedWrites}, nil},
	{"refused by a smaller fence than one before it", func(s *story) {
		s.elected("n1", 0, 5, 2000*ms).elected("n3", 2050*ms, 7, 2090*ms).elected("n2", 2100*ms, 9, 4000*ms)
		s.op("n2", history.Write, 2101*ms, 2102*ms, history.Info, history.Event{Token: 9, Value: "z"}, history.Event{})
		s.op("n3", history.Write, 2101*ms, 2102*ms, history.Info, history.Event{Token: 7, Value: "v"}, history.Event{})
		s.write("n1", 2110*ms, 2111*ms, history.Fail, 5, "x", 9).write("n1", 2120*ms, 2121*ms, history.Fail, 5, "y", 7)
	}, fence, nil},
	{"refused by one fence after the other", func(s *story) {
		s.elected("n1", 0, 5, 2000*ms).elected("n2", 2100*ms, 7, 3000*ms).elected("n3", 3100*ms, 9, 4000*ms).write("n2", 2101*ms, 2102*ms, history.Ok, 7, "v", 0).
			write("n1", 2110*ms, 2111*ms, history.Fail, 5, "x", 7).write("n3", 3101*ms, 3102*ms, history.Ok, 9, "z", 0).write("n1", 3110*ms, 3111*ms, history.Fail, 5, "x", 9)
	}, within, fence},
	{"read after a fence was named that nothing was written with", func(s *story) {
		s.elected("n1", 0, 5, 2000*ms).elected("n2", 2050*ms, 9, 4000*ms).write("n1", 100*ms, 101*ms, history.Ok, 5, "old", 0)
		s.op("n2", history.Write, 2051*ms, 2150*ms, history.Info, history.Event{Token: 9, Value: "new"}, history.Event{})
		s.write("n1", 2060*ms, 2061*ms, history.Fail, 5, "x", 9).read("n3", 2070*ms, 2071*ms, "old", 5)
	}, nil, fence},
	{"read, and then an older one is read", func(s *story) {
		s.elected("n1", 0, 5, 2000*ms).elected("n2", 2100*ms, 9, 4000*ms)
		s.op("n1", history.Write, 100*ms, 101*ms, history.Info, history.Event{Token: 5, Value: "old"}, history.Event{})
		s.op("n2", history.Write, 2101*ms, 2102*ms, history.Info, history.Event{Token: 9, Value: "new"}, history.Event{})
		s.read("n3", 2110*ms, 2111*ms, "new", 9).read("n3", 2120*ms, 2121*ms, "old", 5)
	}, fence, nil},
	{"of a node that never was elected", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).write("n1", 10*ms, 11*ms, history.Ok, 1, "x", 0).write("n2", 20*ms, 21*ms, history.Ok, 1, "y", 0)
	}, within, nil},
	{"of the leader", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).write("n1", 10*ms, 11*ms, history.Ok, 1, "x", 0).write("n1", 1999*ms, 2001*ms, history.Ok, 1, "y", 0)
	}, nil, within},
	{"a second after until", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).write("n1", 3000*ms, 3001*ms, history.Ok, 1, "x", 0)
	}, within, nil},
	{"a second after until, and refused", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).elected("n2", 2100*ms, 2, 4000*ms).write("n2", 2200*ms, 2201*ms, history.Ok, 2, "y", 0).write("n1", 3000*ms, 3001*ms, history.Fail, 1, "x", 2)
	}, within, nil},
	{"a second after until, without tokens", func(s *story) {
		s.elected("n1", 0, 0, 2000*ms).write("n1", 3000*ms, 3001*ms, history.Ok, 0, "x", 0)
	}, within, nil},
	{"a millisecond after until", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).write("n1", 2001*ms, 2002*ms, history.Ok, 1, "x", 0)
	}, nil, within},
	{"after exit", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).ended("n1", 500*ms, history.Killed).write("n1", 1000*ms, 1001*ms, history.Ok, 1, "x", 0)
	}, within, nil},
	{"on its way at the exit", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).ended("n1", 500*ms, history.Killed).write("n1", 520*ms, 521*ms, history.Ok, 1, "x", 0)
	}, nil, within},
	{"with the token of its older term, in its new one", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).elected("n1", 3000*ms, 2, 5000*ms).write("n1", 4000*ms, 4001*ms, history.Ok, 1, "x", 0)
	}, within, nil},
	{"with the token of a term of another node", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).elected("n2", 3000*ms, 2, 5000*ms).write("n1", 4000*ms, 4001*ms, history.Ok, 2, "x", 0)
	}, within, nil},
	{"with no token, where nobody's writes have one", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 0, "x", 0)
	}, nil, within},
	{"with no token, where others' writes have one", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0).elected("n2", 3000*ms, 2, 5000*ms).write("n2", 3100*ms, 3101*ms, history.Ok, 0, "x", 0)
	}, within, nil},
	{"with tokens, where beliefs tell none", func(s *story) {
		s.acquire("n1", "a", 0, ms, 1).elected("n1", 2*ms, 0, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0)
	}, nil, []Promise{WriteWithinTerm, FencedWrites}},
	{"paused over its deadline, and on its way", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).fault("pause", 1500*ms, 6000*ms, nil, "n1").write("n1", 6010*ms, 6011*ms, history.Ok, 1, "x", 0)
	}, nil, within},
	{"paused over its deadline, and still writing two seconds after it woke up", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).fault("pause", 1500*ms, 6000*ms, nil, "n1").write("n1", 8010*ms, 8011*ms, history.Ok, 1, "x", 0)
	}, within, nil},
	{"paused for a moment, long after its deadline, and writing before and after", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).fault("pause", 6000*ms, 6100*ms, nil, "n1").write("n1", 6110*ms, 6111*ms, history.Ok, 1, "x", 0)
	}, within, nil},
	{"stalled twice in a row, and on its way", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).stall(1900, 3000, "n1").stall(3100, 4000, "n1").write("n1", 4100*ms, 4101*ms, history.Ok, 1, "x", 0)
	}, nil, within},
	{"stalled for a second, and waiting for its turn for another one", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).stall(1900, 3000, "n1").write("n1", 4000*ms, 4001*ms, history.Ok, 1, "x", 0)
	}, nil, within},
	{"stalled for a second, and writing two seconds later", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).stall(1900, 3000, "n1").write("n1", 5000*ms, 5001*ms, history.Ok, 1, "x", 0)
	}, within, nil},
	{"a write that a fault of an unknown name holds", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms)
		s.add(history.Event{Kind: history.Fault, ID: "f", Fault: "my-hold", Phase: history.On, At: 1500 * ms, Targets: []string{"n1"}, Effect: &history.Effect{Holds: true}}).
			add(history.Event{Kind: history.Fault, ID: "f", Fault: "my-hold", Phase: history.Off, At: 4000 * ms}).
			write("n1", 4005*ms, 4006*ms, history.Ok, 1, "x", 0)
	}, nil, within},
	{"another node is paused", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).fault("pause", 1500*ms, 4000*ms, nil, "n2").write("n1", 4010*ms, 4011*ms, history.Ok, 1, "x", 0)
	}, within, nil},
	{"cut off, which holds no writer", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).fault("partition", 1500*ms, 4000*ms, nil, "n1").write("n1", 3900*ms, 3901*ms, history.Ok, 1, "x", 0)
	}, within, nil},
	{"in two elections, each in its term", func(s *story) {
		for _, name := range []string{"east", "west"} {
			s.in(name, func(s *story) { s.elected("n1", 0, 1, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0) })
		}
	}, nil, within},
	{"in the election that it does not lead", func(s *story) {
		s.in("east", func(s *story) { s.elected("n1", 0, 1, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0) })
		s.in("west", func(s *story) { s.elected("n2", 0, 2, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0) })
	}, within, nil},
	{"before its election", func(s *story) {
		s.write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0).elected("n1", 1000*ms, 1, 2000*ms)
	}, within, nil},
	{"after it was deposed and extended again", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).deposed("n1", 500*ms, 1, history.Failed).extended("n1", 600*ms, 1, 2600*ms).write("n1", 1500*ms, 1501*ms, history.Ok, 1, "x", 0)
	}, nil, within},
	{"without end, and never deposed", func(s *story) {
		s.endless("n1", 0, 1).write("n1", 90_000*ms, 90_001*ms, history.Ok, 1, "x", 0)
	}, nil, within},
	{"of a follower, which writes nothing", func(s *story) {
		s.acquire("n1", "a", 0, ms, 1).elected("n1", ms, 1, 2000*ms).refused("n2", "b", 10*ms, 11*ms, "n1", 1).read("n2", 100*ms, 101*ms, "", 0)
	}, nil, nil},
	{"of programs that tell no belief", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0).acquire("n2", "b", 3000*ms, 3001*ms, 2).
			write("n2", 3100*ms, 3101*ms, history.Ok, 2, "y", 0).write("n1", 3200*ms, 3201*ms, history.Fail, 1, "z", 2)
	}, nil, fence},
	{"of a term whose line was read after the process had ended", func(s *story) {
		s.start("n1", 0).start("n2", 0).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0).ended("n1", 110*ms, history.Killed)
		s.add(history.Event{Kind: history.Elected, Node: "n1", At: 112 * ms, Token: 1, Until: history.At(2100 * ms), Arrived: true}).
			elected("n2", 2050*ms, 2, 4000*ms)
	}, nil, []Promise{AtMostOneLeader, WriteWithinTerm}},
	{"a third in step after until", func(s *story) {
		s.header.Write = 20 * ms
		s.elected("n1", 0, 1, 1000*ms)
		for _, at := range []int64{960, 980, 1000, 1020, 1040, 1060} {
			s.write("n1", msec(at), msec(at+1), history.Ok, 1, "x", 0)
		}
	}, within, nil},
	{"in step, and it stops in time", func(s *story) {
		s.header.Write = 20 * ms
		s.elected("n1", 0, 1, 1000*ms)
		for _, at := range []int64{960, 980, 999, 1001} {
			s.write("n1", msec(at), msec(at+1), history.Ok, 1, "x", 0)
		}
	}, nil, within},
	{"falling at the resource", func(s *story) {
		s.elected("n1", 0, 1, 9000*ms).elected("n1", 1000*ms, 2, 9000*ms).write("n1", 1100*ms, 1101*ms, history.Ok, 2, "x", 0).write("n1", 1110*ms, 1111*ms, history.Ok, 1, "y", 0)
	}, fence, nil},
	{"held on its way, and accepted after one with a larger token", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).elected("n2", 2100*ms, 2, 4000*ms)
		s.write("n1", 1900*ms, 2300*ms, history.Ok, 1, "x", 0).write("n2", 2150*ms, 2151*ms, history.Ok, 2, "y", 0)
	}, fence, nil},
	{"held on its way, and recorded by who wrote", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).elected("n2", 2100*ms, 2, 4000*ms)
		s.op("n1", history.Write, 1900*ms, 2300*ms, history.Ok, history.Event{Token: 1, Value: "x", Evidence: history.FromWriter}, history.Event{})
		s.write("n2", 2150*ms, 2151*ms, history.Ok, 2, "y", 0)
	}, nil, fence},
	{"refused because of the resource's own trouble", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms)
		s.op("n1", history.Write, 100*ms, 101*ms, history.Fail, history.Event{Token: 1, Value: "x"}, history.Event{Error: "disk full"})
	}, nil, fence},
	{"of unknown outcome, which raised the fence", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).elected("n2", 2100*ms, 2, 4000*ms)
		s.op("n2", history.Write, 2150*ms, 2300*ms, history.Info, history.Event{Token: 2, Value: "y"}, history.Event{Error: "timeout"})
		s.write("n1", 2200*ms, 2201*ms, history.Fail, 1, "x", 2)
	}, nil, []Promise{WriteWithinTerm, FencedWrites}},
	{"lost: a read sees the one before", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0).write("n1", 200*ms, 201*ms, history.Ok, 1, "y", 0).read("n2", 300*ms, 301*ms, "x", 1)
	}, fence, nil},
	{"of unknown outcome, seen by a read", func(s *story) {
		s.elected("n1", 0, 1, 2000*ms).write("n1", 100*ms, 101*ms, history.Ok, 1, "x", 0)
		s.op("n1", history.Write, 150*ms, 300*ms, history.Info, history.Event{Token: 1, Value: "y"}, history.Event{Error: "timeout"})
		s.read("n2", 200*ms, 201*ms, "y", 1)
	}, nil, fence},
}

// Who does not lead begins no write, and the resource keeps its word.
func TestHandmadeWrites(t *testing.T) { testHandmade(t, handmadeWrites, safety) }
