package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/virtual"
)

// runFlags are the flags of chaos run.
type runFlags struct {
	world     string
	redis     string
	toxiproxy string
	exec      string
	image     string
	lockKey   string
	clocks    bool // the other elector obeys the command clock
	transfers bool // and the command transfer

	passwordFile bool     // it reads the store's password from a file
	notAsked     []string // promises that are not asked of it
	prefix       string
	out          string
	parallel     int
	asJSON       bool
	own          bool // faults may hit a Redis given by URL itself
	rolling      bool // judged as a chain of histories, which are not kept
	dryRun       bool // nothing is run
	sparing      sparing
	settings     scenarios.Settings

	runs int // of each scenario
}

// aboutRun is what "chaos run --help" says.
const aboutRun = `Run runs scenarios against a real Redis, checks what was recorded, and writes a
report. Without a scenario it runs the standard suite; "all" stands for all of
them. Of either those are left out that cannot be run; named, they are refused.
A file ending in .yaml or .yml is a scenario of your own, which runs with the lease
that it names; "chaos list --yaml crash-leader" prints one to start from.

With --world virtual there is no Redis and no process: everything is simulated,
in virtual time, and one seed gives one history. "chaos calibrate" compares it
with the live world.

With --world containers every candidate, every Redis and every Sentinel is a
container of the Docker Engine on this machine, which disconnects, pauses, kills
and starts hosts. Candidates are of an image that is made of this program for the
run, or of --image; servers are of RECOUNT_REDIS_IMAGE (redis:8). Scenarios that
need more are left out, or refused if they are named.

In the live world Redis is one of
  auto       a private redis-server if there is one on PATH, else embedded
  embedded   a Redis written in Go, inside this program
  process    a private redis-server
  docker     a private container (image from RECOUNT_REDIS_IMAGE)
  URL        a Redis that runs already: redis://user:password@host:port/0, or
             rediss:// for TLS. Only keys under the run's own prefix are used,
             faults hit only the candidates' side, and no key is left behind.
             RECOUNT_REDIS stands in for --redis and keeps the password out of
             the command line. The server is looked at before anything else is
             started, and refused if it will not do; "chaos acl" prints the
             rights that its user needs. Scenarios that delete or evict its data
             want --own-this-redis, and a mark in the server that says so.

Exit status: 0 every promise kept; 1 a promise broken; 2 undecided; 3 stopped
early and healed; 64 wrong use or bad input; 70 the tool itself failed.`

func (m Main) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO|FILE…]",
		Short: "Run scenarios, check them, and report",
		Long:  aboutRun,
		Example: `  chaos run
  chaos run --world virtual all
  chaos run crash-leader --runs 10
  chaos run --world virtual --rolling mixed --duration 8760h --lease 30s
  chaos run --world containers crash-leader pause-leader partition-leader
  chaos run partition-leader --lease 2s
  chaos run mixed --duration 10m --seed 7
  RECOUNT_REDIS=rediss://user:password@staging:6380/0 chaos run crash-leader
  chaos run steady --exec './my-elector --verbose'`,
		ValidArgsFunction: completeScenarios,
		RunE:              func(cmd *cobra.Command, names []string) error { return m.run(cmd, &f, names) },
	}
	flags := cmd.Flags()
	f.common(flags)
	flags.StringVar(&f.world, "world", liveWorld, "where candidates run: live, containers, virtual or bubble")
	flags.StringVar(&f.exec, "exec", "", "command that runs one candidate of another elector")
	flags.StringVar(&f.image, "image", "", "with --world containers: image of one candidate of another elector, which tells what it does (default: the electors inside this program)")
	flags.StringVar(&f.lockKey, "lock-key", "", "with --exec: the end of the name of the key in Redis that is the lock, or a pattern with * and ? for the whole name (default: the key that is taken first if nobody has it)")
	flags.BoolVar(&f.clocks, "clocks", false, "with --exec or --image: it obeys the command clock on its standard input, so that faults may set its clocks; without it, scenarios about these are left out")
	flags.BoolVar(&f.transfers, "transfers", false, "with --exec or --image: it obeys the command transfer on its standard input, so that a leader may be told to hand its lease over")
	flags.BoolVar(&f.passwordFile, "password-file", false, "with --exec: it reads the store's password from the file RECOUNT_REDIS_PASSWORD_FILE for each connection, so that the password may change")
	flags.StringSliceVar(&f.notAsked, "not-asked", nil, "with --exec or --image: promises, separated by commas, that are not asked of this elector: they are measured, and do not decide the verdict")
	flags.IntVar(&f.parallel, "parallel", 5, "how many scenarios run at once")
	flags.IntVar(&f.runs, "runs", 1, "runs of each scenario, with one seed after the other")
	flags.BoolVar(&f.rolling, "rolling", false, "with --world virtual: judge the run as a chain of histories and keep the first that breaks a promise at the most, for runs of any length; leaders write three times a lease, and candidates ask who leads once")
	return cmd
}

// live adds the flags of every command with live runs.
func (f *runFlags) live(flags *pflag.FlagSet) {
	flags.StringVar(&f.redis, "redis", "", "auto, embedded, process, docker, or a URL (default: $RECOUNT_REDIS, else auto)")
	flags.StringVar(&f.toxiproxy, "toxiproxy", "", "address of an outside toxiproxy's API (default: one inside this program)")
	flags.StringVar(&f.prefix, "prefix", "recount:", "prefix of every key in Redis")
	flags.DurationVar(&f.settings.Lease, "lease", scenarios.DefaultLease, "how long a lease lasts unless it is renewed")
	f.sparing.add(flags)
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
}

