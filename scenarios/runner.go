package scenarios

import (
	"context"
	"errors"
	"sync"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// World carries out plans: it is the live world, or any other one.
type World interface {
	// Run carries out the plan and returns its history; logs go to a folder.
	// A run that is stopped by ctx returns the history so far and ctx's error.
	Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error)
}

// Runner runs scenarios in a world and checks what was recorded.
type Runner struct {
	World    World
	Parallel int                                   // how many scenarios run at once; 0: one
	Logs     func(scenario string) (string, error) // the folder for a scenario's logs
	Done     func(Outcome)                         // called as each scenario is done, one call at a time; may be nil
	Check    checker.Options                       // of the checking
}

// Outcome is what became of one scenario.
type Outcome struct {
	Scenario Scenario
	Plan     sim.Plan
	History  *history.History // nil if it did not come to one
	Result   *checker.Result  // nil if there is no history
	Err      error            // why the run is not whole, if it is not
}

// Verdict is pass only for a whole run whose result is pass.
func (o Outcome) Verdict() checker.Verdict {
	switch {
	case o.Result == nil:
		return checker.Unknown
	case o.Err != nil && o.Result.Verdict == checker.Pass:
		return checker.Unknown
	default:
		return o.Result.Verdict
	}
}

// Run plans and runs the scenarios: see RunPlanned. The outcome of a scenario that has no
// plan under these settings is the error that says why.
func (r Runner) Run(ctx context.Context, list []Scenario, set Settings) []Outcome {
	return r.run(ctx, list, func(ctx context.Context, i int) Outcome {
		planned, err := list[i].With(set)
		if err != nil {
			return Outcome{Scenario: list[i], Err: err}
		}
		return r.one(ctx, planned)
	})
}

// RunPlanned runs the scenarios and returns their outcomes in the same order. After
// ctx is done no further one is begun; those that never began are left out.
func (r Runner) RunPlanned(ctx context.Context, list []Planned) []Outcome {
	var scenarios []Scenario
	for i := range list {
		scenarios = append(scenarios, list[i].Scenario)
	}
	return r.run(ctx, scenarios, func(ctx context.Context, i int) Outcome { return r.one(ctx, list[i]) })
}

// run calls one for each scenario: for those that run alone first, one by one.
func (r Runner) run(ctx context.Context, list []Scenario, one func(ctx context.Context, i int) Outcome) []Outcome {
	outcomes := make([]*Outcome, len(list))
	r.some(ctx, list, one, outcomes, 1, func(s Scenario) bool { return s.Alone })
	r.some(ctx, list, one, outcomes, max(r.Parallel, 1), func(s Scenario) bool { return !s.Alone })
	var done []Outcome
	for _, o := range outcomes {
		if o != nil {
			done = append(done, *o)
		}
	}
	return done
}

// some runs those of the list that are chosen, so many at once.
func (r Runner) some(ctx context.Context, list []Scenario, one func(context.Context, int) Outcome, outcomes []*Outcome, atOnce int, chosen func(Scenario) bool) {
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	var reporting sync.Mutex
	for i, s := range list {
		if !chosen(s) {
			continue
		}
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			outcome := one(ctx, i)
			outcomes[i] = &outcome
			if r.Done != nil {
				reporting.Lock()
				defer reporting.Unlock()
				r.Done(outcome)
			}
		})
	}
	running.Wait()
}

// one runs one scenario and checks it.
func (r Runner) one(ctx context.Context, p Planned) Outcome {
	o := Outcome{Scenario: p.Scenario, Plan: p.Plan}
	logs, err := r.Logs(p.Name)
	if err != nil {
		o.Err = err
		return o
	}
	o.History, o.Err = r.World.Run(ctx, o.Plan, logs)
	if o.History != nil {
		if o.Plan.Foreign {
			ExcuseTokenless(o.History)
		}
		o.Result = checker.Check(o.History, r.Check)
		o.Result.Verdict = o.Verdict()
	}
	return o
}

// Verdict is that of several outcomes together: fail if one failed, else
// unknown if one is undecided or there is none, else pass.
func Verdict(outcomes []Outcome) checker.Verdict {
	return checker.Fold(func(yield func(checker.Verdict) bool) {
		for _, o := range outcomes {
			if !yield(o.Verdict()) {
				return
			}
		}
	})
}

// Err joins the errors of the outcomes.
func Err(outcomes []Outcome) error {
	var errs []error
	for _, o := range outcomes {
		errs = append(errs, o.Err)
	}
	return errors.Join(errs...)
}
