package soak

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// script records an election in which one candidate leads calmly.
type script struct {
	*election
	at time.Duration
	op int64
}

func (s *script) call(node string, call history.Call, kind history.Kind, token uint64) {
	s.op++
	begun := history.Event{At: s.at, Kind: history.Invoke, Election: s.name, Node: node, Call: call, Op: s.op, Nonce: node, Try: uint64(s.op)}
	if call != history.Write {
		begun.TTL = time.Second
	}
	if call != history.Acquire {
		begun.Token = token
	}
	s.add(begun)
	begun.At, begun.Kind, begun.Token = s.at+time.Millisecond, kind, token
	s.add(begun)
	s.at += 2 * time.Millisecond
}

func (s *script) believe(kind history.Kind, node string, token uint64) {
	s.add(history.Event{At: s.at, Kind: kind, Election: s.name, Node: node, Token: token, Until: history.At(s.at + 900*time.Millisecond)})
	s.at += time.Millisecond
}

// leads lets the node lead for so many renewals, with a write after each.
func (s *script) leads(node string, token uint64, renewals int) {
	for range renewals {
		s.at += 300 * time.Millisecond
		s.call(node, history.Renew, history.Ok, token)
		s.believe(history.Extended, node, token)
		s.call(node, history.Write, history.Ok, token)
	}
}

func (s *script) takes(node string, token uint64) {
	s.call(node, history.Acquire, history.Ok, token)
	s.believe(history.Elected, node, token)
	s.call(node, history.Write, history.Ok, token)
}

var header = func() history.Header {
	h := history.Header{
		Version: history.Version, Nodes: []string{"n1", "n2"}, Lease: time.Second, ClockError: sim.ClockError,
		DriftPPM: 10_000, Margin: time.Millisecond, ReturnBound: 2 * time.Second,
	}
	for _, p := range promises {
		h.Promises = append(h.Promises, string(p))
	}
	return h
}()

// What is restated is the lease as it lasts: a lease that was passed on to a request
// may be told after a later request of the same attempt has got it, too.
func TestCutAfterLateNews(t *testing.T) {
	s := &script{election: newElection("e"), at: time.Second}
	s.add(history.Event{At: s.at, Kind: history.Start, Node: "n1"})
	s.add(history.Event{At: s.at, Kind: history.Start, Node: "n2"})
	s.takes("n2", 6)
	s.add(history.Event{At: s.at, Kind: history.Healed})
	s.leads("n2", 6, 12)
	early := s.at
	s.add(history.Event{At: s.at, Kind: history.Deposed, Election: s.name, Node: "n2", Token: 6, Why: history.Resigned})
	s.call("n2", history.Release, history.Ok, 6)
	s.at += 300 * time.Millisecond
	s.call("n1", history.Acquire, history.Ok, 7)
	believed := s.at
	s.op++
	passed := history.Event{At: s.at, Kind: history.Invoke, Election: s.name, Node: "n1", Call: history.Acquire, Op: s.op, Nonce: "n1", Try: 1, TTL: time.Second, Since: history.At(early)}
	s.add(passed)
	passed.Kind, passed.Since, passed.Token = history.Ok, nil, 7
	s.add(passed)
	s.at = believed + time.Millisecond
	s.believe(history.Elected, "n1", 7)
	s.call("n1", history.Write, history.Ok, 7)
	s.at = believed + 10*time.Millisecond
	var chain checker.Chain
	if first, _ := s.cut(header, s.at); first == nil {
		t.Fatal("there is no calm moment")
	} else if r := chain.Add(first); r.Verdict != checker.Pass {
		t.Fatalf("the first history: %v", r.Asked)
	}
	s.add(history.Event{At: s.at, Kind: history.Healed})
	s.leads("n1", 7, 12)
	next, _ := s.cut(header, s.at)
	if next == nil {
		t.Fatal("there is no second calm moment")
	}
	if r := chain.Add(next); r.Verdict != checker.Pass {
		t.Errorf("the second history: %v", r.Asked)
	}
}