// pace adds the durations that follow from the lease, unless they are given.
func (f *runFlags) pace(flags *pflag.FlagSet) {
	flags.DurationVar(&f.settings.Renew, "renew", 0, "how often the leader renews it (default: a third of the lease)")
	flags.DurationVar(&f.settings.Retry, "retry", 0, "how soon a failed request is tried again (default: a twentieth of the lease)")
}

// common adds the flags that chaos calibrate has, too.
func (f *runFlags) common(flags *pflag.FlagSet) {
	flags.StringVar(&f.settings.Subject, "subject", "recount", "the elector under test")
	flags.BoolVar(&f.own, "own-this-redis", false, "let faults that a client can carry out hit a Redis given by URL: keys deleted and evicted, scripts flushed; it must be marked, and the message says how")
	flags.IntVar(&f.settings.Nodes, "nodes", 0, "number of candidates (default: the scenario's, mostly 5)")
	f.pace(flags)
	flags.DurationVar(&f.settings.Duration, "duration", 0, "let the faults go on for so long (default: once through the scenario)")
	flags.Uint64Var(&f.settings.Seed, "seed", 0, "of every random choice (default: drawn, and printed)")
	flags.StringVar(&f.out, "out", "", "folder for the reports (default: recount-runs/TIME)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print each fault with when, on whom, whom it can hurt and how it is undone, and run nothing: nothing is opened, and the Redis of a URL not asked")
	f.live(flags)
}

// byName reports whether each scenario was asked for by its name: then none is left out.
func byName(names []string) bool { return len(names) > 0 && !slices.Equal(names, []string{"all"}) }

func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{"all"}
	for _, s := range scenarios.Every() {
		names = append(names, s.Name+"\t"+s.Summary)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// run is chaos run.
func (m Main) run(cmd *cobra.Command, f *runFlags, names []string) error {
	list, err := f.resolve(m, cmd.Flags().Changed, names)
	if err != nil {
		return err
	}
	then := f.runIn
	if f.rolling {
		then = func(ctx context.Context, _ *place, list []scenarios.Planned, names []string, out *output, screen *screen) error {
			return f.roll(ctx, &virtual.World{Subjects: m.virtualSubjects()}, list, names, out, screen)
		}
	}
	return m.enter(cmd.Context(), f, list, names, then)
}

// enter opens the world of a run, and calls then with what can be carried out there. With
// --dry-run it says what would be done instead.
func (m Main) enter(ctx context.Context, f *runFlags, list []scenarios.Planned, names []string, then func(context.Context, *place, []scenarios.Planned, []string, *output, *screen) error) error {
	if f.dryRun {
		return m.rehearse(f, list, byName(names))
	}
	if !f.simulated() {
		if err := checkPlatform(); err != nil {
			return err
		}
	}
	wanted := f.parallel
	demand, err := f.budget(m, list, byName(names))
	if err != nil {
		return err
	}
	screen := newScreen(m, f.asJSON)
	defer screen.close()
	world := f.inVirtual(m)
	switch f.world {
	case virtualWorld:
	case bubbleWorld:
		world = f.inBubble()
	case containersWorld:
		world, err = f.inContainers(ctx, screen)
	default:
		world, err = f.inLive(ctx, screen, demand.Connections)
	}
	if err != nil {
		return err
	}
	defer func() { _ = world.close() }() // again, in case of a panic
	if list, err = world.admissible(list, byName(names), screen); err != nil {
		return err
	}
	if ctx, err = f.spare(ctx, world, demand, wanted, screen); err != nil {
		return err
	}
	out, err := openOutput(f.out) // last: what is refused leaves no folder
	if err != nil {
		return err
	}
	return then(ctx, world, list, names, out, screen)
}

// runIn runs the scenarios in one world, and reports. A report that cannot be written
// ends without a summary: what is not kept must not look as if it passed.
func (f *runFlags) runIn(ctx context.Context, world *place, list []scenarios.Planned, names []string, out *output, screen *screen) error {
	screen.begin(world, f.settings, list, f.parallel, out.dir)
	var writing error
	var outcomes []scenarios.Outcome
	for i := range f.runs {
		folder := func(scenario string) string { return scenario }
		of := list
		if f.runs > 1 {
			folder = func(scenario string) string { return filepath.Join(scenario, strconv.Itoa(i+1)) }
			var err error
			if of, err = f.again(list, f.settings.Seed+uint64(i)); err != nil {
				return err
			}
		}
		outcomes = append(outcomes, scenarios.Runner{
			World: world, Parallel: f.parallel, Logs: func(scenario string) (string, error) { return world.logs(out, folder(scenario)) },
			Done: func(o scenarios.Outcome) {
				rep, err := out.write(folder(o.Scenario.Name), o)
				writing = errors.Join(writing, err)
				screen.done(o, rep, err)
			},
		}.RunPlanned(ctx, of)...)
	}
	out.order(list)
	closing := world.close()
	writing = errors.Join(writing, out.finish())
	screen.missed(list, func(name string) bool {
		return slices.ContainsFunc(outcomes, func(o scenarios.Outcome) bool { return o.Scenario.Name == name })
	})
	err := errors.Join(live.Harmed(ctx), ctx.Err(), scenarios.Err(outcomes), writing, closing)
	if writing == nil && (len(out.reports) > 0 || err == nil) {
		if err := screen.end(out, f, names); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return judged(scenarios.Verdict(outcomes))
}

// again plans one more run of each scenario, with that seed.
func (f *runFlags) again(list []scenarios.Planned, seed uint64) (all []scenarios.Planned, err error) {
	for _, p := range list {
		if p, err = p.Again(seed, f.single(f.world, seed)); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
