package reports

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// story fabricates a plausible history together with what a checker would have
// found in it, without any randomness.
type story struct {
	head   history.Header
	events []labelled
	result checker.Result
	finds  []found
	op     int64
}

// labelled is an event that findings can name before it has a number.
type labelled struct {
	event history.Event
	label string
}

type found struct {
	finding checker.Finding
	labels  []string
	asked   bool
}

const lease = 2 * time.Second

func newStory(scenario, subject string, nodes int) *story {
	s := &story{head: history.Header{
		Version: 1, Scenario: scenario, Subject: subject, World: "live", Seed: 42, Lease: lease, Renew: 500 * time.Millisecond, Retry: 100 * time.Millisecond,
		ClockError: 100 * time.Microsecond, DriftPPM: 10000, FailoverBound: 250 * time.Millisecond, Redis: "process 7.0.15",
		Repro: "chaos run " + scenario + " --subject " + subject + " --seed 42 --lease 2s",
	}}
	for i := range nodes {
		s.head.Nodes = append(s.head.Nodes, fmt.Sprintf("n%d", i+1))
		s.at(time.Duration(i)*3*time.Millisecond, history.Event{Kind: history.Start, Node: s.head.Nodes[i]}, "")
	}
	return s
}

func (s *story) at(at time.Duration, e history.Event, label string) {
	e.At = at
	s.events = append(s.events, labelled{e, label})
}

// call adds an invocation and its completion.
func (s *story) call(at, took time.Duration, invoke, done history.Event, label string) {
	s.op++
	invoke.Kind, invoke.Op = history.Invoke, s.op
	done.Op, done.Node, done.Election, done.Call = s.op, invoke.Node, invoke.Election, invoke.Call
	s.at(at, invoke, "")
	s.at(at+took, done, label)
	switch done.Kind {
	case history.Ok:
		s.result.Ops.Ok++
	case history.Fail:
		s.result.Ops.Fail++
	default:
		s.result.Ops.Info++
	}
}

// lead has the node hold the lease from a grant on, renew it until renewed, and
// believe until to. Its events are labelled with the token.
func (s *story) lead(node string, token uint64, from, renewed, to time.Duration, why history.Why) {
	const election = "billing"
	name := fmt.Sprint(token)
	nonce := "x" + name
	s.call(from-time.Millisecond, time.Millisecond, history.Event{Node: node, Election: election, Call: history.Acquire, Nonce: nonce, TTL: lease},
		history.Event{Kind: history.Ok, Token: token}, "grant"+name)
	s.at(from, history.Event{Kind: history.Elected, Node: node, Election: election, Token: token, Until: history.At(from + lease - 22*time.Millisecond)}, "elected"+name)
	for t := from + 500*time.Millisecond; t <= renewed; t += 500 * time.Millisecond {
		s.call(t-800*time.Microsecond, 800*time.Microsecond, history.Event{Node: node, Election: election, Call: history.Renew, Token: token, TTL: lease},
			history.Event{Kind: history.Ok, Token: token}, "")
		s.at(t, history.Event{Kind: history.Extended, Node: node, Election: election, Token: token, Until: history.At(t + lease - 22*time.Millisecond)}, "")
	}
	for t := from + time.Millisecond; t < to; t += 100 * time.Millisecond {
		label := ""
		if t == from+time.Millisecond {
			label = "write" + name
		}
		s.call(t, 400*time.Microsecond, history.Event{Node: node, Election: election, Call: history.Write, Token: token, Value: fmt.Sprint(t.Milliseconds())},
			history.Event{Kind: history.Ok, Token: token}, label)
		s.result.Writes.Accepted++
	}
	if why != "" {
		s.at(to, history.Event{Kind: history.Deposed, Node: node, Election: election, Token: token, Why: why}, "deposed"+name)
	}
	held := to
	if why != history.Resigned {
		held = max(from, renewed.Truncate(time.Millisecond)) + lease
	}
	s.result.Terms = append(s.result.Terms, checker.Term{Election: election, Node: node, Token: token, From: from, To: to, Why: string(why)})
	s.result.Holdings = append(s.result.Holdings, checker.Holding{Election: election, Node: node, Token: token, From: from, To: min(held, 30*time.Second)})
}

