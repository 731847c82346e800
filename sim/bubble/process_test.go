package bubble_test

import (
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
)

// underWay is how long a write may take that was on its way when its process
// stopped: who decides about it notes when it arrives.
const underWay = 5 * time.Millisecond

// silence is when nothing may be heard of a node, both ends left out.
type silence struct {
	node     string
	from, to time.Duration
}

// silences are those that the faults of a history ask for: each ends when the fault
// does, or when the node is started again.
func silences(h *history.History) (all []silence) {
	for i, on := range h.Events {
		if on.Kind != history.Fault || on.Phase != history.On {
			continue
		}
		s := silence{node: on.Targets[0], from: on.At}
		for _, e := range h.Events[i:] {
			if e.ID == on.ID && e.Phase == history.Off || e.Kind == history.Start && e.Node == s.node {
				s.to = e.At
				break
			}
		}
		all = append(all, s)
	}
	return all
}

// Of a candidate that stands still, or that was killed, nothing is heard until it
// goes on, or is started again: neither what it does nor what it believes. Suspended
// machines stand still, too.
func TestSilence(t *testing.T) {
	for _, scenario := range []string{"pause-leader", "pause-leader-short", "suspend-leader", "crash-leader", "crash-follower"} {
		for seed := range uint64(3) {
			h := carryOut(t, planOf(t, scenario, scenarios.Settings{Seed: seed}))
			all := silences(h)
			if len(all) < 2 {
				t.Errorf("%s, seed %d: %d silences", scenario, seed, len(all))
			}
			for _, s := range all {
				if s.to <= s.from {
					t.Errorf("%s, seed %d: %s is silent from %v to %v", scenario, seed, s.node, s.from, s.to)
				}
				for _, e := range h.Events {
					late := e.Call == history.Write && e.At <= s.from+underWay
					if e.Node == s.node && e.At > s.from && e.At < s.to && !late {
						t.Errorf("%s, seed %d: %s is silent from %v to %v, and did %+v", scenario, seed, s.node, s.from, s.to, e)
					}
				}
			}
		}
	}
}

// A leader that stood still for longer than its lease was deposed before it does
// anything else: its clock has gone on, and that of a suspended machine, too.
func TestWakesUpDeposed(t *testing.T) {
	for _, scenario := range []string{"pause-leader", "suspend-leader"} {
		h := carryOut(t, planOf(t, scenario, scenarios.Settings{Seed: 1}))
		woken := map[string]bool{}
		noticed := map[string]time.Duration{}
		deposed := 0
		for _, e := range h.Events {
			if e.Kind == history.Deposed {
				noticed[e.Node] = e.At
			}
			switch {
			case e.Kind == history.Fault && e.Phase == history.Off:
				node := e.Targets[0]
				if woken[node] = noticed[node] != e.At; !woken[node] { // it was the first to run, at that moment
					deposed++
				}
			case !woken[e.Node]:
			case e.Kind == history.Deposed:
				deposed++
				delete(woken, e.Node)
			case e.Kind == history.Invoke && e.Call == history.Write:
				t.Errorf("%s: %s wrote before it noticed: %+v", scenario, e.Node, e)
			}
		}
		if deposed == 0 {
			t.Errorf("%s: nobody was deposed", scenario)
		}
	}
}

// Without its protection, a store that forgets a lease gives it away while its
// holder believes, and this world shows it.
func TestUnprotectedIsCaught(t *testing.T) {
	for scenario, breaks := range map[string]checker.Promise{
		"restart-without-data": checker.AtMostOneLeader,
		"flush":                checker.TokensIncrease,
		"eviction":             checker.AtMostOneLeader,
	} {
		broken := 0
		const runs = 4
		for seed := range uint64(runs) {
			h := carryOut(t, planOf(t, scenario, scenarios.Settings{Seed: seed, Subject: "recount-unprotected"}))
			for _, f := range checker.Check(h, checker.Options{}).Asked {
				if f.Promise == breaks && f.Verdict == checker.Fail {
					broken++
				}
			}
		}
		if broken <= runs/2 {
			t.Errorf("%s: %s was broken in %d runs of %d", scenario, breaks, broken, runs)
		}
	}
}
