package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// failoverStories are histories with one failover from n1, whose lease was
// last written by a call at 600 ms and so lasts to 2600 ms, to n2.
var failoverStories = []struct {
	name                                        string
	story                                       func(s *story)
	cause                                       string
	at, wait, detect, acquire, announce, excess time.Duration // in ms
}{
	{"pause", func(s *story) { s.fault("pause", 1000*ms, 9000*ms, nil, "n1").follows("n2", 2, 2610*ms, 2612*ms) }, "pause", 1000, 1600, 10, 2, 3, 15},
	{"a fault that begins to bite later than it is put on", func(s *story) {
		s.fault("pause-before-write", 100*ms, 9000*ms, func(e *history.Event) { e.Since = history.At(700 * ms) }, "n1").follows("n2", 2, 2610*ms, 2612*ms)
	}, "pause-before-write", 700, 1900, 10, 2, 3, 15},
	{"an answer to a request sent too early", func(s *story) {
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms).follows("n2", 2, 2500*ms, 2650*ms)
	}, "crash", 1000, 1600, 0, 50, 3, 53},
	{"a process that ends in the moment of its crash", func(s *story) {
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1000*ms).follows("n2", 2, 2610*ms, 2612*ms)
	}, "crash", 1000, 1600, 10, 2, 3, 15},
	{"a resignation", func(s *story) {
		s.fault("resign", 1000*ms, 9000*ms, nil, "n1").deposed("n1", 1200*ms, 1, history.Stopped).release("n1", 1201*ms, 1202*ms, history.Ok, 1).follows("n2", 2, 1203*ms, 1204*ms)
	}, "resign", 1200, 0, 3, 1, 3, 7},
	{"a transfer", func(s *story) {
		s.fault("transfer", 1000*ms, 1210*ms, nil, "n1").deposed("n1", 1200*ms, 1, history.Resigned).release("n1", 1201*ms, 1202*ms, history.Ok, 1).follows("n2", 2, 1203*ms, 1204*ms)
	}, "transfer", 1200, 0, 3, 1, 3, 7},
	{"a resignation that was asked for and not called one", func(s *story) {
		s.fault("resign", 1000*ms, 9000*ms, nil, "n1").deposed("n1", 1200*ms, 1, history.Superseded).release("n1", 1201*ms, 1202*ms, history.Ok, 1).follows("n2", 2, 1203*ms, 1204*ms)
	}, "resign", 1200, 1, 2, 1, 3, 6},
	{"a resignation before a transfer could be asked for", func(s *story) {
		s.fault("transfer", 1201*ms, 1210*ms, nil, "n1").deposed("n1", 1200*ms, 1, history.Resigned).release("n1", 1201*ms, 1202*ms, history.Ok, 1).follows("n2", 2, 1203*ms, 1204*ms)
	}, "resign", 1200, 0, 3, 1, 3, 7},
	{"a crash with a shortened lease", func(s *story) {
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms)
		s.fault("store-clock-jump", 1100*ms, 1101*ms, func(e *history.Event) { e.Shorten = 1000 * ms }, "store").follows("n2", 2, 1610*ms, 1612*ms)
	}, "crash", 1000, 600, 10, 2, 3, 15},
	{"a crash while the store is away", func(s *story) {
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms)
		s.fault("store-pause", 2000*ms, 5000*ms, nil, "store").follows("n2", 2, 5010*ms, 5012*ms)
	}, "crash", 1000, 4000, 10, 2, 3, 15},
	{"a crash while the others are cut off", func(s *story) {
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms)
		s.fault("partition", 2000*ms, 5000*ms, nil, "n2", "n3").follows("n2", 2, 5010*ms, 5012*ms)
	}, "crash", 1000, 4000, 10, 2, 3, 15},
	{"a crash while the others' clocks run wrong", func(s *story) {
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms)
		s.fault("clock-rate", 2000*ms, 5000*ms, nil, "n2", "n3").follows("n2", 2, 5010*ms, 5012*ms)
	}, "crash", 1000, 1600, 2410, 2, 3, 2415},
	{"a crash while something is wrong with the store, which answers", func(s *story) {
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms)
		s.fault("store-crash", 2000*ms, 5000*ms, nil, "store").refused("n3", "c", 2100*ms, 2101*ms, "n1", 1).follows("n2", 2, 5010*ms, 5012*ms)
	}, "crash", 1000, 1600, 2410, 2, 3, 2415},
	{"an answer that comes when the others are not cut off any more, to a request before that", func(s *story) {
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms)
		s.fault("replies-lost", 2000*ms, 5000*ms, nil, "n2", "n3").follows("n2", 2, 4900*ms, 5012*ms)
	}, "crash", 1000, 4000, 0, 12, 3, 15},
	{"the store lost the lease", func(s *story) {
		s.fault("key-deleted", 1000*ms, 1001*ms, func(e *history.Event) { e.Void = true }, "store")
		s.renew("n1", 1100*ms, 1101*ms, history.Fail, 1).deposed("n1", 1101*ms, 1, history.Superseded).follows("n2", 2, 1110*ms, 1112*ms)
	}, "key-deleted", 1101, 0, 9, 2, 3, 14},
	{"its own successor", func(s *story) {
		s.fault("partition", 1000*ms, 2700*ms, nil, "n1").follows("n1", 2, 2710*ms, 2712*ms)
	}, "partition", 1000, 1600, 110, 2, 3, 115},
	{"a successor that never wrote", func(s *story) {
		s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms)
		s.acquire("n3", "c", 2600*ms, 2601*ms, 2).elected("n3", 2602*ms, 2, 2605*ms).release("n3", 2605*ms, 2606*ms, history.Ok, 2).follows("n2", 3, 2610*ms, 2612*ms)
	}, "crash", 1000, 1600, 10, 2, 3, 15},
}

