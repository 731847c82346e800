package scenarios_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// fakeWorld takes a second for each letter of a scenario, and records how many ran at
// once.
type fakeWorld struct {
	running, most atomic.Int64
	err           map[string]error
	nothing       bool // no history comes of a run
}

func (w *fakeWorld) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	if n := w.running.Add(1); n > w.most.Load() {
		w.most.Store(n)
	}
	defer w.running.Add(-1)
	select {
	case <-time.After(time.Duration(len(plan.Scenario)) * time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if w.nothing {
		return nil, w.err[plan.Scenario]
	}
	return &history.History{Header: plan.Header("fake", logs, 0)}, w.err[plan.Scenario]
}

func named(names ...string) (list []scenarios.Scenario) {
	for _, name := range names {
		list = append(list, scenarios.Scenario{Name: name})
	}
	return list
}

// Outcomes come in the order of the scenarios, whichever is done first; no
// more run at once than may; each is reported once, one at a time.
func TestRunnerOrder(t *testing.T) {
	for _, test := range []struct{ parallel, most int }{{0, 1}, {1, 1}, {2, 2}, {9, 4}} {
		synctest.Test(t, func(t *testing.T) {
			w := &fakeWorld{}
			var reporting atomic.Bool
			var reported []string
			done := func(o scenarios.Outcome) {
				if reporting.Swap(true) {
					t.Error("two reports at one time")
				}
				for range 100 {
					runtime.Gosched() // what would come in between may
				}
				reported = append(reported, o.Scenario.Name)
				reporting.Store(false)
			}
			outcomes := scenarios.Runner{
				World: w, Parallel: test.parallel, Done: done,
				Logs: func(name string) (string, error) { return "logs of " + name, nil },
			}.Run(t.Context(), named("dddd", "ccc", "bb", "a"), scenarios.Settings{Subject: "s", Seed: 8})
			var names []string
			for _, o := range outcomes {
				names = append(names, o.Scenario.Name)
				if o.Err != nil || o.History.Header.Redis != "logs of "+o.Scenario.Name || o.Plan.Seed != 8 || o.Result == nil {
					t.Errorf("outcome %+v", o)
				}
			}
			if !slices.Equal(names, []string{"dddd", "ccc", "bb", "a"}) || len(reported) != 4 || int(w.most.Load()) != test.most {
				t.Errorf("%d at once: outcomes %v, reported %v, %d ran at once", test.parallel, names, reported, w.most.Load())
			}
		})
	}
}

// After the end of the context nothing is begun any more; what never began is
// left out, what was stopped is not.
func TestRunnerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		outcomes := scenarios.Runner{
			World: &fakeWorld{}, Logs: func(string) (string, error) { return "", nil },
		}.Run(ctx, named("a", "b", "c", "d"), scenarios.Settings{})
		if len(outcomes) != 3 || outcomes[1].Err != nil || !errors.Is(outcomes[2].Err, context.DeadlineExceeded) {
			t.Errorf("outcomes %+v", outcomes)
		}
	})
}

// What goes wrong before, in and after a run is in its outcome, and the others
// go on.
func TestRunnerErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, noLogs := errors.New("no more processes"), errors.New("disk full")
		w := &fakeWorld{err: map[string]error{"b": broken}}
		logs := func(name string) (string, error) {
			if name == "c" {
				return "", noLogs
			}
			return "", nil
		}
		outcomes := scenarios.Runner{World: w, Logs: logs}.Run(t.Context(), named("a", "b", "c"), scenarios.Settings{})
		if outcomes[0].Err != nil || !errors.Is(outcomes[1].Err, broken) || outcomes[1].Result == nil || !errors.Is(outcomes[2].Err, noLogs) || outcomes[2].History != nil {
			t.Errorf("outcomes %+v", outcomes)
		}
		if err := scenarios.Err(outcomes); !errors.Is(err, broken) || !errors.Is(err, noLogs) {
			t.Errorf("all their errors: %v", err)
		}
		if scenarios.Err(outcomes[:1]) != nil {
			t.Error("no error is one")
		}
		w.nothing = true
		if o := (scenarios.Runner{World: w, Logs: logs}).Run(t.Context(), named("b"), scenarios.Settings{})[0]; o.Result != nil || !errors.Is(o.Err, broken) {
			t.Errorf("without a history: %+v", o)
		}
		if o := (scenarios.Runner{World: w, Logs: logs}).Run(t.Context(), named("a"), scenarios.Settings{Lease: 1})[0]; o.Err == nil || o.History != nil {
			t.Errorf("a lease of a nanosecond: %+v", o)
		}
	})
}

// Only whole runs pass, and only if all do: a failure outweighs an undecided
// one, and nothing at all is undecided.
func TestVerdicts(t *testing.T) {
	outcome := func(v checker.Verdict) scenarios.Outcome {
		return scenarios.Outcome{Result: &checker.Result{Verdict: v}}
	}
	stopped := func(o scenarios.Outcome) scenarios.Outcome {
		o.Err = context.Canceled
		return o
	}
	for _, test := range []struct {
		outcomes []scenarios.Outcome
		want     checker.Verdict
	}{
		{nil, checker.Unknown},
		{[]scenarios.Outcome{{}}, checker.Unknown},
		{[]scenarios.Outcome{outcome(checker.Pass)}, checker.Pass},
		{[]scenarios.Outcome{outcome(checker.Fail)}, checker.Fail},
		{[]scenarios.Outcome{outcome(checker.Unknown)}, checker.Unknown},
		{[]scenarios.Outcome{stopped(outcome(checker.Pass))}, checker.Unknown},
		{[]scenarios.Outcome{stopped(outcome(checker.Fail))}, checker.Fail},
		{[]scenarios.Outcome{outcome(checker.Pass), outcome(checker.Pass)}, checker.Pass},
		{[]scenarios.Outcome{outcome(checker.Pass), outcome(checker.Unknown), outcome(checker.Pass)}, checker.Unknown},
		{[]scenarios.Outcome{outcome(checker.Unknown), outcome(checker.Fail)}, checker.Fail},
		{[]scenarios.Outcome{outcome(checker.Fail), {}}, checker.Fail},
		{[]scenarios.Outcome{outcome(checker.Pass), stopped(outcome(checker.Pass))}, checker.Unknown},
	} {
		if got := scenarios.Verdict(test.outcomes); got != test.want {
			t.Errorf("%+v together: %v, want %v", test.outcomes, got, test.want)
		}
	}
}
