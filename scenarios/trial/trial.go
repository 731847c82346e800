package trial

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/sim/virtual"
)

// Place is a world in which the subjects are tried.
type Place struct {
	Name     string // of the world
	Runs     int    // of each subject in each scenario
	Parallel int    // how many of them at once
	Simple   bool   // no run disturbs another, and no machine disturbs one: none needs to be alone, or repeated

	// Open returns the world in which a subject runs, and what ends it.
	Open func(ctx context.Context, s Subject) (scenarios.World, func() error, error)
	// Lacks says why a scenario cannot be carried out here; "" if it can.
	Lacks func(scenarios.Scenario) string
	// Logs makes the folder for the logs of a run.
	Logs func(folder string) (string, error)
	// Flags are those of the command that repeats a run of the subject.
	Flags func(s Subject, seed uint64) string
}

// Trial is what to run.
type Trial struct {
	Subjects  []Subject
	Scenarios []scenarios.Scenario
	Places    []Place
	Settings  scenarios.Settings // the seed is that of the first run, the next run has the next one

	// Shard is the part of the trial that is run: of all subjects in all scenarios,
	// in their order, every so manyth. The zero Shard is all of it. The evidence of a
	// shard is reduced by a number of runs and not by the clock.
	Shard campaign.Shard

	// Shrink is how long the evidence of one cell of the virtual world may be
	// reduced, roughly. Zero: not at all.
	Shrink time.Duration
	// Simulated are the electors of the virtual world, for that.
	Simulated map[string]virtual.Subject

	// Done hears when a subject's cells in a world are done; may be nil.
	Done func(s Subject, world string, cells []*Cell)
	// Show is given every cell that has evidence, one at a time, and keeps of it
	// what it wants: the evidence is dropped afterwards. May be nil.
	Show func(c *Cell) error
}

// porcupineCap bounds the black-box search in one history. There are thousands
// of them, and two other checkers decide the same promise.
const porcupineCap = 2 * time.Second

// Folder is where the files of a run belong, below that of the trial.
func Folder(c *Cell, run int) string {
	return fmt.Sprintf("%s/%s/%s-%d", c.Subject, c.Scenario, c.World, run+1)
}

// Run runs the trial: place by place, subject by subject. It returns a cell for
// every subject, scenario and place of the shard, in this order, whatever came of it: a run
// that failed is undecided and says why. The error is ctx's, or that of a place
// that could not be opened, or of Show; the cells are those so far then, and
// those that were not run are undecided.
func (t *Trial) Run(ctx context.Context) ([]*Cell, error) {
	var all []*Cell
	var errs []error
	for _, p := range t.Places {
		for i, s := range t.Subjects {
			list := t.share(i)
			cells := t.cells(s, p, list)
			all = append(all, cells...)
			if ctx.Err() != nil || len(errs) > 0 || len(list) == 0 {
				continue
			}
			if err := t.try(ctx, s, p, list, cells); err != nil {
				errs = append(errs, err)
			}
			if t.Done != nil {
				t.Done(s, p.Name, cells)
			}
		}
	}
	return all, errors.Join(append(errs, ctx.Err())...)
}

// share are the scenarios in which the shard tries the i-th subject.
func (t *Trial) share(i int) []scenarios.Scenario {
	var list []scenarios.Scenario
	for j, scenario := range t.Scenarios {
		if t.Shard.Takes(i*len(t.Scenarios) + j) {
			list = append(list, scenario)
		}
	}
	return list
}

// Cells are all cells of the trial, before anything is run.
func (t *Trial) Cells() []*Cell {
	var all []*Cell
	for _, p := range t.Places {
		for i, s := range t.Subjects {
			all = append(all, t.cells(s, p, t.share(i))...)
		}
	}
	return all
}

// cells are those of a subject in a place and in some scenarios, before anything
// is run.
func (t *Trial) cells(s Subject, p Place, list []scenarios.Scenario) []*Cell {
	var cells []*Cell
	for _, scenario := range list {
		c := &Cell{Subject: s.Name, Scenario: scenario.Name, World: p.Name}
		applies, why := s.applies(p.Name, scenario)
		if applies {
			why = p.Lacks(scenario)
		} else if why == "" {
			why = "the subject does not know of it"
		}
		c.Why = why
		cells = append(cells, c)
	}
	return cells
}