// fault puts one on and off again.
func (s *story) fault(id, name string, from, to time.Duration, targets ...string) {
	s.at(from, history.Event{Kind: history.Fault, ID: id, Fault: name, Phase: history.On, Targets: targets}, id)
	s.at(to, history.Event{Kind: history.Fault, ID: id, Fault: name, Phase: history.Off, Targets: targets, Effective: history.Bool(true), Evidence: "seen at the target"}, "")
	for i := range s.result.Faults {
		if s.result.Faults[i].Name == name {
			s.result.Faults[i].Injected++
			s.result.Faults[i].Effective++
			return
		}
	}
	s.result.Faults = append(s.result.Faults, checker.FaultCount{Name: name, Injected: 1, Effective: 1})
	slices.SortFunc(s.result.Faults, func(a, b checker.FaultCount) int { return cmp.Compare(a.Name, b.Name) })
}

func (s *story) failover(cause, from, to string, at, wait, detect, acquire, announce time.Duration) {
	rest := detect + acquire + announce
	s.result.Failovers = append(s.result.Failovers, checker.Failover{
		Election: "billing", Cause: cause, From: from, To: to, At: at,
		Wait: wait, Detect: detect, Acquire: acquire, Announce: announce, Total: wait + rest, Excess: rest,
	})
}

func (s *story) find(p checker.Promise, v checker.Verdict, reason string, labels ...string) {
	s.finds = append(s.finds, found{checker.Finding{Promise: p, Verdict: v, Reason: reason}, labels, true})
}

// done numbers the events and resolves the labels.
func (s *story) done(end time.Duration) (*history.History, *checker.Result) {
	slices.SortStableFunc(s.events, func(a, b labelled) int { return cmp.Compare(a.event.At, b.event.At) })
	h := &history.History{Header: s.head}
	number := map[string]int64{}
	for i, e := range s.events {
		e.event.Seq = int64(i + 1)
		h.Events = append(h.Events, e.event)
		number[e.label] = e.event.Seq
	}
	r := &s.result
	r.End = end
	r.Verdict = checker.Pass
	for _, f := range s.finds {
		for _, label := range f.labels {
			f.finding.Evidence = append(f.finding.Evidence, number[label])
		}
		if !f.asked {
			r.Measured = append(r.Measured, f.finding)
			continue
		}
		r.Asked = append(r.Asked, f.finding)
		if r.Verdict != checker.Fail && f.finding.Verdict != checker.Pass {
			r.Verdict = f.finding.Verdict
		}
	}
	for i := range r.Terms {
		t := &r.Terms[i]
		t.Begin, t.End = number[fmt.Sprint("elected", t.Token)], number[fmt.Sprint("deposed", t.Token)]
	}
	for i := range r.Failovers {
		f := &r.Failovers[i]
		f.Evidence = []int64{number[fmt.Sprint("grant", i+2)], number[fmt.Sprint("write", i+2)]}
	}
	finding := func(v checker.Verdict, reason string) checker.Finding {
		return checker.Finding{Verdict: v, Reason: reason} // as the judges do
	}
	r.Lease = checker.LeaseChecks{
		Intervals:  finding(checker.Pass, "no grant lies inside another's certain holding"),
		StoreOrder: finding(checker.Pass, "the store's own order explains every answer"),
		Porcupine:  finding(checker.Pass, "an order was found that fits the times"),
	}
	return h, r
}

// kept adds the promises that a story keeps.
func (s *story) kept(but ...checker.Promise) {
	reasons := map[checker.Promise]string{
		checker.WellFormed:        "all operations have one completion and every scheduled fault took effect",
		checker.LeaseLinearizable: "three checks agree: the answers fit one lease with expiry",
		checker.AtMostOneLeader:   "6 terms, none overlaps another",
		checker.TokensIncrease:    "6 terms with tokens 1 to 6",
		checker.FencedWrites:      "the resource never went back",
		checker.LeaderReturns:     "n4 led 0 s after all was healed, and to the end",
		checker.FailoverBound:     "the longest excess was 151 ms, the bound is 250 ms",
	}
	for _, p := range checker.Promises {
		if reason, ok := reasons[p]; ok && !slices.Contains(but, p) {
			s.find(p, checker.Pass, reason)
		}
	}
	s.finds = append(s.finds, found{checker.Finding{Promise: checker.Stable, Verdict: checker.Unknown, Reason: "faults were on for most of the run"}, nil, false})
	s.head.Waived = map[string]string{"Stable": "the scenario injects faults throughout"}
}

