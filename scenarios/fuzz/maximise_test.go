package fuzz

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Whatever the configuration, the production elector keeps within the bounds,
// and the worst case comes close to them: they are not far more than is needed.
func TestWorstCaseIsWithinTheBound(t *testing.T) {
	if race.Enabled {
		t.Skip("five thousand schedules, which are run without the race detector")
	}
	for _, test := range []struct {
		name  string
		close float64 // the least share of the bound that few schedules reach
		o     MaximiseOptions
	}{
		{"the default", 0.5, MaximiseOptions{}},
		{"a short lease", 0.4, MaximiseOptions{Pins: Pins{Nodes: 3, Timings: sim.Timings{Lease: time.Second}}}},
		{"two candidates, a poor network", 0.4, MaximiseOptions{
			Pins:    Pins{Nodes: 2, Timings: sim.Timings{Lease: 5 * time.Second, Renew: 2 * time.Second}},
			Network: sim.Network{Latency: 20 * time.Millisecond, Jitter: 60 * time.Millisecond},
		}},
		{"a large drift", 0.3, MaximiseOptions{
			Pins:    Pins{Nodes: 4, Timings: sim.Timings{Lease: 2 * time.Second, Renew: 500 * time.Millisecond}, Drift: 0.1},
			Network: sim.Network{Latency: time.Millisecond, Jitter: 3 * time.Millisecond, SpikeRate: 50, Spike: 10 * time.Millisecond},
		}},
		// The bound has a pause of a whole retry, which takes a coincidence.
		{"hardly a network", 0.05, MaximiseOptions{
			Pins: Pins{Timings: sim.Timings{Lease: time.Second}}, Network: sim.Network{Latency: time.Microsecond},
		}},
	} {
		for _, goal := range Goals {
			test.o.Goal, test.o.Seed, test.o.Schedules = goal, 1, 480
			w := Maximise(t.Context(), test.o)
			if w.Err != nil || w.Broken != "" || !w.Found || w.Schedules != test.o.Schedules {
				t.Errorf("%s: %s: %v, found %t\n%s", test.name, goal, w.Err, w.Found, w.Text())
				continue
			}
			if w.Share() < test.close || w.Share() > 1 {
				t.Errorf("%s: %s: the worst case is %.0f %% of the bound\n%s", test.name, goal, 100*w.Share(), w.Text())
			}
			t.Logf("%s: %s: %.1f %%: %v of %v", test.name, goal, 100*w.Share(), w.Length, w.limit())
		}
	}
}

// The case that is kept shows, when it is read and run again, exactly what was
// found.
func TestWorstCaseIsRepeated(t *testing.T) {
	for _, goal := range Goals {
		w := Maximise(t.Context(), MaximiseOptions{Goal: goal, Seed: 2, Schedules: 300})
		text, err := w.Case.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		m, err := again.measure(t.Context(), &virtual.World{})
		if err != nil {
			t.Fatal(err)
		}
		if x, _ := m.extremes(goal); x.length != w.Length || x.from != w.From || x.at != w.At {
			t.Errorf("%s: found %v from %s at %v, again %v from %s at %v", goal, w.Length, w.From, w.At, x.length, x.from, x.at)
		}
	}
}

// A leader that stands still cannot act from then on, and one that is cut off
// can until its deadline. A failover that nobody could make is none.
func TestMeasure(t *testing.T) {
	c := (&MaximiseOptions{Pins: Pins{Nodes: 2}}).base()
	c.Seed, c.Quiet = 1, 60*time.Second
	at := func(schedule ...faults.Step) extreme {
		one := c
		one.Schedule = schedule
		m, err := one.measure(t.Context(), &virtual.World{})
		if err != nil || m.missed {
			t.Fatal(err, m)
		}
		return m.failover()
	}
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if got < want-50*time.Millisecond || got > want+200*time.Millisecond {
			t.Errorf("%s: %v, want about %v", what, got, want)
		}
	}
	second := time.Second
	paused := at(faults.Step{At: second, For: 40 * second, Fault: faults.Pause{}, Target: faults.Leader})
	near("the moment of a pause", paused.at, second)
	near("the failover after it", paused.length, 14*second)
	cut := at(faults.Step{At: second, For: 40 * second, Fault: faults.Partition{How: faults.CutBoth}, Target: faults.Leader})
	near("the deadline of a leader that is cut off", cut.at, 14849*time.Millisecond)
	near("the failover after it", cut.length, 150*time.Millisecond)
	if short := at(faults.Step{At: second, For: second, Fault: faults.Pause{}, Target: faults.Leader}); short.found {
		t.Errorf("a pause that ends in time: %+v", short)
	}
	everybody := at(faults.Step{At: second, For: 40 * second, Fault: faults.Crash{}, Target: faults.Leader},
		faults.Step{At: 10 * second, For: 10 * second, Fault: faults.Pause{}, Target: faults.All})
	if everybody.found {
		t.Errorf("a failover that nobody could make: %+v", everybody)
	}
}

