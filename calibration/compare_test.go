package calibration

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/race"
)

const lease = time.Second

// simulated makes runs of four failovers each. Their excess has a part that the
// run's failovers share, as in real runs, and shift more.
func simulated(random *rand.Rand, runs int, shift time.Duration) []Run {
	all := make([]Run, runs)
	for i := range all {
		all[i].Verdict = checker.Pass
		shared := time.Duration(random.IntN(40)) * time.Millisecond
		for range 4 {
			excess := shift + shared + time.Duration(random.IntN(5000))*time.Microsecond
			steps := []string{"begin: crash", "old exit", "new acquire ok", "new elected", "new write ok", "end"}
			if random.IntN(2) == 0 {
				steps = slices.Insert(steps, 2, "other acquire refused")
			}
			all[i].Failovers = append(all[i].Failovers, Failover{
				checker.Failover{Cause: "crash", Wait: 900 * time.Millisecond, Detect: excess, Excess: excess, Total: 900*time.Millisecond + excess}, steps,
			})
		}
	}
	return all
}

// compare compares runs of the live world with those of the virtual one.
func compare(scenario string, live, virtual []Run) Comparison {
	return Compare(scenario, lease, Sample{World: "live", Runs: live}, Sample{World: "virtual", Runs: virtual})
}

