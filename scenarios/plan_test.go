package scenarios_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// leases are the lengths for which every scenario must work.
var leases = []time.Duration{300 * time.Millisecond, time.Second, 15 * time.Second}

func planOf(t *testing.T, s scenarios.Scenario, set scenarios.Settings) sim.Plan {
	t.Helper()
	p, err := s.Plan(set)
	if err != nil {
		t.Fatalf("%s at %+v: %v", s.Name, set, err)
	}
	return p
}

// Every scenario has a name of its own and says what it does and what it would
// break; its faults hit whom they can.
func TestScenariosAreDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, s := range scenarios.All() {
		if s.Name == "" || names[s.Name] || strings.ContainsAny(s.Name, " _ABC") || s.Summary == "" || s.Breaks == "" {
			t.Errorf("%+v: name taken or odd, or it does not say what it does", s)
		}
		names[s.Name] = true
		_, waived := s.Waived[checker.AtMostOneLeader]
		if waived && s.Beyond == "" {
			t.Errorf("%s lets two lead and does not say what still holds", s.Name)
		}
	}
	if len(names) < 20 {
		t.Errorf("only %d scenarios", len(names))
	}
}

// At every length of a lease each scenario is a plan that can be carried out:
// timings that work, faults with an effect, on targets that they are for, in
// time for all candidates that there are.
func TestPlansAreValid(t *testing.T) {
	for _, s := range scenarios.All() {
		for _, lease := range leases {
			p := planOf(t, s, scenarios.Settings{Subject: "recount", Lease: lease, Seed: 7})
			where := fmt.Sprintf("%s at lease %v", s.Name, lease)
			if err := p.Timings.Validate(); err != nil {
				t.Errorf("%s: %v", where, err)
			}
			if p.Nodes < 3 || p.Quiet < 3*lease || p.Writes <= 0 || p.FailoverBound <= 0 || p.ReturnBound < lease || p.Seed != 7 || p.Subject != "recount" {
				t.Errorf("%s: %+v", where, p)
			}
			if p.Drift <= 0 || p.Drift >= 0.1 {
				t.Errorf("%s: drift %v", where, p.Drift)
			}
			for i, step := range p.Schedule {
				effect := step.Fault.Effect()
				if step.At <= 0 || effect.Instant == (step.For > 0) || (effect.Store && !effect.Divides) != (step.Target == faults.Store) {
					t.Errorf("%s: step %d: %v", where, i, step)
				}
			}
		}
	}
}

// A scenario keeps its shape whatever the length of a lease.
func TestPlansScaleWithTheLease(t *testing.T) {
	for _, s := range scenarios.All() {
		a := planOf(t, s, scenarios.Settings{Lease: time.Second, Seed: 3})
		b := planOf(t, s, scenarios.Settings{Lease: 10 * time.Second, Seed: 3})
		if len(a.Schedule) != len(b.Schedule) {
			t.Errorf("%s: %d and %d steps", s.Name, len(a.Schedule), len(b.Schedule))
			continue
		}
		near := func(a, b time.Duration) bool { return (10*a - b).Abs() < time.Microsecond }
		for i, step := range a.Schedule {
			if other := b.Schedule[i]; !near(step.At, other.At) || !near(step.For, other.For) {
				t.Errorf("%s: %v becomes %v", s.Name, step, other)
			}
		}
		if !near(a.Quiet, b.Quiet) || !near(a.FailoverBound, b.FailoverBound) || !near(a.ReturnBound, b.ReturnBound) {
			t.Errorf("%s: %+v becomes %+v", s.Name, a, b)
		}
	}
}

// track is what a fault occupies while it is on: what a world cannot do twice
// to one candidate, or to the store, at one time.
func track(f faults.Fault) string {
	switch f.(type) {
	case faults.Partition, faults.Latency, faults.Bandwidth:
		return "network"
	case faults.Pause, faults.PauseBeforeWrite, faults.Crash, faults.Resign:
		return "process"
	case faults.ClockRate, faults.ClockJump:
		return "clock"
	default:
		return "store"
	}
}

// whichever takes any two steps for such as may hit the same.
func whichever(faults.Step, faults.Step) bool { return true }

// same reports whether a step may hit what an earlier one hits that is still on. A
// fault for the leader or for a follower is for one that no other fault hits, but
// for those that hit all.
func same(a, b faults.Step) bool {
	return b.Target != faults.Leader && b.Target != faults.Follower || a.Target == faults.All
}

