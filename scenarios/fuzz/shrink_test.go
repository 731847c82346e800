package fuzz

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual"
)

// planted are electors with a bug.
func planted() map[string]virtual.Subject {
	drifting := func(drift float64) virtual.Subject {
		return virtual.Subject{Decide: func(cfg machine.Config) virtual.Decider {
			cfg.Drift = drift
			return machine.New(cfg)
		}}
	}
	return map[string]virtual.Subject{
		"believes-too-long": drifting(-0.1),
		"forgets-margin":    drifting(0),
		"heeds-nothing": {Decide: func(cfg machine.Config) virtual.Decider {
			return &deaf{Decider: machine.New(cfg)}
		}},
		"panics": {Decide: func(cfg machine.Config) virtual.Decider {
			return &panicking{Decider: machine.New(cfg)}
		}},
	}
}

// deaf is an elector to which a refusal is one more failure.
type deaf struct{ virtual.Decider }

func (d *deaf) Step(now time.Duration, in machine.Input) machine.Output {
	if in.Kind == machine.Answer && in.Result == machine.NotHeld {
		in.Result, in.Err = machine.Unknown, errors.New("not understood")
	}
	return d.Decider.Step(now, in)
}

// panicking is an elector that cannot bear to lose its lease.
type panicking struct{ virtual.Decider }

func (p *panicking) Step(now time.Duration, in machine.Input) machine.Output {
	if in.Kind == machine.Answer && in.Result == machine.NotHeld {
		panic("not held")
	}
	return p.Decider.Step(now, in)
}

// A mutant is found, and shrunk to the one fault that it takes, with
// everything else as plain as it can be; and the shrunk case still fails.
func TestShrink(t *testing.T) {
	o := production(1, 5000)
	o.Failures, o.Subjects, o.Pins.Subject = 1, planted(), "heeds-nothing"
	r := Run(t.Context(), o)
	if r.Err != nil || len(r.Failures) != 1 {
		t.Fatalf("%d failures in %d schedules, %v", len(r.Failures), r.Schedules, r.Err)
	}
	f := r.Failures[0]
	c := &f.Case
	if c.Failed.Promise != checker.StepsDownOnLoss || len(c.Schedule) != 1 || c.Nodes > 3 {
		t.Errorf("%v\nfrom %#v\nto   %#v", c.Failed, f.Drawn, *c)
	}
	_, result, err := c.Try(t.Context(), &virtual.World{Subjects: planted()})
	if err != nil {
		t.Fatal(err)
	}
	if again, broken := Verdict(result); !broken || again != c.Failed {
		t.Errorf("%v; when it was shrunk %v", again, c.Failed)
	}
	if _, err := c.Marshal(); err != nil {
		t.Error(err)
	}
	t.Logf("%d schedules, %.2f s, shrunk at %.2f s: %#v", f.Schedules, f.Seconds, r.Seconds, *c)
}

// rapid finds with a seed the very case that Example draws from it, whatever
// the weights are.
func TestShrinkDrawsTheExample(t *testing.T) {
	for _, w := range []*Weights{nil, newCoverage(Pins{}).steer()} {
		cases := Cases(Pins{Subject: "recount"}, w)
		for seed := range 100 {
			want := cases.Example(seed + 1)
			calls := 0
			enough := func() bool { return calls > 2 }
			shrinkDraws(cases, uint64(seed+1), func(c *Case) bool {
				calls++
				if calls == 1 && !reflect.DeepEqual(*c, want) {
					t.Errorf("seed %d: rapid draws\n%#v, Example\n%#v", seed+1, *c, want)
				}
				return true
			}, enough)
			if calls < 2 {
				t.Errorf("seed %d: the property was asked %d times", seed+1, calls)
			}
		}
	}
}