// sec is a time of the run.
func sec(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// goodRun is half a minute with five nodes and six faults, all survived.
func goodRun() (*history.History, *checker.Result) {
	s := newStory("mixed-faults", "recount", 5)
	return s.play(false).done(30 * time.Second)
}

// badRun is the same with an elector that, paused as leader, goes on leading
// when it wakes up.
func badRun() (*history.History, *checker.Result) {
	s := newStory("pause-leader", "titan", 5)
	return s.play(true).done(30 * time.Second)
}

func (s *story) play(broken bool) *story {
	s.lead("n1", 1, sec(0.052), sec(4.552), sec(5), "exit")
	s.fault("f1", "crash", sec(5), sec(7.5), "n1")
	s.at(sec(5), history.Event{Kind: history.Exit, Node: "n1", Why: "crash"}, "")
	s.at(sec(7.5), history.Event{Kind: history.Start, Node: "n1"}, "")
	s.lead("n3", 2, sec(6.554), sec(8.554), sec(10.532), history.Expired)
	s.failover("crash", "n1", "n3", sec(5), sec(1.552), sec(0.0009), sec(0.0011), sec(0.0014))
	if !broken {
		s.fault("f2", "pause", sec(9), sec(12.5), "n3")
	} else {
		s.fault("f2", "pause", sec(9), sec(11.3), "n3")
		s.result.Terms[1].To = sec(11.369)
		s.result.DualBelief = sec(0.812)
		s.at(sec(11.369), history.Event{Kind: history.Deposed, Node: "n3", Election: "billing", Token: 2, Why: history.Superseded}, "late")
	}
	s.lead("n5", 3, sec(10.557), sec(15.057), sec(17.035), history.Expired)
	s.failover("pause", "n3", "n5", sec(9), sec(1.554), sec(0.0017), sec(0.0013), sec(0.0014))
	for i := range 3 {
		s.call(sec(12.51)+time.Duration(i)*sec(0.1), 500*time.Microsecond, history.Event{Node: "n3", Election: "billing", Call: history.Write, Token: 2}, history.Event{Kind: history.Fail, Fence: 3}, "")
		s.result.Writes.Refused++
	}
	s.fault("f3", "cut", sec(15.1), sec(18.2), "n5")
	s.call(sec(15.56), sec(0.4), history.Event{Node: "n5", Election: "billing", Call: history.Renew, Token: 3, TTL: lease}, history.Event{Kind: history.Info, Error: "i/o timeout"}, "")
	s.lead("n2", 4, sec(17.21), sec(19.21), sec(19.5), history.Resigned)
	s.failover("cut", "n5", "n2", sec(15.1), sec(1.957), sec(0.148), sec(0.0012), sec(0.0016))
	s.lead("n4", 5, sec(19.503), sec(29.503), sec(30), "")
	s.failover("resign", "n2", "n4", sec(19.5), 0, sec(0.0012), sec(0.0008), sec(0.0013))
	s.fault("f4", "crash", sec(20.2), sec(22), "n2")
	s.at(sec(20.2), history.Event{Kind: history.Exit, Node: "n2", Why: "crash"}, "")
	s.at(sec(22), history.Event{Kind: history.Start, Node: "n2"}, "")
	s.fault("f5", "slow", sec(20.5), sec(23.5), "n4", "n1")
	s.fault("f6", "flush-scripts", sec(21), sec(21.001), history.StoreTarget)
	s.at(sec(24), history.Event{Kind: history.Healed}, "")
	s.at(sec(26), history.Event{Kind: history.Note, Node: "n1", Text: "connected to redis://app:hunter2@127.0.0.1:6379/0"}, "")
	s.result.Leaderless, s.result.Availability = sec(1.731), 0.94227
	if broken {
		s.find(checker.AtMostOneLeader, checker.Fail, "n3 (token 2) and n5 (token 3) both led for 812 ms", "elected3", "late")
		s.kept(checker.AtMostOneLeader)
		return s
	}
	s.kept()
	return s
}

// unknownRun ends undecided: one check ran out of time.
func unknownRun() (*history.History, *checker.Result) {
	s := newStory("reply-lost", "recount", 3)
	s.lead("n1", 1, sec(0.052), sec(9.552), sec(10), "")
	s.fault("f1", "lose-replies", sec(3), sec(5), "n1")
	s.find(checker.WellFormed, checker.Pass, "pairs match")
	s.find(checker.LeaseLinearizable, checker.Unknown, "porcupine found no order within 10 s and none was excluded", "f1")
	s.result.Availability = 1
	return s.done(10 * time.Second)
}

// quietRun has no failover.
func quietRun() (*history.History, *checker.Result) {
	s := newStory("calm", "recount", 3)
	s.head.World, s.head.Redis = "virtual", "model"
	s.lead("n2", 1, sec(0.052), sec(9.552), sec(10), "")
	s.find(checker.WellFormed, checker.Pass, "pairs match")
	s.find(checker.Stable, checker.Pass, "one term from 0.052 s to the end")
	s.result.Availability = 1
	return s.done(10 * time.Second)
}
