package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// planted are electors with a bug.
func planted() map[string]virtual.Subject {
	return map[string]virtual.Subject{
		"believes-too-long": {Decide: func(cfg machine.Config) virtual.Decider {
			cfg.Drift = -0.1
			return machine.New(cfg)
		}},
		"panics": {Blocking: func(sim.Host) error { panic("no reason") }},
		"tokenless": {Blocking: func(h sim.Host) error {
			h.Elected(0, sim.Forever)
			for !h.Stopping() {
				h.Sleep(h.Settings().Lease)
			}
			h.Deposed(0, history.Resigned)
			return nil
		}},
	}
}

// place is the virtual world as a place, which carries out all but steady.
func place(t *testing.T, runs int) Place {
	t.Helper()
	return Place{
		Name: "virtual", Runs: runs, Parallel: 2, Simple: true,
		Open: func(context.Context, Subject) (scenarios.World, func() error, error) {
			return &virtual.World{Subjects: planted()}, func() error { return nil }, nil
		},
		Lacks: func(s scenarios.Scenario) string {
			if s.Name == "steady" {
				return "is too calm"
			}
			return ""
		},
		Logs:  func(string) (string, error) { return "", nil },
		Flags: func(s Subject, seed uint64) string { return fmt.Sprintf("--subject %s --seed %d", s.Name, seed) },
	}
}