// overlap returns two steps of the tracks that are on at one time, if there
// are such that may.
func overlap(s faults.Schedule, may func(a, b faults.Step) bool, tracks ...string) string {
	s = slices.DeleteFunc(s.Sorted(), func(step faults.Step) bool { return !slices.Contains(tracks, track(step.Fault)) })
	for i, a := range s {
		for _, b := range s[i+1:] {
			if b.At < a.End() && may(a, b) {
				return fmt.Sprintf("%v, and %v", a, b)
			}
		}
	}
	return ""
}

// No scenario asks a world for what it cannot do: within one track a fault is
// over before the next one begins that may hit the same.
func TestFaultsOfOneTrackDoNotOverlap(t *testing.T) {
	for _, s := range scenarios.All() {
		for _, duration := range []time.Duration{0, time.Minute} {
			p := planOf(t, s, scenarios.Settings{Seed: 1, Duration: duration})
			for _, name := range []string{"network", "process", "clock", "store"} {
				if both := overlap(p.Schedule, same, name); both != "" {
					t.Errorf("%s for %v: %s", s.Name, duration, both)
				}
			}
		}
	}
}

// The random scenario's two sequences, networks on one side, processes and
// clocks on the other, are sequences at every seed; they overlap each other
// and, over all seeds, use every fault that they may.
func TestMixedSequences(t *testing.T) {
	mixed := find(t, "mixed")
	crossing := 0
	names, targets := map[string]bool{}, map[string]int{}
	for seed := range uint64(200) {
		p := planOf(t, mixed, scenarios.Settings{Seed: seed, Lease: leases[seed%3]})
		for _, tracks := range [][]string{{"network"}, {"process", "clock"}} {
			if both := overlap(p.Schedule, whichever, tracks...); both != "" {
				t.Errorf("seed %d: %s", seed, both)
			}
		}
		if both := overlap(p.Schedule, whichever, "network", "process", "clock"); both != "" {
			crossing++
		}
		for _, step := range p.Schedule {
			names[step.Fault.Name()] = true
			targets[step.Target.String()]++
			if rate, ok := step.Fault.(faults.ClockRate); ok && (rate.Rate < 1-p.Drift || rate.Rate > 1+p.Drift) {
				t.Errorf("seed %d: a clock at rate %v, beyond the drift %v", seed, rate.Rate, p.Drift)
			}
			if step.Fault.Effect().Store {
				t.Errorf("seed %d: %v hits the store", seed, step)
			}
		}
	}
	if crossing < 190 {
		t.Errorf("the sequences overlap each other at %d seeds of 200", crossing)
	}
	for _, want := range []string{
		"partition", "requests-lost", "replies-lost", "connection-refused", "connection-reset", "latency", "bandwidth",
		"pause", "crash", "resign", "clock-rate",
	} {
		if !names[want] {
			t.Errorf("no seed draws %s", want)
		}
	}
	if total := targets["the leader"] + targets["a follower"]; len(targets) != 2 || 10*targets["the leader"] < 4*total || 10*targets["the leader"] > 6*total {
		t.Errorf("they hit %v", targets)
	}
}

// Where the candidates' clocks cannot be set no fault on them is drawn, and only
// scenarios that are about them need that.
func TestFixedClocks(t *testing.T) {
	onClocks := func(p sim.Plan) bool {
		return slices.ContainsFunc(p.Schedule, func(step faults.Step) bool { return step.Fault.Effect().Skews && step.Target != faults.Store })
	}
	for seed := range uint64(50) {
		p := planOf(t, find(t, "mixed"), scenarios.Settings{Seed: seed, FixedClocks: true})
		if onClocks(p) || len(p.Schedule) < 8 {
			t.Errorf("seed %d: %v", seed, p.Schedule)
		}
	}
	for _, s := range scenarios.All() {
		if needs := onClocks(planOf(t, s, scenarios.Settings{})) && s.Name != "mixed"; s.NeedsClocks() != needs {
			t.Errorf("%s needs clocks that can be set: %v", s.Name, !needs)
		}
	}
}

// The same seed makes the same plan, always; another one makes another where
// anything is drawn.
func TestSeeds(t *testing.T) {
	for _, s := range scenarios.All() {
		a, b := planOf(t, s, scenarios.Settings{Seed: 5}), planOf(t, s, scenarios.Settings{Seed: 5})
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: seed 5 makes\n%+v, then\n%+v", s.Name, a, b)
		}
		c := planOf(t, s, scenarios.Settings{Seed: 6})
		if drawn := !reflect.DeepEqual(a.Schedule, c.Schedule); drawn != (s.Name == "mixed") {
			t.Errorf("%s: another seed makes another schedule: %v", s.Name, drawn)
		}
	}
}

