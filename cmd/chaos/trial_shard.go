package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/scenarios/trial"
)

// trialSettings are what decides what a trial runs, beside its seed, as they
// stand in the files of a campaign.
type trialSettings struct {
	Subjects    []string `json:"subjects,omitempty"`  // none: all
	Scenarios   []string `json:"scenarios,omitempty"` // none: all
	VirtualRuns int      `json:"virtual_runs"`
	Lease       string   `json:"lease"`
}

// trialResult is what a shard of a trial came to.
type trialResult struct {
	Cells []trial.Kept `json:"cells"`
}

// checkShard refuses what cannot be divided.
func (f *trialFlags) checkShard() error {
	senseless := map[string]string{
		"update": "the table is written by \"chaos merge --update\"",
		"shrink": "what shows a broken promise is made smaller by so many runs, and not for a time",
	}
	if f.world != virtualWorld {
		return usage.Of(errors.New("--shard needs --world virtual: what is run live is not the same twice"))
	}
	return checkShard(f.given, senseless)
}

// sayShard tells where the shard's file is.
func sayShard(s *screen, asJSON bool, path string, shard campaign.Shard, seconds float64) error {
	if asJSON {
		return json.NewEncoder(s.out).Encode(shardObject{path, shard.String(), seconds})
	}
	s.say("Shard %v is in %s: \"chaos merge\" says what the campaign came to", shard, path)
	return nil
}

// concludeShard writes the file of a shard.
func (r *trialRun) concludeShard(names []string, cells []*trial.Cell, seconds float64) error {
	f := r.flags
	result := trialResult{Cells: []trial.Kept{}}
	for _, c := range cells {
		kept, err := c.Keep()
		if err != nil {
			return err
		}
		result.Cells = append(result.Cells, kept)
	}
	settings := trialSettings{Subjects: names, Scenarios: f.scenarios, VirtualRuns: f.virtualRuns, Lease: f.settings.Timings().Lease.String()}
	plan := campaign.Plan{Kind: campaign.Trial, Seed: f.settings.Seed, Command: f.repro(names)}
	path, err := saveShard(r.out, plan, f.shard, settings, result, nil, seconds)
	if err != nil {
		return err
	}
	r.screen.close()
	return sayShard(r.screen, f.asJSON, path, f.shard, seconds)
}

// trial shows the table that the shards of a trial fill.
func (r *mergeRun) trial(ctx context.Context) error {
	var settings trialSettings
	if err := r.read(r.file.Settings, &settings); err != nil {
		return err
	}
	f := &trialFlags{
		runFlags:  runFlags{world: virtualWorld, runs: 1, parallel: 1, asJSON: r.flags.asJSON},
		scenarios: settings.Scenarios, virtualRuns: settings.VirtualRuns, update: r.flags.update, given: func(flag string) bool { return flag == "seed" },
	}
	var err error
	if f.settings.Lease, err = time.ParseDuration(settings.Lease); err != nil {
		return r.wrong(err)
	}
	f.settings.Seed = r.file.Seed
	subjects, list, err := f.resolve(r.Main, settings.Subjects)
	if err != nil {
		return err
	}
	run := &trialRun{Main: r.Main, flags: f, out: r.out, screen: r.screen.screen}
	if err := run.open(ctx); err != nil {
		return err
	}
	t := trial.Trial{Subjects: subjects, Scenarios: unplanned(list), Places: run.places, Settings: f.settings}
	cells, err := r.fill(ctx, run, t.Cells())
	if err != nil {
		return err
	}
	table := run.table(&t, cells, r.file.Command)
	table.Finish()
	r.screen.say("%s", strings.TrimSpace(r.sentences()))
	return errors.Join(run.report(table), judged(r.undecided(table.Verdict, checker.Unknown)))
}

// fill puts what the shards came to into the cells of the trial. Those of a shard
// that is missing stay as they are: nobody has run them.
func (r *mergeRun) fill(ctx context.Context, run *trialRun, cells []*trial.Cell) ([]*trial.Cell, error) {
	at := map[[2]string]*trial.Cell{}
	for _, c := range cells {
		at[[2]string{c.Subject, c.Scenario}] = c
	}
	for i := range r.file.Shards {
		var result trialResult
		if err := r.read(r.file.Shards[i].Result, &result); err != nil {
			return nil, err
		}
		if !r.file.First(i) {
			continue
		}
		for j := range result.Cells {
			k := &result.Cells[j]
			c := at[[2]string{k.Subject, k.Scenario}]
			if c == nil {
				return nil, r.wrong(fmt.Errorf("the trial has no cell of %s in %s", k.Subject, k.Scenario))
			}
			if err := c.Fill(ctx, k, r.virtualSubjects()); err != nil {
				return nil, r.wrong(err)
			}
			if c.Shortest != nil {
				if err := run.show(c); err != nil {
					return nil, err
				}
			}
		}
	}
	return cells, nil
}