// A history is cut where all is calm, the next one goes on from there, and each is
// judged alone; what two of them promise together is broken in the second one if it
// is broken there.
func TestCut(t *testing.T) {
	for _, broken := range []bool{false, true} {
		s := &script{election: newElection("e"), at: time.Second}
		s.add(history.Event{At: s.at, Kind: history.Start, Node: "n1"})
		s.add(history.Event{At: s.at, Kind: history.Start, Node: "n2"})
		s.takes("n1", 7)
		s.add(history.Event{At: s.at, Kind: history.Healed})
		s.leads("n1", 7, 12)
		var chain checker.Chain
		first, _ := s.cut(header, s.at)
		if first == nil {
			t.Fatal("there is no calm moment")
		}
		if r := chain.Add(first); r.Verdict != checker.Pass {
			t.Fatalf("the first history: %v", r.Asked)
		}
		s.leads("n1", 7, 2)
		if broken {
			s.takes("n2", 8)
		}
		s.add(history.Event{At: s.at, Kind: history.Healed})
		s.leads("n1", 7, 12)
		second, _ := s.cut(header, s.at)
		if second == nil && broken {
			second = &history.History{Header: header, Events: numbered(s.events)}
		}
		if second == nil || !second.Events[0].Restated {
			t.Fatalf("the second history does not restate: %v", second)
		}
		r := chain.Add(second)
		if got := r.Verdict == checker.Fail; got != broken {
			t.Errorf("broken: %v; judged: %v", broken, r.Asked)
		}
		if len(s.events) > 20 && !broken {
			t.Errorf("%d events are kept of what is judged", len(s.events))
		}
	}
}

func numbered(events []history.Event) []history.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Seq = int64(i + 1)
	}
	return events
}

// Nothing is cut while a fault is on, a request is under way, or before the bound
// after healing has passed.
func TestNotCalm(t *testing.T) {
	for _, test := range []struct {
		name    string
		disturb func(s *script)
	}{
		{"fault", func(s *script) {
			s.add(history.Event{At: s.at, Kind: history.Fault, Phase: history.On, ID: "f", Fault: "partition", Targets: []string{"n2"}})
		}},
		{"request", func(s *script) {
			s.add(history.Event{At: s.at, Kind: history.Invoke, Node: "n2", Call: history.Acquire, Op: 999})
		}},
		{"healed just now", func(s *script) { s.events[len(s.events)-1].At += 3 * time.Second }},
		{"another leader", func(s *script) { s.believe(history.Elected, "n2", 9) }},
	} {
		s := &script{election: newElection("e"), at: time.Second}
		s.takes("n1", 7)
		s.add(history.Event{At: s.at, Kind: history.Healed})
		test.disturb(s)
		s.leads("n1", 7, 12)
		if h, cut := s.cut(header, s.at); cut {
			t.Errorf("%s: cut after %d events", test.name, len(h.Events))
		}
	}
}

// What is forgotten is in no history, and none is judged whose begin is forgotten: the
// next one begins where all is calm, also if a request and a fault were under way.
func TestForget(t *testing.T) {
	s := &script{election: newElection("e"), at: time.Second}
	s.takes("n1", 7)
	s.add(history.Event{At: s.at, Kind: history.Fault, Phase: history.On, ID: "f", Fault: history.StallFault, Targets: []string{"n2"}})
	s.add(history.Event{At: s.at, Kind: history.Invoke, Election: "e", Node: "n2", Call: history.Acquire, Op: 999, Nonce: "n2", TTL: time.Second})
	s.leads("n1", 7, 3)
	if _, cut := s.cut(header, s.at); cut {
		t.Fatal("cut while a fault is on")
	}
	s.forget(s.at)
	if len(s.events) != 2 {
		t.Errorf("kept: %v", s.events)
	}
	s.add(history.Event{At: s.at, Kind: history.Fault, Phase: history.Off, ID: "f", Fault: history.StallFault, Targets: []string{"n2"}, Effective: history.Bool(true)})
	s.add(history.Event{At: s.at, Kind: history.Fail, Election: "e", Node: "n2", Call: history.Acquire, Op: 999, Holder: "n1", Token: 7})
	s.takes("n1", 7) // whatever it was before, it is known from here on
	s.add(history.Event{At: s.at, Kind: history.Healed})
	s.leads("n1", 7, 12)
	if h, cut := s.cut(header, s.at); h != nil || !cut {
		t.Fatalf("cut: %v, history: %v", cut, h)
	}
	s.leads("n1", 7, 2)
	s.add(history.Event{At: s.at, Kind: history.Healed})
	s.leads("n1", 7, 12)
	h, _ := s.cut(header, s.at)
	if h == nil || !h.Events[0].Restated {
		t.Fatalf("the next history does not restate: %v", h)
	}
	if r := checker.Check(h, checker.Options{}); r.Verdict != checker.Pass {
		t.Errorf("judged: %v", r.Asked)
	}
}

