package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/calibration"
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/live"
)

// calibrateFlags are the flags of chaos calibrate. Its runs are those of the live world, and
// virtualRuns those in virtual time.
type calibrateFlags struct {
	runFlags
	virtualRuns int
}

// fewestVirtual is how many virtual runs it takes at least. What chance does to
// a few live runs is told by drawing as few from all: the probability that
// comes out is no smaller than one in so many.
func (f *calibrateFlags) fewestVirtual() int { return max(200, 20*f.runs) }

func (m Main) calibrateCommand() *cobra.Command {
	const defaultRuns, defaultVirtual = 3, 300
	f := calibrateFlags{runFlags: runFlags{world: liveWorld, parallel: 1}}
	cmd := &cobra.Command{
		Use:   "calibrate [SCENARIO|FILE…]",
		Short: "Compare the virtual world with the live one",
		Long: `Calibrate runs each scenario a few times in the live world and often in virtual
time. It reports how far the results are apart: broken promises, durations of
failovers, and the order of events. Without a scenario it runs the standard
suite. Scenarios that this Redis cannot carry out are left out, or refused if
they are named.

Exit status: 0 the worlds agree; 1 a promise broken; 2 they differ by more than
chance and the limits allow, or there is too little data; 3 stopped early and
healed; 64 wrong use or bad input; 70 the tool itself failed.`,
		Example: `  chaos calibrate crash-leader --runs 5
  chaos calibrate --redis process`,
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, names []string) error {
			given := cmd.Flags().Changed
			if !given("virtual-runs") {
				f.virtualRuns = max(f.virtualRuns, f.fewestVirtual())
			}
			list, err := f.resolve(m, given, names)
			if err != nil {
				return err
			}
			if fewest := f.fewestVirtual(); f.virtualRuns < fewest {
				return usage.Of(fmt.Errorf("--virtual-runs %d: %d live runs cannot be told from chance with so few; give at least %d", f.virtualRuns, f.runs, fewest))
			}
			return m.enter(cmd.Context(), &f.runFlags, list, names, f.compare)
		},
	}
	flags := cmd.Flags()
	f.common(flags)
	flags.IntVar(&f.runs, "runs", defaultRuns, "live runs of each scenario, with one seed after the other")
	flags.IntVar(&f.virtualRuns, "virtual-runs", defaultVirtual, "virtual runs of each scenario, at least twenty times --runs")
	return cmd
}

// compare runs each scenario in both worlds and reports how far apart they
// lie.
func (f *calibrateFlags) compare(ctx context.Context, there *place, list []scenarios.Planned, names []string, out *output, screen *screen) error {
	c := calibrator{
		live: there, virtual: inVirtual(Main{}.virtualSubjects()), runs: f.runs, virtualRuns: f.virtualRuns, flags: f.single, out: out, screen: screen,
		report: &reports.Calibration{
			Subject: f.settings.Subject, Seed: f.settings.Seed, LeaseMS: f.settings.Timings().Lease.Seconds() * 1000,
			Repro: fmt.Sprintf("%s --runs %d --virtual-runs %d", strings.Join(append(append([]string{"chaos calibrate"}, names...), f.single(liveWorld, f.settings.Seed)), " "), f.runs, f.virtualRuns),
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
	screen.missed(list[ran:], func(string) bool { return false })
	if err = errors.Join(live.Harmed(ctx), ctx.Err(), err, out.finish(), there.close()); err != nil && len(c.compared) == 0 {
		return err
	}
	if writing := c.write(); writing != nil || err != nil {
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
	flags             func(world string, seed uint64) string // of the command that repeats one run
	out               *output
	screen            *screen
	compared          []calibration.Comparison
	report            *reports.Calibration
}

// scenario compares the worlds in one scenario. The live runs and as many
// virtual ones with the same seeds are reported one by one; of the others only
// the first that does not pass is.
func (c *calibrator) scenario(ctx context.Context, s scenarios.Planned) error {
	live, err := c.repeat(ctx, c.live, s, c.runs)
	if err != nil {
		return err
	}
	virtual, err := c.repeat(ctx, c.virtual, s, c.virtualRuns)
	if err != nil {
		return err
	}
	compared := calibration.Compare(s.Name, s.Plan.Timings.Lease, calibration.Sample{World: liveWorld, Runs: live}, calibration.Sample{World: virtualWorld, Runs: virtual})
	c.compared = append(c.compared, compared)
	c.report.Add(compared)
	c.screen.say("%s: %v", s.Name, compared.Verdict)
	return nil
}

// repeat runs a scenario so many times in one world, with one seed after the
// other.
func (c *calibrator) repeat(ctx context.Context, world *place, s scenarios.Planned, times int) ([]calibration.Run, error) {
	var runs []calibration.Run
	shown := false // a run beyond those of the live world that did not pass
	for i := range times {
		seed := s.Settings.Seed + uint64(i)
		one, err := s.Again(seed, c.flags(world.name, seed))
		if err != nil {
			return nil, err
		}
		folder := filepath.Join(s.Name, fmt.Sprintf("%s-%d", world.name, i+1))
		o := scenarios.Runner{World: world, Logs: func(string) (string, error) { return world.logs(c.out, folder) }}.
			RunPlanned(ctx, []scenarios.Planned{one})
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
func (c *calibrator) write() error {
	doc, err := c.report.Document()
	if err != nil {
		return err
	}
	return publish(c.screen, c.out.dir, c.report, doc, "calibration.html", "calibration.md",
		map[string]format[*reports.Calibration]{"calibration.json": reports.CalibrationJSON}, "calibration.json")
}
