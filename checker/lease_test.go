package checker

import (
	"fmt"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

func judgeLease(h *history.History) LeaseChecks {
	r := newRun(h)
	r.index()
	return checkLease(r, findLeases(r), 20*time.Second)
}

// A correct store never alarms any of the three checkers, whatever the delays,
// the lost requests and replies, and the faults, with its own record and
// without.
func TestLeaseCorrectStoresPass(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 300
	}
	counts := map[string]int{}
	for seed := range uint64(n) {
		h := simulate(seed, func(s *simulation) {
			s.audit, s.faults = seed%2 == 0, seed%3 == 0
			s.infos = float64(seed%5) / 20
			s.slow = float64(seed%7) / 40
			s.clients = 2 + int(seed%4)
		})
		if f := checkWellFormed(newRun(h)); f.Verdict == Fail {
			t.Fatalf("seed %d: the simulation is broken: %s", seed, f.Reason)
		}
		c := judgeLease(h)
		for name, f := range map[string]Finding{"intervals": c.Intervals, "store order": c.StoreOrder, "porcupine": c.Porcupine} {
			counts[fmt.Sprintf("%s %v", name, f.Verdict)]++
			if f.Verdict == Fail {
				t.Errorf("seed %d: %s alarms: %s %v", seed, name, f.Reason, f.Evidence)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Log(counts)
}

// Stores with a bug are caught, and where the checkers can tell at all they
// tell the same.
func TestLeaseBugsAreCaught(t *testing.T) {
	const n = 200
	for _, b := range bugs {
		for _, audit := range []bool{true, false} {
			caught := map[string]int{}
			for seed := range uint64(n) {
				h := simulate(seed, func(s *simulation) { s.bug, s.audit = b, audit })
				c := judgeLease(h)
				caught[fmt.Sprintf("%v/%v/%v", c.Intervals.Verdict, c.StoreOrder.Verdict, c.Porcupine.Verdict)]++
				if audit && c.StoreOrder.Verdict != c.Porcupine.Verdict && testing.Verbose() {
					t.Logf("seed %d %s: %+v", seed, b, c)
				}
			}
			t.Logf("%-45s audit %v: %v", b, audit, caught)
		}
	}
}