// The protected resource refuses a token smaller than one that it has seen.
func TestDecide(t *testing.T) {
	e := newElection("e")
	for _, test := range []struct {
		token    uint64
		accepted bool
	}{{7, true}, {7, true}, {9, true}, {8, false}, {9, true}} {
		r, done := e.decide(history.Event{Op: 1, Token: test.token}, time.Second)
		if r.Accepted != test.accepted || done.Kind == history.Ok != test.accepted || !r.Accepted && r.Fence != 9 {
			t.Errorf("token %d: %+v, %+v", test.token, r, done)
		}
	}
}

// One seed draws the same faults, in the same order, and another one others.
func TestDraw(t *testing.T) {
	plan := func(seed uint64) (text string) {
		s := &soak{Options: Options{Seed: seed}.filled()}
		g := &group{soak: s, members: []*member{{name: "n1"}, {name: "n2"}, {name: "n3"}}, turns: map[string]*sync.Mutex{}}
		for round := range 50 {
			for _, step := range g.draw(round) {
				text += fmt.Sprintln(round, step.At, step.For, step.Fault.Name(), step.Fault.Params(), step.Target)
			}
		}
		return text
	}
	if once, again := plan(1), plan(1); once != again {
		t.Error("seed 1 draws two plans")
	}
	if plan(1) == plan(2) {
		t.Error("two seeds draw one plan")
	}
}

// Gaps between leaders are counted where no fault was near.
func TestGapsOf(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	elected := func(at int, node string) history.Event {
		return history.Event{At: ms(at), Kind: history.Elected, Node: node, Until: history.At(ms(at + 1000))}
	}
	deposed := func(at int, node string) history.Event {
		return history.Event{At: ms(at), Kind: history.Deposed, Node: node}
	}
	fault := func(at int, phase history.Phase) history.Event {
		return history.Event{At: ms(at), Kind: history.Fault, Phase: phase, ID: "f"}
	}
	events := []history.Event{
		elected(0, "n1"), deposed(500, "n1"), elected(510, "n2"), deposed(900, "n2"), // 10 ms
		fault(950, history.On), fault(1000, history.Off), elected(1100, "n1"), // beside a fault
		elected(9000, "n1"), // it expired at 2100
	}
	gaps, terms, handed := gapsOf(&history.History{Events: events}, ms(1500))
	if fmt.Sprint(gaps) != "[10ms]" || terms != 4 || handed != 2 {
		t.Errorf("gaps %v, %d terms, %d handed over", gaps, terms, handed)
	}
	gaps, _, _ = gapsOf(&history.History{Events: events}, 0)
	if fmt.Sprint(gaps) != "[10ms 6.9s]" {
		t.Errorf("gaps %v", gaps)
	}
}

// A judge that is slow keeps nobody from going on, what waits for it has a bound, and
// what it could not judge is counted.
func TestSlowJudge(t *testing.T) {
	for events, waits := range map[int]int{1: 4, mostWaiting / 2: 2, mostWaiting + 1: 0} {
		s := &soak{judging: make(chan *history.History, 4)}
		s.report.Unknown = map[string]int{}
		h := &history.History{Events: make([]history.Event, events)}
		for range 5 {
			s.judge(h)
		}
		if n := s.report.Unknown["a history was dropped unjudged: the judge was too far behind"]; n != 5-waits || len(s.judging) != waits {
			t.Errorf("of five histories of %d events %d wait and %d are dropped: %v", events, len(s.judging), n, s.report.Unknown)
		}
	}
}

// Stalls that meet, or nearly do, are one; others stay apart and in order.
func TestStallsJoin(t *testing.T) {
	var spans []span
	for _, s := range []span{{50, 60}, {10, 20}, {80, 90}, {22, 30}, {58, 70}} {
		spans = join(spans, s, 5)
	}
	if want := []span{{10, 30}, {50, 70}, {80, 90}}; !slices.Equal(spans, want) {
		t.Errorf("%v, want %v", spans, want)
	}
	if spans = join(spans, span{25, 85}, 5); !slices.Equal(spans, []span{{10, 90}}) {
		t.Errorf("%v", spans)
	}
}
