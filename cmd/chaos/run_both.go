package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recount-io/recount/calibration"
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/live"
)

// compare runs each scenario in both worlds and reports how far apart they
// lie.
func (f *runFlags) compare(ctx context.Context, there *place, list []scenarios.Scenario, names []string, out *output, screen *screen) error {
	c := calibrator{
		live: there, virtual: inVirtual(Main{}.virtualSubjects()), runs: f.runs, virtualRuns: f.virtualRuns, settings: f.settings, flags: f.single, out: out, screen: screen,
		report: &reports.Calibration{
			Subject: f.settings.Subject, Seed: f.settings.Seed, LeaseMS: f.settings.Timings().Lease.Seconds() * 1000,
			Repro: strings.TrimSpace("chaos run " + strings.Join(names, " ") + " " + f.settings.Flags),
		},
	}
	screen.begin(there, f.settings, list, 1, out.dir)
	screen.say("Live runs of each: %d; virtual ones: %d", f.runs, f.virtualRuns)
	var err error
	ran := 0
	for _, s := range list {
		if err = c.scenario(ctx, s); err != nil {
			break
		}
		ran++
	}
	screen.missed(list, func(s scenarios.Scenario) bool { return slices.Contains(scenarios.Names(list[:ran]), s.Name) })
	if err = errors.Join(live.Harmed(ctx), ctx.Err(), err, out.finish(), there.close()); err != nil && len(c.compared) == 0 {
		return err
	}
	if writing := c.write(f.asJSON); writing != nil || err != nil {
		return errors.Join(err, writing)
	}
	if calibration.Failed(c.compared) { // in both worlds alike, it may be
		return judged(checker.Fail)
	}
	return judged(c.report.Verdict)
}

// calibrator runs scenarios in two worlds and collects what came of it.
type calibrator struct {
	live, virtual     *place
	runs, virtualRuns int
	settings          scenarios.Settings
	flags             func(world string, seed uint64) string // of the command that repeats one run
	out               *output
	screen            *screen
	compared          []calibration.Comparison
	report            *reports.Calibration
}

// scenario compares the worlds in one scenario. The live runs and as many
// virtual ones with the same seeds are reported one by one; of the others only
// the first that does not pass is.
func (c *calibrator) scenario(ctx context.Context, s scenarios.Scenario) error {
	live, err := c.repeat(ctx, c.live, s, c.runs)
	if err != nil {
		return err
	}
	virtual, err := c.repeat(ctx, c.virtual, s, c.virtualRuns)
	if err != nil {
		return err
	}
	compared := calibration.Compare(s.Name, c.settings.Timings().Lease, calibration.Sample{World: liveWorld, Runs: live}, calibration.Sample{World: virtualWorld, Runs: virtual})
	c.compared = append(c.compared, compared)
	c.report.Add(compared)
	c.screen.say("%s: %v", s.Name, compared.Verdict)
	return nil
}

// repeat runs a scenario so many times in one world, with one seed after the
// other.
func (c *calibrator) repeat(ctx context.Context, world *place, s scenarios.Scenario, times int) ([]calibration.Run, error) {
	var runs []calibration.Run
	shown := false // a run beyond those of the live world that did not pass
	for i := range times {
		set := c.settings
		set.Seed += uint64(i)
		set.Flags = c.flags(world.name, set.Seed)
		folder := filepath.Join(s.Name, fmt.Sprintf("%s-%d", world.name, i+1))
		o := scenarios.Runner{World: world, Logs: func(string) (string, error) { return world.logs(c.out)(folder) }}.
			Run(ctx, []scenarios.Scenario{s}, set)
		if len(o) == 0 || ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if o[0].Err != nil {
			return nil, o[0].Err
		}
		if i < c.runs || !shown && o[0].Verdict() != checker.Pass {
			shown = shown || i >= c.runs
			rep, err := c.out.add(folder, o[0].History, o[0].Result)
			if err != nil {
				return nil, err
			}
			if world.name == liveWorld {
				c.report.Redis = rep.Redis
			}
		}
		runs = append(runs, calibration.Observe(o[0].History, o[0].Result))
	}
	return runs, nil
}

// write writes the comparison's reports and its summary.
func (c *calibrator) write(asJSON bool) error {
	c.screen.close()
	object, err := reports.CalibrationJSON(c.report)
	if err != nil {
		return err
	}
	page, err := reports.CalibrationHTML(c.report)
	if err != nil {
		return err
	}
	err = writeFiles(c.out.dir, map[string][]byte{
		"calibration.json": object, "calibration.html": page, "calibration.md": reports.CalibrationMarkdown(c.report),
	})
	if err != nil {
		return err
	}
	if asJSON {
		_, err = c.screen.out.Write(object)
		return err
	}
	return reports.CalibrationSummary(c.screen.out, c.report, reports.Terminal{
		Width: c.screen.width, Color: c.screen.color, Where: filepath.Join(c.out.dir, "calibration.html"), Again: c.report.Repro,
	})
}