// Each promise is asked for, or waived with a reason; where the leader must
// not change, nothing is promised of failovers.
func TestEveryPromiseIsAskedOrWaived(t *testing.T) {
	for _, s := range scenarios.All() {
		p := planOf(t, s, scenarios.Settings{})
		for _, promise := range checker.Promises {
			asked := slices.Contains(p.Promises, string(promise))
			why, waived := p.Waived[string(promise)]
			if asked == waived || waived && len(strings.Fields(why)) < 5 {
				t.Errorf("%s: %s is asked for: %v, waived: %q", s.Name, promise, asked, why)
			}
		}
		if len(p.Promises)+len(p.Waived) != len(checker.Promises) {
			t.Errorf("%s asks for %v and waives %v: there are %d promises", s.Name, p.Promises, p.Waived, len(checker.Promises))
		}
		if _, waived := p.Waived[string(checker.FailoverBound)]; s.Steadfast && !waived || p.Steadfast != s.Steadfast {
			t.Errorf("%s: steadfast %v, and of failovers %v is asked", s.Name, s.Steadfast, p.Promises)
		}
		for _, always := range []checker.Promise{checker.WellFormed, checker.LeaseLinearizable, checker.TokensIncrease, checker.FencedWrites, checker.LeaderReturns, checker.Stable} {
			if !slices.Contains(p.Promises, string(always)) && !slices.Contains(mayWaive[s.Name], always) {
				t.Errorf("%s waives %s: %s", s.Name, always, p.Waived[string(always)])
			}
		}
	}
}

// mayWaive is what a scenario may waive that all others ask for: there the
// store is no single store that grants leases.
var mayWaive = map[string][]checker.Promise{
	"key-overwritten": {checker.LeaseLinearizable},
	"store-split":     {checker.LeaseLinearizable, checker.TokensIncrease},
}

// A duration repeats a schedule, shifted, for as often as it fits whole, with
// time to recover between; one without faults is watched for longer; one that
// can be of any length is.
func TestDurationRepeatsTheSchedule(t *testing.T) {
	crash := find(t, "crash-leader")
	once := planOf(t, crash, scenarios.Settings{Lease: time.Second}).Schedule
	period := once.End() + 1500*time.Millisecond
	for _, test := range []struct {
		duration time.Duration
		times    int
	}{{0, 1}, {once.End(), 1}, {period + once.End() - 1, 1}, {period + once.End(), 2}, {2*period + once.End(), 3}, {10 * period, 10}} {
		got := planOf(t, crash, scenarios.Settings{Lease: time.Second, Duration: test.duration}).Schedule
		if len(got) != test.times*len(once) {
			t.Errorf("for %v: %d steps, want %d times %d", test.duration, len(got), test.times, len(once))
			continue
		}
		for i, step := range got {
			want := once[i%len(once)]
			want.At += time.Duration(i/len(once)) * period
			if step != want {
				t.Errorf("for %v: step %d is %v, want %v", test.duration, i, step, want)
			}
		}
	}

	if p := planOf(t, find(t, "steady"), scenarios.Settings{Duration: time.Minute}); p.Quiet != time.Minute || len(p.Schedule) != 0 {
		t.Errorf("steady is watched for %v", p.Quiet)
	}
	for _, duration := range []time.Duration{0, 20 * time.Second, 2 * time.Minute} {
		want := max(duration, 9*time.Second)
		if end := planOf(t, find(t, "mixed"), scenarios.Settings{Duration: duration}).Schedule.End(); (end - want).Abs() > 2*time.Second {
			t.Errorf("mixed for %v ends at %v", duration, end)
		}
	}
}

// What a user sets is what is planned; what cannot work is refused with the
// scenario's name.
func TestSettings(t *testing.T) {
	rolling := find(t, "rolling-restart")
	p := planOf(t, rolling, scenarios.Settings{
		Nodes: 3, Lease: 2 * time.Second, Renew: 700 * time.Millisecond, Retry: 90 * time.Millisecond, Flags: "--nodes 3",
	})
	if p.Nodes != 3 || len(p.Schedule) != 3 || p.Timings != (sim.Timings{Lease: 2 * time.Second, Renew: 700 * time.Millisecond, Retry: 90 * time.Millisecond}) ||
		p.Repro != "chaos run rolling-restart --nodes 3" {
		t.Errorf("planned %+v", p)
	}
	p = planOf(t, rolling, scenarios.Settings{})
	if p.Nodes != scenarios.DefaultNodes || p.Timings.Lease != scenarios.DefaultLease || p.Repro != "chaos run rolling-restart" {
		t.Errorf("by default: %+v", p)
	}
	if together := planOf(t, find(t, "start-together"), scenarios.Settings{}); together.Nodes != 20 {
		t.Errorf("%d start together", together.Nodes)
	}
	if _, err := rolling.Plan(scenarios.Settings{Renew: time.Hour}); err == nil || !strings.Contains(err.Error(), "scenario rolling-restart: renew 1h0m0s is not below lease 1s") {
		t.Errorf("renewed after an hour: %v", err)
	}
}