// patient skips a test of many comparisons, which draw thousands of lots each,
// where that takes long for nothing: nothing here runs beside anything.
func patient(t *testing.T) {
	t.Helper()
	if race.Enabled {
		t.Skip("the race detector has nothing to see in it")
	}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Two worlds that are the same are said to differ about as often as the stated
// chance allows, and not because the failovers of a run resemble each other.
func TestSameWorldsAgree(t *testing.T) {
	patient(t)
	const times = 60
	alarms := 0
	for seed := range uint64(times) {
		random := seeded(seed)
		if c := compare("s", simulated(random, 3, 0), simulated(random, 100, 0)); c.Verdict != checker.Pass {
			t.Logf("seed %d: %q", seed, c.Differences)
			alarms++
		}
	}
	if alarms > 3 { // a fair rule gives so many in one of a thousand such tests
		t.Errorf("%d false alarms in %d comparisons", alarms, times)
	}
}

// A simulator whose failovers are quicker than the real ones is found out, and
// the sentence says by how much.
func TestShiftIsSeen(t *testing.T) {
	random := seeded(1)
	c := compare("s", simulated(random, 3, 80*time.Millisecond), simulated(random, 200, 0))
	if c.Verdict != checker.Unknown || len(c.Differences) != 2 || !strings.Contains(c.Differences[1], "excess: the two curves lie") {
		t.Errorf("%v: %q", c.Verdict, c.Differences)
	}
	if area := c.Figures[1].Area; math.Abs(area-80) > 20 {
		t.Errorf("the curves are said to lie %.1f ms apart; it was 80", area)
	}
}

// A difference that is more than chance, but too small to matter, is reported and is
// no disagreement.
func TestSmallShiftIsAllowed(t *testing.T) {
	patient(t)
	random := seeded(2)
	live, virtual := simulated(random, 60, 9*time.Millisecond), simulated(random, 400, 0)
	c := compare("s", live, virtual)
	if c.Figures[1].Chance > 0.01 {
		t.Errorf("a shift in 240 failovers is put down to chance: %.3f", c.Figures[1].Chance)
	}
	if c.Verdict != checker.Pass {
		t.Errorf("%v: %q", c.Verdict, c.Differences)
	}
}

// What happens in another order, for another cause, or not at all, is a
// difference: of each, one sentence tells.
func TestDifferencesAreSaid(t *testing.T) {
	patient(t)
	for name, c := range map[string]struct {
		change func(*Run)
		want   string
	}{
		"order": {func(r *Run) {
			for i := range r.Failovers {
				r.Failovers[i].Steps = []string{"begin: crash", "new acquire ok", "old exit", "new elected", "new write ok", "end"}
			}
		}, "after crash things happen in another order"},
		"cause": {func(r *Run) {
			for i := range r.Failovers {
				r.Failovers[i].Cause = "exit"
			}
		}, "the failovers have other causes: total variation distance 1.00"},
		"number":  {func(r *Run) { r.Failovers = r.Failovers[:2] }, "2.0 failovers each and the virtual ones 4.0"},
		"none":    {func(r *Run) { r.Failovers = nil }, "0.0 failovers each"},
		"stalled": {func(r *Run) { r.Failovers, r.LeftOut = nil, 4 }, "the machine stalled during every live failover"},
		"undecided": {func(r *Run) {
			r.Verdict, r.Undecided = checker.Unknown, []checker.Finding{{Promise: checker.WellFormed, Reason: "the fault took no effect"}}
		}, "3 of 3 live runs and 0 of 200 virtual ones are undecided: WellFormed: the fault took no effect"},
	} {
		t.Run(name, func(t *testing.T) {
			random := seeded(3)
			live, virtual := simulated(random, 3, 0), simulated(random, 200, 0)
			for i := range live {
				c.change(&live[i])
			}
			got := compare("s", live, virtual)
			if got.Verdict != checker.Unknown || !strings.Contains(strings.Join(got.Differences, "\n"), c.want) {
				t.Errorf("%v: %q, want %q", got.Verdict, got.Differences, c.want)
			}
		})
	}
}

// The worlds' verdicts must be the same, and the promises that are broken: else
// the comparison fails. Broken in both alike, the worlds agree.
func TestBrokenPromisesMustBeTheSame(t *testing.T) {
	patient(t)
	break1 := func(runs []Run, p checker.Promise) {
		runs[1].Verdict, runs[1].Broken = checker.Fail, append(runs[1].Broken, p)
	}
	random := seeded(4)
	live, virtual := simulated(random, 3, 0), simulated(random, 200, 0)
	break1(virtual, checker.AtMostOneLeader)
	c := compare("s", live, virtual)
	if c.Verdict != checker.Fail || !strings.Contains(c.Differences[0], "AtMostOneLeader is broken in 0 of 3 live runs and in 1 of 200 virtual ones") {
		t.Errorf("broken in one world: %v, %q", c.Verdict, c.Differences)
	}
	break1(live, checker.FencedWrites)
	if c = compare("s", live, virtual); c.Verdict != checker.Fail || len(c.Differences) != 2 {
		t.Errorf("each world breaks another promise: %v, %q", c.Verdict, c.Differences)
	}
	break1(live, checker.AtMostOneLeader)
	break1(virtual, checker.FencedWrites)
	if c = compare("s", live, virtual); c.Verdict != checker.Pass || !Failed([]Comparison{c}) {
		t.Errorf("broken in both alike: %v, %q", c.Verdict, c.Differences)
	}
}

// A world in which nobody leads for longer is found out, by its name.
func TestLongerWithoutLeaderIsSeen(t *testing.T) {
	patient(t)
	random := seeded(6)
	live, bubble := simulated(random, 5, 0), simulated(random, 200, 0)
	for i, runs := range [][]Run{live, bubble} {
		for k := range runs {
			runs[k].Leaderless = []time.Duration{time.Duration(900+30*i+random.IntN(20)) * time.Millisecond}
		}
	}
	c := Compare("s", lease, Sample{World: "live", Runs: live}, Sample{World: "bubble", Runs: bubble})
	if c.Verdict != checker.Unknown || len(c.Differences) != 1 || !strings.Contains(c.Differences[0], "leaderless: the two curves lie") {
		t.Errorf("%v: %q", c.Verdict, c.Differences)
	}
	bubble[7].Verdict, bubble[7].Broken = checker.Fail, []checker.Promise{checker.Stable}
	c = Compare("s", lease, Sample{World: "live", Runs: live}, Sample{World: "bubble", Runs: bubble})
	if want := "Stable is broken in 0 of 5 live runs and in 1 of 200 bubble ones"; c.Verdict != checker.Fail || c.Differences[0] != want {
		t.Errorf("%v: %q", c.Verdict, c.Differences)
	}
}

// Nothing to compare is undecided, and the verdict of several comparisons is
// that of the worst.
func TestNothingIsUnknown(t *testing.T) {
	if c := compare("s", nil, simulated(seeded(5), 200, 0)); c.Verdict != checker.Unknown || len(c.Differences) != 1 {
		t.Errorf("%v: %q", c.Verdict, c.Differences)
	}
	pass, unknown, fail := Comparison{Verdict: checker.Pass}, Comparison{}, Comparison{Verdict: checker.Fail}
	for want, all := range map[checker.Verdict][]Comparison{
		checker.Pass: {pass, pass}, checker.Unknown: {pass, unknown, pass}, checker.Fail: {unknown, fail, pass},
	} {
		if got := Verdict(all); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if Verdict(nil) != checker.Unknown {
		t.Error("no comparison is taken for agreement")
	}
}

// Calm runs without failovers agree; there is nothing else to compare.
func TestCalmWorldsAgree(t *testing.T) {
	calm := func(n int) []Run { return slices.Repeat([]Run{{Verdict: checker.Pass}}, n) }
	if c := compare("steady", calm(3), calm(200)); c.Verdict != checker.Pass || len(c.Orders) != 0 {
		t.Errorf("%v: %q, %v", c.Verdict, c.Differences, c.Orders)
	}
}