// What is asked of a schedule follows from it: as much as its faults allow, and
// no more.
func TestJudge(t *testing.T) {
	sec := time.Second
	step := func(at, length time.Duration, f faults.Fault, target faults.Target) faults.Step {
		return faults.Step{At: at, For: length, Fault: f, Target: target}
	}
	cut := faults.Partition{How: faults.CutBoth}
	for _, test := range []struct {
		name      string
		schedule  faults.Schedule
		steadfast bool
		bounded   bool // FailoverBound is asked for
		waived    []checker.Promise
	}{
		{"nothing", nil, true, false, nil},
		{"a follower crashes", faults.Schedule{step(0, sec, faults.Crash{}, faults.Follower)}, true, false, nil},
		{"the leader crashes", faults.Schedule{step(0, sec, faults.Crash{}, faults.Leader)}, false, true, nil},
		{"it crashes twice, far apart", faults.Schedule{step(0, sec, faults.Crash{}, faults.Leader), step(60*sec, sec, faults.Crash{}, faults.Leader)}, false, true, nil},
		{"it crashes twice, soon", faults.Schedule{step(0, sec, faults.Crash{}, faults.Leader), step(20*sec, sec, faults.Crash{}, faults.Leader)}, false, false, nil},
		{"a short cut", faults.Schedule{step(0, 2*sec, cut, faults.Leader)}, true, false, nil},
		{"a long cut", faults.Schedule{step(0, 9*sec, cut, faults.Leader)}, false, true, nil},
		{"two short cuts, too close", faults.Schedule{step(0, 2*sec, cut, faults.Leader), step(4*sec, 2*sec, cut, faults.Leader)}, false, false, nil},
		{"replies lost", faults.Schedule{step(0, 9*sec, faults.Partition{How: faults.CutReplies}, faults.All)}, false, false, nil},
		{"a small jump", faults.Schedule{step(0, 0, faults.StoreClockJump{By: sec}, faults.Store)}, true, false, nil},
		{"a leap", faults.Schedule{step(0, 0, faults.StoreClockJump{By: 20 * sec}, faults.Store)}, false, false, []checker.Promise{checker.AtMostOneLeader}},
		{"a small jump during a cut", faults.Schedule{step(0, 2*sec, cut, faults.Leader), step(sec, 0, faults.StoreClockJump{By: sec}, faults.Store)}, false, false, []checker.Promise{checker.AtMostOneLeader}},
		{"the key deleted", faults.Schedule{step(0, 0, faults.KeyDeleted{}, faults.Store)}, false, false, nil},
		{"the store's data lost", faults.Schedule{step(0, sec, faults.StoreCrash{}, faults.Store)}, false, false, nil},
		{"the store split", faults.Schedule{step(0, sec, faults.StoreSplit{}, faults.Minority)}, false, false, []checker.Promise{checker.AtMostOneLeader, checker.TokensIncrease, checker.LeaseLinearizable}},
		{"a slow clock", faults.Schedule{step(0, sec, faults.ClockRate{Rate: 0.991}, faults.All)}, true, false, nil},
		{"too slow a clock", faults.Schedule{step(0, sec, faults.ClockRate{Rate: 0.98}, faults.Leader)}, false, false, []checker.Promise{checker.AtMostOneLeader}},
		{"too fast a clock", faults.Schedule{step(0, sec, faults.ClockRate{Rate: 1.5}, faults.Leader)}, false, false, nil},
	} {
		c, err := Parse([]byte(example))
		if err != nil {
			t.Fatal(err)
		}
		c.Schedule = test.schedule
		c.Judge()
		if !test.bounded {
			test.waived = append(test.waived, checker.FailoverBound)
		}
		for _, p := range checker.Promises {
			want := false
			for _, w := range test.waived {
				want = want || w == p
			}
			if _, waived := c.Waived[p]; waived != want {
				t.Errorf("%s: %s is waived: %v", test.name, p, waived)
			}
		}
		if c.Steadfast != test.steadfast || c.FailoverBound > 0 != test.bounded || c.Quiet <= c.ReturnBound {
			t.Errorf("%s: steadfast %v, failovers within %v, return within %v, quiet %v", test.name, c.Steadfast, c.FailoverBound, c.ReturnBound, c.Quiet)
		}
	}
}

// A way that is slow leaves less room for a fault: found by a case in which the
// leader lost its lease though every fault alone was one that it could bear.
func TestSlowWayLeavesLessRoom(t *testing.T) {
	c, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	cut := faults.Step{At: 2 * time.Second, Fault: faults.Partition{How: faults.CutBoth}, Target: faults.Leader}
	c.Schedule = nil
	cut.For = c.spare()
	c.Schedule = faults.Schedule{cut}
	if c.Judge(); !c.Steadfast {
		t.Error("the leader can bear a cut of", cut.For)
	}
	c.Schedule = faults.Schedule{cut, {For: 30 * time.Second, Fault: faults.Bandwidth{Kilobytes: 2}, Target: faults.Leader}}
	if c.Judge(); c.Steadfast {
		t.Error("the leader can bear it on a slow way")
	}
	c.Schedule[1].Target = faults.Follower
	if c.Judge(); !c.Steadfast {
		t.Error("a follower's way matters")
	}
}

// A fault that is meant for the leader waits while another one hits it, and
// then comes too close to the next one: found by a case in which a harmless
// fault moved a short cut so.
func TestWaitingFaultsMeet(t *testing.T) {
	c, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	short := 4 * time.Second
	c.Schedule = faults.Schedule{
		{At: 1 * time.Second, For: 21 * time.Second, Fault: faults.ClockJump{Offset: time.Hour}, Target: faults.Leader},
		{At: 2 * time.Second, For: short, Fault: faults.Partition{How: faults.CutReplies}, Target: faults.Leader},
		{At: 28 * time.Second, For: short, Fault: faults.Partition{How: faults.CutRequests}, Target: faults.Leader},
	}
	if c.Judge(); c.Steadfast {
		t.Error("two cuts that follow each other are taken for two that are apart")
	}
	c.Schedule[0].Target = faults.All // nobody waits for that
	if c.Judge(); !c.Steadfast {
		t.Error("two cuts that are apart can be borne")
	}
}