func find(t *testing.T, names ...string) []scenarios.Scenario {
	t.Helper()
	list, err := scenarios.Find(names...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A trial has a cell for every subject and scenario, whatever came of it: kept,
// broken with the shortest history of it, a panic, or not applicable with the
// reason of the subject or of the place. Each run has its own seed.
func TestRun(t *testing.T) {
	var shown []string
	trial := Trial{
		Subjects: []Subject{
			{Name: "recount"}, {Name: "believes-too-long"}, {Name: "panics"},
			{Name: "limited", Applies: func(scenarios.Scenario) (bool, string) { return false, "it does not want to" }},
			{Name: "away", Absent: map[string]string{"virtual": "it lives elsewhere"}},
		},
		Scenarios: find(t, "partition-leader", "steady"), Places: []Place{place(t, 3)}, Settings: scenarios.Settings{Seed: 5},
		Shrink: time.Minute, Simulated: planted(),
		Show: func(c *Cell) error {
			if n := len(c.Shortest.History.Events); n != c.Shortest.Events || n*4 > c.Shortest.Of || c.Shortest.Case == nil {
				t.Errorf("%d events of %d, a case of %d", n, c.Shortest.Of, c.Shortest.Events)
			}
			shown = append(shown, c.Subject+" "+string(c.Shortest.Promise))
			return nil
		},
	}
	cells, err := trial.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cells {
		got = append(got, fmt.Sprint(c.Subject, " ", c.Scenario, " ", c.Verdict(), " ", len(c.Runs), " ", c.First(), " ", c.Why))
	}
	want := []string{
		"recount partition-leader pass 3  ", "recount steady unknown 0  is too calm",
		"believes-too-long partition-leader fail 3 BeliefWithinLease ", "believes-too-long steady unknown 0  is too calm",
		"panics partition-leader fail 3 NoPanic ", "panics steady unknown 0  is too calm",
		"limited partition-leader unknown 0  it does not want to", "limited steady unknown 0  it does not want to",
		"away partition-leader unknown 0  it lives elsewhere", "away steady unknown 0  it lives elsewhere",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if want := []string{"believes-too-long BeliefWithinLease", "panics NoPanic"}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
	for i, r := range cells[2].Runs {
		if r.Seed != uint64(5+i) || r.Repro != fmt.Sprintf("chaos run partition-leader --subject believes-too-long --seed %d", 5+i) {
			t.Errorf("run %d: seed %d, %q", i, r.Seed, r.Repro)
		}
	}
	if b := cells[4].Broken(); len(b) != 1 || b[0].Promise != checker.NoPanic || b[0].Runs != 3 || !strings.HasSuffix(b[0].Reason, ": no reason") {
		t.Errorf("%+v", b)
	}
}

// A trial that is stopped has all its cells: those that were run, and those that
// were not, which are undecided and say so.
func TestRunStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	trial := Trial{
		Subjects: []Subject{{Name: "recount"}, {Name: "believes-too-long"}}, Scenarios: find(t, "crash-follower"), Places: []Place{place(t, 2)},
		Done: func(Subject, string, []*Cell) { stop() },
	}
	cells, err := trial.Run(ctx)
	if !errors.Is(err, context.Canceled) || len(cells) != 2 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	if cells[0].Verdict() != checker.Pass || cells[1].Verdict() != checker.Unknown || cells[1].Undecided() == "" {
		t.Errorf("%v, %v: %q", cells[0].Verdict(), cells[1].Verdict(), cells[1].Undecided())
	}
}

// An elector that cannot be started in a run, or one whose world fails, is
// undecided and says why; the trial goes on.
func TestRunInTrouble(t *testing.T) {
	p := place(t, 1)
	p.Open = func(context.Context, Subject) (scenarios.World, func() error, error) {
		return broken{}, func() error { return nil }, nil
	}
	trial := Trial{Subjects: []Subject{{Name: "recount"}}, Scenarios: find(t, "crash-follower", "pause-leader"), Places: []Place{p}}
	cells, err := trial.Run(t.Context())
	if err != nil || len(cells) != 2 || cells[1].Verdict() != checker.Unknown || cells[1].Undecided() != "no room" {
		t.Errorf("%v: %+v", err, cells)
	}
}

// A live run that comes to no verdict because of the world is carried out again, and one
// that never does is undecided in the end. In virtual time nothing is repeated.
func TestUndecidedRunsAreRepeated(t *testing.T) {
	for fails, runs := range map[int]struct{ live, virtual checker.Verdict }{
		attempts - 1: {checker.Pass, checker.Unknown},
		attempts:     {checker.Unknown, checker.Unknown},
	} {
		for simple, want := range map[bool]checker.Verdict{false: runs.live, true: runs.virtual} {
			world := &recovering{World: &virtual.World{Subjects: planted()}, fails: fails}
			p := place(t, 1)
			p.Simple = simple
			p.Open = func(context.Context, Subject) (scenarios.World, func() error, error) {
				return world, func() error { return nil }, nil
			}
			trial := Trial{Subjects: []Subject{{Name: "recount"}}, Scenarios: find(t, "crash-follower"), Places: []Place{p}}
			cells, err := trial.Run(t.Context())
			if err != nil || cells[0].Verdict() != want || len(cells[0].Runs) != 1 {
				t.Errorf("%d failed runs, virtual %v: %v, %d runs, %v; want %v", fails, simple, cells[0].Verdict(), len(cells[0].Runs), err, want)
			}
		}
	}
}

// recovering is a world in which the first runs fail.
type recovering struct {
	scenarios.World
	fails int
}

func (w *recovering) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	if w.fails--; w.fails >= 0 {
		return broken{}.Run(ctx, plan, logs)
	}
	return w.World.Run(ctx, plan, logs)
}

// broken is a world in which nothing runs.
type broken struct{}

func (broken) Run(context.Context, sim.Plan, string) (*history.History, error) {
	return nil, errors.New("no room")
}

// Promises that are about tokens do not make the run of an elector undecided
// that has none; any other undecided promise does.
func TestTokenless(t *testing.T) {
	p := place(t, 1)
	p.Lacks = func(scenarios.Scenario) string { return "" }
	trial := Trial{Subjects: []Subject{{Name: "tokenless"}}, Scenarios: find(t, "crash-follower"), Places: []Place{p}}
	cells, err := trial.Run(t.Context())
	if err != nil || len(cells[0].Runs) != 1 {
		t.Fatal(err)
	}
	for _, f := range cells[0].Runs[0].Undecided {
		if slices.Contains(tokens, f.Promise) {
			t.Errorf("%s is undecided: %s", f.Promise, f.Reason)
		}
	}
	if !slices.ContainsFunc(cells[0].Runs[0].Undecided, func(f checker.Finding) bool { return f.Promise == checker.LeaseLinearizable }) {
		t.Error("an elector that never asked for a lease is decided")
	}
}

// Two led for as long as two beliefs of different nodes lasted at one time; what
// the error of the clocks explains is none, nor is a node's own next term.
func TestLongestDual(t *testing.T) {
	term := func(node string, from, to time.Duration) checker.Term {
		return checker.Term{Election: "e", Node: node, From: from, To: to}
	}
	for name, test := range map[string]struct {
		terms []checker.Term
		want  time.Duration
	}{
		"one":              {[]checker.Term{term("a", 0, 10)}, 0},
		"one after other":  {[]checker.Term{term("a", 0, 10), term("b", 10, 20)}, 0},
		"together":         {[]checker.Term{term("a", 0, 10), term("b", 4, 20)}, 6},
		"one inside":       {[]checker.Term{term("a", 0, 30), term("b", 4, 20), term("c", 27, 50)}, 16},
		"within the error": {[]checker.Term{term("a", 0, 10), term("b", 8, 20)}, 0},
		"its own":          {[]checker.Term{term("a", 0, 10), term("a", 4, 20)}, 0},
		"other election":   {[]checker.Term{term("a", 0, 10), {Election: "f", Node: "b", From: 0, To: 10}}, 0},
	} {
		if got := longestDual(test.terms, 2); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// The promise that was broken first is the one whose contradiction was complete
// first, whatever the order in which promises are reported.
func TestFirst(t *testing.T) {
	fail := func(p checker.Promise, evidence ...int64) checker.Finding {
		return checker.Finding{Promise: p, Verdict: checker.Fail, Evidence: evidence}
	}
	kept := checker.Finding{Promise: checker.WellFormed, Verdict: checker.Pass, Evidence: []int64{1}}
	for want, asked := range map[checker.Promise][]checker.Finding{
		"":                      {kept},
		checker.AtMostOneLeader: {kept, fail(checker.LeaseLinearizable, 3, 40), fail(checker.AtMostOneLeader, 20, 30)},
		checker.LeaderReturns:   {fail(checker.LeaderReturns), kept},
		checker.Stable:          {fail(checker.LeaderReturns), fail(checker.Stable, 9)},
	} {
		if got := first(&checker.Result{Asked: asked}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Of the runs that broke a promise, the one with the fewest events is kept.
func TestKeep(t *testing.T) {
	kept := map[checker.Promise]*Evidence{}
	for _, n := range []int{7, 3, 5} {
		keep(kept, scenarios.Outcome{Plan: sim.Plan{Seed: uint64(n)}, History: &history.History{Events: make([]history.Event, n)}}, checker.Stable)
	}
	keep(kept, scenarios.Outcome{History: &history.History{}}, "")
	if e := kept[checker.Stable]; len(kept) != 1 || e.Events != 3 || e.Plan.Seed != 3 {
		t.Errorf("%d kept, %+v", len(kept), e)
	}
}

// A run that is not whole is undecided, although all that was recorded of it is
// kept; what is broken in it is broken.
func TestRunNotWhole(t *testing.T) {
	for verdict, want := range map[checker.Verdict]checker.Verdict{checker.Pass: checker.Unknown, checker.Fail: checker.Fail} {
		r := Run{Trouble: "the proxy is gone"}
		r.Verdict = verdict
		c := Cell{Runs: []Run{r}}
		if c.Verdict() != want || c.Count(want) != 1 || (c.Undecided() == "") != (want == checker.Fail) {
			t.Errorf("%v, want %v: %q", c.Verdict(), want, c.Undecided())
		}
	}
}

// A late case is the same but for its seed and for when its faults come: not
// before their moment, and no later than they may in a run.
func TestLate(t *testing.T) {
	plan, err := find(t, "crash-leader")[0].Plan(scenarios.Settings{Subject: "recount", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	e := Evidence{Plan: plan}
	c := fuzz.FromPlan(plan)
	moved, random := false, rand.New(rand.NewPCG(1, 0))
	for range 20 {
		late := e.late(c, random)
		for i, step := range late.Schedule {
			by := step.At - plan.Schedule[i].At
			if by < 0 || by > plan.Lateness || step.For != plan.Schedule[i].For {
				t.Fatalf("step %d is late by %v, and lasts %v in place of %v", i, by, step.For, plan.Schedule[i].For)
			}
			moved = moved || by > plan.Lateness/2
		}
	}
	if !moved {
		t.Error("no step is late")
	}
}