// follows adds a leader that is granted the lease between these times, believes 1 ms later, and writes then.
func (s *story) follows(node string, token uint64, from, to time.Duration) *story {
	s.acquire(node, "b", from, to, token).elected(node, to+ms, token, to+1900*ms)
	return s.write(node, to+2*ms, to+3*ms, history.Ok, token, "y", 0)
}

// A failover is measured from the moment in which the old leader could no
// longer act, part by part, and the parts add up.
func TestFailoverParts(t *testing.T) {
	for _, x := range failoverStories {
		t.Run(x.name, func(t *testing.T) {
			s := newStory()
			s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1900*ms).write("n1", 20*ms, 21*ms, history.Ok, 1, "x", 0)
			s.renew("n1", 600*ms, 602*ms, history.Ok, 1).extended("n1", 602*ms, 1, 2500*ms)
			x.story(s)
			all := Check(s.build(), Options{}).Failovers
			if len(all) != 1 {
				t.Fatalf("%+v", all)
			}
			f := all[0]
			got := []time.Duration{f.At, f.Wait, f.Detect, f.Acquire, f.Announce, f.Excess}
			for i, want := range []time.Duration{x.at, x.wait, x.detect, x.acquire, x.announce, x.excess} {
				if got[i] != want*ms {
					t.Errorf("%s: at, wait, detect, acquire, announce, excess are %v", f.Cause, got)
					break
				}
			}
			if f.Cause != x.cause || f.Total != f.Wait+f.Detect+f.Acquire+f.Announce || f.Excess != f.Total-f.Wait || len(f.Evidence) != 3 {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Who is not there takes over from nobody: a failover waits for the first one that
// is, and a lone candidate's for itself.
func TestFailoverWaitsForSomebody(t *testing.T) {
	for _, x := range []struct {
		name   string
		nodes  []string
		story  func(s *story)
		excess time.Duration
	}{
		{"a lone candidate", []string{"n1"}, func(s *story) {
			s.start("n1", 9000*ms).acquire("n1", "b", 9010*ms, 9012*ms, 2).elected("n1", 9012*ms, 2, 11_000*ms)
		}, 12 * ms},
		{"the other one begins only then", []string{"n1", "n2"}, func(s *story) {
			s.ended("n2", 500*ms, history.Dismissed).start("n2", 5000*ms).acquire("n2", "b", 5010*ms, 5012*ms, 2).elected("n2", 5012*ms, 2, 7000*ms)
		}, 12 * ms},
		{"the other one never comes back", []string{"n1", "n2"}, func(s *story) {
			s.ended("n2", 500*ms, history.ByItself).start("n1", 9000*ms).acquire("n1", "b", 9010*ms, 9012*ms, 2).elected("n1", 9012*ms, 2, 11_000*ms)
		}, 12 * ms},
		{"another one is there all the time", []string{"n1", "n2", "n3"}, func(s *story) {
			s.ended("n2", 500*ms, history.Dismissed).start("n2", 5000*ms).acquire("n2", "b", 5010*ms, 5012*ms, 2).elected("n2", 5012*ms, 2, 7000*ms)
		}, 3012 * ms},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newStory()
			s.header.Nodes = x.nodes
			s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1990*ms).fault("crash", 1000*ms, 9000*ms, nil, "n1").ended("n1", 1001*ms, history.Killed)
			x.story(s)
			all := Check(s.build(), Options{}).Failovers
			if len(all) != 1 || all[0].Excess != x.excess {
				t.Errorf("%+v, want an excess of %v", all, x.excess)
			}
		})
	}
}

// A fault that heals before the lease ends gives no failover, and neither does
// a leader beside another one.
func TestNoFailover(t *testing.T) {
	s := newStory()
	s.acquire("n1", "a", 0, 2*ms, 1).elected("n1", 2*ms, 1, 1900*ms)
	s.fault("pause", 500*ms, 1500*ms, nil, "n1").renew("n1", 1510*ms, 1512*ms, history.Ok, 1).extended("n1", 1512*ms, 1, 3000*ms)
	s.elected("n2", 2000*ms, 2, 9000*ms)
	if all := Check(s.build(), Options{}).Failovers; len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// A leader that tells only that it believes, and not until when, may have
// renewed its lease just before it crashed: its successor waits for that one.
func TestFailoverOfSilentLeader(t *testing.T) {
	s := newStory()
	s.add(history.Event{Kind: history.Elected, Node: "n1", At: 2 * ms})
	s.fault("crash", 5000*ms, 5001*ms, nil, "n1").exit("n1", 5001*ms)
	s.add(history.Event{Kind: history.Elected, Node: "n2", At: 7010 * ms})
	all := Check(s.build(), Options{}).Failovers
	if len(all) != 1 || all[0].Wait != 2000*ms || all[0].Excess != 10*ms {
		t.Errorf("%+v", all)
	}
}

// What a leader without tokens gave back before its term says nothing about the
// term's lease.
func TestFailoverAfterEarlierRelease(t *testing.T) {
	s := newStory()
	s.acquire("n1", "z", 0, 1*ms, 0).release("n1", 2*ms, 3*ms, history.Ok, 0)
	s.acquire("n1", "a", 100*ms, 101*ms, 0).elected("n1", 101*ms, 0, 2000*ms)
	s.fault("crash", 1000*ms, 9000*ms, nil, "n1").exit("n1", 1001*ms)
	s.acquire("n2", "b", 2110*ms, 2111*ms, 0).elected("n2", 2111*ms, 0, 4000*ms)
	all := Check(s.build(), Options{}).Failovers
	if len(all) != 1 || all[0].Wait != 1100*ms || all[0].Excess != 11*ms {
		t.Errorf("%+v", all)
	}
}

// An elector that reports nothing but beliefs has failovers, too: its lease is
// taken to begin with its last extension.
func TestFailoverByBeliefAlone(t *testing.T) {
	s := newStory()
	s.elected("n1", 2*ms, 0, 1900*ms).extended("n1", 602*ms, 0, 2500*ms)
	s.fault("crash", 1000*ms, 1001*ms, nil, "n1").exit("n1", 1001*ms).elected("n2", 2700*ms, 0, 4000*ms)
	all := Check(s.build(), Options{}).Failovers
	if len(all) != 1 || all[0].Wait != 1602*ms || all[0].Excess != 98*ms || all[0].Cause != "crash" {
		t.Errorf("%+v", all)
	}
}

// A leader whose renewals are not understood goes on as it says: what held it up
// before is not why it lost its lease.
func TestFailoverWithoutUnderstoodRenewals(t *testing.T) {
	s := newStory()
	s.elected("n1", 2*ms, 1, 1900*ms).fault("starved", 300*ms, 450*ms, nil, "n1")
	s.op("n1", history.Renew, 600*ms, 602*ms, history.Info, history.Event{Evidence: history.FromWire}, history.Event{Error: history.Ambiguous})
	s.extended("n1", 602*ms, 1, 2500*ms)
	s.fault("crash", 1000*ms, 1001*ms, nil, "n1").exit("n1", 1001*ms).elected("n2", 2700*ms, 2, 4000*ms)
	all := Check(s.build(), Options{}).Failovers
	if len(all) != 1 || all[0].Cause != "crash" || all[0].At != 1000*ms || all[0].Total != 1700*ms {
		t.Errorf("%+v", all)
	}
}

// Each failover begins with the leader that acted last: one that never did, n2
// in its first term here, is passed over.
func TestFailoversFollowEachOther(t *testing.T) {
	s := newStory()
	for i, node := range []string{"n1", "n2", "n3", "n2"} {
		at, token := time.Duration(i+1)*1000*ms, uint64(i+1)
		s.acquire(node, string(rune('a'+i)), at, at+2*ms, token).elected(node, at+2*ms, token, at+1900*ms)
		if i != 1 {
			s.write(node, at+3*ms, at+4*ms, history.Ok, token, node, 0)
		}
		s.deposed(node, at+500*ms, token, history.Resigned).release(node, at+501*ms, at+502*ms, history.Ok, token)
	}
	var got []string
	for _, f := range Check(s.note(6000*ms).build(), Options{}).Failovers {
		got = append(got, f.From+" to "+f.To)
	}
	if want := []string{"n1 to n3", "n3 to n2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A lock that is taken without a time to live and gets one by the next command lasts as
// long as that says: who takes it over later has taken too long.
func TestTimeToLiveThatFollows(t *testing.T) {
	s := newStory()
	s.acquire("n1", "a", 0, 2*ms, 1)
	s.events[0].TTL = 1000 * time.Hour
	s.renew("n1", 3*ms, 4*ms, history.Ok, 1).elected("n1", 5*ms, 1, 2003*ms).write("n1", 6*ms, 7*ms, history.Ok, 1, "x", 0)
	s.fault("crash", 1000*ms, 9500*ms, nil, "n1").exit("n1", 1001*ms)
	s.acquire("n2", "b", 9000*ms, 9002*ms, 2).elected("n2", 9003*ms, 2, 11000*ms).write("n2", 9004*ms, 9005*ms, history.Ok, 2, "y", 0).note(9600 * ms)
	all := Check(s.build(), Options{}).Failovers
	if len(all) != 1 || all[0].Excess < 6900*ms || all[0].Excess > 7100*ms {
		t.Errorf("%+v", all)
	}
}

// Nobody is blamed for that no leader is seen where it is inferred from requests, and
// most of a leader's own are not understood, however many of the followers' are.
func TestTermThatIsNotUnderstood(t *testing.T) {
	for kind, want := range map[history.Kind]Verdict{history.Info: Unknown, history.Ok: Fail} {
		s := newStory()
		s.header.ReturnBound = 1000 * ms
		wired := func(node string, call history.Call, at time.Duration, kind history.Kind, out history.Event) {
			s.op(node, call, at, at+ms, kind, history.Event{Evidence: history.FromWire}, out)
		}
		wired("n1", history.Acquire, 10*ms, history.Ok, history.Event{})
		s.add(history.Event{Kind: history.Elected, Node: "n1", At: 11 * ms, Until: history.At(2010 * ms), Evidence: history.FromWire})
		s.fault("partition", 100*ms, 200*ms, nil, "n2").healed(300 * ms)
		why := ""
		if kind == history.Info {
			why = history.Ambiguous
		}
		for at := 500 * ms; at < 2000*ms; at += 500 * ms {
			wired("n1", history.Renew, at, kind, history.Event{Error: why})
		}
		for at := 50 * ms; at < 9000*ms; at += 50 * ms {
			wired("n2", history.Acquire, at, history.Fail, history.Event{Holder: "n1"})
		}
		s.note(9000 * ms)
		expect(t, Check(s.build(), Options{}), LeaderReturns, want)
	}
}