// try runs one subject in one place and some scenarios, and fills its cells.
func (t *Trial) try(ctx context.Context, s Subject, p Place, share []scenarios.Scenario, cells []*Cell) (err error) {
	var list []scenarios.Scenario
	of := map[string]*Cell{}
	kept := map[string]map[checker.Promise]*Evidence{}
	for i, scenario := range share {
		if cells[i].Why == "" {
			own := s.Scenario(scenario)
			own.Alone = own.Alone && !p.Simple
			list = append(list, own)
			of[scenario.Name], kept[scenario.Name] = cells[i], map[checker.Promise]*Evidence{}
		}
	}
	if len(list) == 0 {
		return nil
	}
	world, end, err := p.Open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	for n := range p.Runs {
		set := t.Settings
		set.Subject, set.Foreign, set.FixedClocks, set.Seed = s.Name, s.Foreign, s.FixedClocks, t.Settings.Seed+uint64(n)
		set.Flags = p.Flags(s, set.Seed)
		pending := list
		for tries := attempts; tries > 0 && len(pending) > 0 && ctx.Err() == nil; tries-- {
			var again []scenarios.Scenario
			runner := scenarios.Runner{
				World: world, Parallel: p.Parallel, Check: checker.Options{PorcupineCap: porcupineCap},
				Logs: func(scenario string) (string, error) { return p.Logs(Folder(of[scenario], n)) },
				Done: func(o scenarios.Outcome) {
					if ctx.Err() != nil && o.Err != nil {
						return // it was stopped half-way
					}
					run := outcome(o)
					if tries > 1 && !p.Simple && run.verdict() == checker.Unknown && disturbed(o) {
						again = append(again, o.Scenario)
						return
					}
					cell := of[o.Scenario.Name]
					cell.Runs = append(cell.Runs, run)
					keep(kept[o.Scenario.Name], o, run.First)
				},
			}
			runner.Run(ctx, pending, set)
			pending = again
		}
	}
	return t.show(ctx, p, of, kept)
}

// attempts are how often a run that comes to no verdict is carried out, if the machine
// or the world may be why.
const attempts = 3

// disturbed reports whether a run was not whole, or was held up by the machine.
func disturbed(o scenarios.Outcome) bool {
	return o.Err != nil || o.History == nil || slices.ContainsFunc(o.History.Events, func(e history.Event) bool {
		return history.Uninjected(e.Fault)
	})
}

// outcome is what the trial keeps of an outcome.
func outcome(o scenarios.Outcome) Run {
	if o.Result == nil {
		run := Run{Trouble: "there is no history", Repro: o.Plan.Repro}
		if o.Err != nil {
			run.Trouble = o.Err.Error()
		}
		run.Seed = o.Plan.Seed
		return run
	}
	run := observe(o.History, o.Result)
	if o.Err != nil {
		run.Trouble = o.Err.Error()
	}
	return run
}

// show reduces the evidence of the broken cells and hands it over.
func (t *Trial) show(ctx context.Context, p Place, of map[string]*Cell, kept map[string]map[checker.Promise]*Evidence) error {
	var broken []*Cell
	for _, scenario := range t.Scenarios {
		if c := of[scenario.Name]; c != nil && c.Verdict() == checker.Fail {
			c.Shortest = kept[c.Scenario][c.First()]
			broken = append(broken, c)
		}
	}
	var err error
	if p.Simple && t.Shrink > 0 {
		if err = t.reduce(ctx, broken); ctx.Err() != nil {
			err = nil // what was cut off shows less, and is no failure
		}
	}
	for _, c := range broken {
		if c.Shortest == nil || t.Show == nil {
			continue
		}
		err = errors.Join(err, t.Show(c))
		c.Shortest.History, c.Shortest.Result = nil, nil
	}
	return err
}

// reduce reduces the evidence of cells, several at once.
func (t *Trial) reduce(ctx context.Context, cells []*Cell) error {
	errs := make([]error, len(cells))
	limit := t.Shrink
	if t.Shard.Given() {
		limit = 0
	}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var working sync.WaitGroup
	for i, c := range cells {
		if c.Shortest == nil {
			continue
		}
		slots <- struct{}{}
		working.Go(func() {
			defer func() { <-slots }()
			errs[i] = c.Shortest.Reduce(ctx, limit, t.Simulated)
		})
	}
	working.Wait()
	return errors.Join(errs...)
}