// Scenarios on the store need one of their own, and only they.
func TestNeedsPrivateStore(t *testing.T) {
	for _, s := range scenarios.All() {
		onStore := slices.ContainsFunc(planOf(t, s, scenarios.Settings{}).Schedule, func(step faults.Step) bool {
			return step.Target == faults.Store || step.Fault.Effect().Divides // whose targets are the candidates of one side
		})
		if s.NeedsPrivateStore() != onStore {
			t.Errorf("%s needs a store of its own: %v", s.Name, !onStore)
		}
	}
	if got := find(t, "partition-leader").Faults(); !slices.Equal(got, []string{"connection-refused", "connection-reset", "partition"}) {
		t.Errorf("partition-leader has the faults %v", got)
	}
	if got := find(t, "steady").Faults(); len(got) != 0 {
		t.Errorf("steady has the faults %v", got)
	}
}

// Every fault is in some scenario, or nobody would know whether it works.
func TestEveryFaultIsUsed(t *testing.T) {
	used := map[string]bool{}
	for _, s := range scenarios.Every() {
		for _, name := range s.Faults() {
			used[name] = true
		}
	}
	for _, f := range faults.Catalogue() {
		if !used[f.Name()] {
			t.Errorf("no scenario uses %s", f.Name())
		}
	}
}

func find(t *testing.T, name string) scenarios.Scenario {
	t.Helper()
	found, err := scenarios.Find(name)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", name, found, err)
	}
	return found[0]
}

// Scenarios are found by name, in the order asked for; one that is not there
// is told, with the one that was perhaps meant.
func TestFind(t *testing.T) {
	names := func(list []scenarios.Scenario) (names []string) {
		for _, s := range list {
			names = append(names, s.Name)
		}
		return names
	}
	all := names(scenarios.All())
	for _, name := range all {
		if got := find(t, name); got.Name != name {
			t.Errorf("%s is %s", name, got.Name)
		}
	}
	for _, test := range []struct{ ask, want []string }{
		{[]string{"mixed", "steady", "mixed"}, []string{"mixed", "steady", "mixed"}},
		{[]string{"all"}, all},
		{nil, names(scenarios.Standard())},
	} {
		if got, err := scenarios.Find(test.ask...); err != nil || !slices.Equal(names(got), test.want) {
			t.Errorf("find %v: %v, %v", test.ask, names(got), err)
		}
	}
	for _, s := range scenarios.All() {
		if slices.Contains(names(scenarios.Standard()), s.Name) == s.Long {
			t.Errorf("%s is long: %v, and of the standard suite: %v", s.Name, s.Long, !s.Long)
		}
	}
	for ask, want := range map[string]string{
		"crash":      `no scenario is called "crash" (did you mean crash-leader or crash-follower?): "chaos list" lists them`,
		"steady-now": `no scenario is called "steady-now" (did you mean steady?): "chaos list" lists them`,
		"zebra":      `no scenario is called "zebra": "chaos list" lists them`,
		"":           `no scenario is called "": "chaos list" lists them`,
	} {
		if _, err := scenarios.Find("steady", ask); err == nil || err.Error() != want {
			t.Errorf("find %q: %v, want %s", ask, err, want)
		}
	}
	if _, err := scenarios.Find("all", "steady"); err == nil {
		t.Error("all, and one more")
	}
}

// The deletion of its key is not held against a lock of which nothing else is
// known, where the scenario is about another fault. It stays where the scenario
// is about lost keys.
func TestDeletionIsNotHeldAgainstAForeignProgram(t *testing.T) {
	for name, want := range map[string]struct{ ours, foreign bool }{"late-release": {true, false}, "key-deleted": {true, true}} {
		list, err := scenarios.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for foreign, deletes := range map[bool]bool{false: want.ours, true: want.foreign} {
			plan, err := list[0].Plan(scenarios.Settings{Foreign: foreign})
			if err != nil {
				t.Fatal(err)
			}
			has := func(f faults.Fault) bool {
				return slices.ContainsFunc(plan.Schedule, func(s faults.Step) bool { return s.Fault.Name() == f.Name() })
			}
			if got := has(faults.KeyDeleted{}); got != deletes {
				t.Errorf("%s, foreign %v: the key is deleted: %v", name, foreign, got)
			}
			if name == "late-release" && (!has(faults.Resign{}) || !has(faults.Latency{})) {
				t.Errorf("foreign %v: no release is late", foreign)
			}
		}
	}
}
