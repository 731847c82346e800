package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Evidence is a history that shows how a subject breaks a promise.
type Evidence struct {
	Promise checker.Promise
	Plan    sim.Plan
	History *history.History // nil for a subject that panics: there is none
	Result  *checker.Result
	Case    *fuzz.Case // the smallest that was found to show the same; nil: the run could not be reduced
	Events  int        // of the history; still there when the history is dropped
	Of      int        // how many it had before it was reduced; 0: it was not
}

// otherSeeds is how many more seeds are tried with a case that does not break
// the promise with that of its run: in a case no fault is late, so everything
// happens at other moments.
const otherSeeds = 40

// Reduce replaces the history by that of the smallest case that breaks the same
// promise, if one is found within the limit. The case asks for what the scenario
// asks for: no step is added to its schedule, and none lasts longer. What it
// needs of a plan and a case does not have (several servers, replicas, late
// faults) may make it keep what the run broke: then the evidence stays as it is.
func (e *Evidence) Reduce(ctx context.Context, limit time.Duration, subjects map[string]virtual.Subject) error {
	if e.Plan.Topology != sim.OneServer || e.Plan.Replicas > 0 || e.Promise == fuzz.NoPanic {
		return nil
	}
	c := fuzz.FromPlan(e.Plan)
	c.Failed.Promise = e.Promise
	reduced, ok := fuzz.Reduce(ctx, c, limit, subjects)
	for range otherSeeds {
		if ok {
			break
		}
		c.Seed++
		reduced, ok = fuzz.Reduce(ctx, c, limit, subjects)
	}
	if !ok {
		return nil
	}
	h, r, panicked, err := reduced.Attempt(ctx, &virtual.World{Subjects: subjects})
	switch {
	case err != nil:
		return fmt.Errorf("trial: the reduced case of %s in %s: %w", e.Plan.Subject, e.Plan.Scenario, err)
	case panicked != nil, len(h.Events) >= len(e.History.Events):
		return nil
	}
	h.Header.Scenario = e.Plan.Scenario
	e.Of, e.Events, e.History, e.Result, e.Case = e.Events, len(h.Events), h, r, &reduced
	return nil
}

// keep keeps the outcome of a run if it shows what broke with fewer events than
// what is kept for that promise.
func keep(kept map[checker.Promise]*Evidence, o scenarios.Outcome, broke checker.Promise) {
	if broke == "" {
		return
	}
	old := kept[broke]
	if old == nil || old.History != nil && o.History != nil && len(o.History.Events) < len(old.History.Events) {
		kept[broke] = &Evidence{Promise: broke, Plan: o.Plan, History: o.History, Result: o.Result}
		if o.History != nil {
			kept[broke].Events = len(o.History.Events)
		}
	}
}