// The same seed finds the same case, with one worker or with several, and
// another seed another one.
func TestMaximiseIsDeterministic(t *testing.T) {
	search := func(seed uint64, workers int) Worst {
		w := Maximise(t.Context(), MaximiseOptions{Goal: LongestFailover, Seed: seed, Schedules: schedules(650, 200), Workers: workers})
		w.Seconds = 0
		return w
	}
	one, several, other := search(3, 1), search(3, 4), search(4, 4)
	if !reflect.DeepEqual(one, several) {
		t.Errorf("with one worker\n%swith four\n%s", one.Text(), several.Text())
	}
	if reflect.DeepEqual(one.Case, other.Case) {
		t.Errorf("two seeds find the same case:\n%s", one.Text())
	}
}

// anchored counts the lease from the answer, as careless electors do: it is the
// machine with a clock that is behind by what requests took.
type anchored struct {
	machine *machine.Machine
	behind  time.Duration
	sent    map[uint64]time.Duration
}

func (a *anchored) Step(now time.Duration, in machine.Input) machine.Output {
	if in.Kind == machine.Answer && in.Result == machine.Done {
		a.behind += now - a.sent[in.Request]
	}
	out := a.machine.Step(now-a.behind, in)
	for i := range out.Requests {
		a.sent[out.Requests[i].Number] = now
	}
	for i := range out.Transitions {
		out.Transitions[i].Until += a.behind
	}
	if out.Wake != machine.Never {
		out.Wake += a.behind
	}
	return out
}

// patient waits one retry longer than it was told to.
type patient struct {
	*machine.Machine
	retry time.Duration
}

func (p patient) Step(now time.Duration, in machine.Input) machine.Output {
	if in.Result == machine.Held {
		in.Remaining += p.retry
	}
	return p.Machine.Step(now, in)
}

// Electors that are a little too slow, or a little too sure of themselves, go
// beyond the bounds, and the case that shows it breaks its promise again.
func TestPlantedElectorsExceedTheBound(t *testing.T) {
	if race.Enabled {
		t.Skip("some thousand schedules, which are run without the race detector")
	}
	subjects := map[string]virtual.Subject{
		"anchored": {Decide: func(cfg machine.Config) virtual.Decider {
			return &anchored{machine: machine.New(cfg), sent: map[uint64]time.Duration{}}
		}},
		"sure": {Decide: func(cfg machine.Config) virtual.Decider {
			cfg.Drift -= 0.002
			return machine.New(cfg)
		}},
		"patient": {Decide: func(cfg machine.Config) virtual.Decider {
			return patient{machine.New(cfg), cfg.Retry}
		}},
	}
	for _, test := range []struct {
		subject string
		goal    Goal
		says    string
		promise checker.Promise
		again   bool // the checkers say so too: no promise is broken by a margin that is smaller than it should be
	}{
		{"anchored", DualBelief, "believed", checker.AtMostOneLeader, false},
		{"sure", DualBelief, "both believed", checker.AtMostOneLeader, true},
		{"patient", LongestFailover, "need not wait for", checker.FailoverBound, true},
	} {
		w := Maximise(t.Context(), MaximiseOptions{
			Goal: test.goal, Seed: 1, Schedules: 2000, Pins: Pins{Subject: test.subject, Nodes: 3}, Subjects: subjects,
			Network: sim.Network{Latency: 2 * time.Millisecond, Jitter: 8 * time.Millisecond},
		})
		if w.Err != nil || w.Broken == "" || !strings.Contains(w.Broken, test.says) || w.Case.Failed.Promise != test.promise {
			t.Errorf("%s: %v\n%s", test.subject, w.Err, w.Text())
			continue
		}
		_, r, err := w.Case.Try(t.Context(), &virtual.World{Subjects: subjects})
		if err != nil {
			t.Fatal(err)
		}
		if failed, broken := Verdict(r); test.again && (!broken || failed.Promise != test.promise) {
			t.Errorf("%s: the case that is kept breaks %+v, %t:\n%s", test.subject, failed, broken, w.Text())
		}
		t.Logf("%s: %d schedules, %.1f s: %s", test.subject, w.Schedules, w.Seconds, w.Broken)
	}
}

// What cannot be searched for, or has no bound, is said in one line.
func TestMaximiseRefuses(t *testing.T) {
	if _, err := ParseGoal("fun"); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "dual-belief") {
		t.Errorf("a goal that is none: %v", err)
	}
	for want, o := range map[string]MaximiseOptions{
		"at least 2":       {Pins: Pins{Nodes: 1}},
		"retry":            {Pins: Pins{Timings: sim.Timings{Lease: time.Second, Renew: 900 * time.Millisecond}}},
		"a faster network": {Pins: Pins{Timings: sim.Timings{Lease: time.Second}}, Network: sim.Network{Latency: 50 * time.Millisecond}},
	} {
		o.Goal, o.Schedules = LongestFailover, 10
		w := Maximise(t.Context(), o)
		if w.Err == nil || !strings.Contains(w.Err.Error(), want) || strings.Contains(w.Err.Error(), "\n") || w.Schedules != 0 {
			t.Errorf("%s: %v after %d schedules", want, w.Err, w.Schedules)
		}
		if want == "a faster network" && !errors.Is(w.Err, ErrNoBound) {
			t.Errorf("%v is not ErrNoBound", w.Err)
		}
	}
}
