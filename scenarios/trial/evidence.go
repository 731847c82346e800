package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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
	History *history.History
	Result  *checker.Result
	Case    *fuzz.Case // the smallest that was found to show the same; nil: the run could not be reduced
	Events  int        // of the history; still there when the history is dropped
	Of      int        // how many it had before it was reduced; 0: it was not
}

// moreTries is how many other cases are tried where that of a run does not break
// what the run broke.
const moreTries = 60

// Reduce replaces the history by that of the smallest case that breaks the same
// promise, if one is found within the limit; a limit of 0 is one of runs, as for
// fuzz.Reduce. The case asks for what the scenario
// asks for: no step is added to its schedule, and none lasts longer. What only a
// plan has (several servers, replicas) may be what it takes to break it: then the
// evidence stays as it is.
func (e *Evidence) Reduce(ctx context.Context, limit time.Duration, subjects map[string]virtual.Subject) error {
	if e.Plan.Topology != sim.OneServer || e.Plan.Replicas > 0 {
		return nil
	}
	c := fuzz.FromPlan(e.Plan)
	c.Failed.Promise = e.Promise
	reduced, ok := fuzz.Reduce(ctx, c, limit, subjects)
	random := rand.New(rand.NewPCG(c.Seed, 0))
	for range moreTries {
		if ok || ctx.Err() != nil {
			break
		}
		reduced, ok = fuzz.Reduce(ctx, e.late(c, random), limit, subjects)
	}
	if !ok {
		return nil
	}
	h, r, err := reduced.Try(ctx, &virtual.World{Subjects: subjects})
	switch {
	case err != nil:
		return fmt.Errorf("trial: the reduced case of %s in %s: %w", e.Plan.Subject, e.Plan.Scenario, err)
	case len(h.Events) >= len(e.History.Events):
		return nil
	}
	h.Header.Scenario = e.Plan.Scenario
	e.Of, e.Events, e.History, e.Result, e.Case = e.Events, len(h.Events), h, r, &reduced
	return nil
}

// late is the case with another seed, and with every fault as late as it may be
// in a run: in a case each comes to the moment, which may be the one in which it
// does nothing.
func (e *Evidence) late(c fuzz.Case, random *rand.Rand) fuzz.Case {
	c.Seed = random.Uint64N(1 << 32)
	c.Schedule = slices.Clone(c.Schedule)
	for i := range c.Schedule {
		c.Schedule[i].At += time.Duration(random.Int64N(int64(e.Plan.Lateness) + 1)).Truncate(time.Microsecond)
	}
	return c
}

// keep keeps the outcome of a run if it shows what broke with fewer events than
// what is kept for that promise.
func keep(kept map[checker.Promise]*Evidence, o scenarios.Outcome, broke checker.Promise) {
	if broke == "" {
		return
	}
	old := kept[broke]
	if events := len(o.History.Events); old == nil || events < old.Events {
		kept[broke] = &Evidence{Promise: broke, Plan: o.Plan, History: o.History, Result: o.Result, Events: events}
	}
}
