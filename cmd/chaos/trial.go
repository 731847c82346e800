package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/internal/garbage"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/scenarios/trial"
	"github.com/recount-io/recount/sim/live"
)

// trialFlags are the flags of chaos trial.
type trialFlags struct {
	runFlags    // of a session
	scenarios   []string
	execDir     string
	update      []string
	virtualRuns int
	shrink      time.Duration
	shard       campaign.Shard

	given func(flag string) bool
}

// How often a trial runs each subject in each scenario, unless a flag says
// otherwise.
const (
	defaultTrialRuns    = 1
	defaultTrialVirtual = 20
)

func (m Main) trialCommand() *cobra.Command {
	var f trialFlags
	cmd := &cobra.Command{
		Use:   "trial [SUBJECT…]",
		Short: "Run every subject against every scenario: the table",
		Long: `Trial runs subjects against scenarios, each several times, and makes the table of
what they kept and what they broke: in which scenario, how often, for how long
two led at one time, how long failovers took, and how what the subjects'
documents claim compares with that. Without a subject it takes all of them.

Each subject runs in the live world and in the virtual one, unless --world names
one of them, and the table says where the two differ. For every broken promise
it keeps the shortest history that shows it; in the virtual world it makes that
as small as it can, and "chaos replay" repeats it.

--exec-dir puts other programs on trial, live only: every executable file in the
folder, and every folder in it with an executable file "candidate", is one more
subject, whose command runs one candidate. Its name is that of the file without
its extension, or of the folder.

--shard i/n runs one of n parts of the trial, and writes one file,
which "chaos merge" puts together with the others. Only what is run in virtual
time can be divided so. The exit status is 0 when the file is written.

Exit status: 0 every promise kept; 1 a promise broken, as one should expect where
subjects are on trial that are known to be bad; 2 undecided; 3 stopped early, and
what there is is reported; 64 wrong use or bad input; 70 the tool itself failed.`,
		Example: `  chaos trial
  chaos trial titan recount --scenario pause-leader --scenario crash-leader
  chaos trial --world virtual --virtual-runs 100
  chaos trial --exec-dir my-electors --runs 3
  chaos trial mine recount --exec-dir my-electors --scenario steady
  chaos trial --update docs/findings.md
  chaos trial --world virtual --seed 7 --shard 3/8 --out campaign`,
		RunE: func(cmd *cobra.Command, names []string) error {
			f.given = cmd.Flags().Changed
			return m.trial(cmd.Context(), &f, names)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.world, "world", bothWorlds, "where subjects run: live, virtual, or both")
	flags.StringArrayVar(&f.scenarios, "scenario", nil, "only this scenario; may be repeated (default: every one)")
	flags.StringVar(&f.execDir, "exec-dir", "", "folder of commands that are subjects too, live only")
	flags.IntVar(&f.runs, "runs", defaultTrialRuns, "live runs of each subject in each scenario")
	flags.IntVar(&f.virtualRuns, "virtual-runs", defaultTrialVirtual, "virtual runs of each subject in each scenario")
	flags.Uint64Var(&f.settings.Seed, "seed", 0, "of the first run of each; the next has the next one (default: drawn, and printed)")
	flags.IntVar(&f.parallel, "parallel", 5, "how many live runs at once")
	f.live(flags)
	flags.DurationVar(&f.shrink, "shrink", 2*time.Second, "how long the history of one broken cell is made smaller, at the most; 0: not at all")
	flags.StringVar(&f.out, "out", "", "folder for the table and what shows it (default: recount-runs/TIME)")
	flags.StringArrayVar(&f.update, "update", nil, "Markdown file in which the table is written anew, between <!-- trial --> and <!-- end -->; may be repeated")
	shardFlag(flags, &f.shard)
	return cmd
}

// trial is chaos trial.
func (m Main) trial(ctx context.Context, f *trialFlags, names []string) error {
	if f.shard.Given() {
		if err := f.checkShard(); err != nil {
			return err
		}
	}
	subjects, list, err := f.resolve(m, names)
	if err != nil {
		return err
	}
	wanted := f.parallel
	demand, err := f.afford(m, list, len(subjects))
	if err != nil {
		return err
	}
	s := newScreen(m, f.asJSON)
	defer s.close()
	run := &trialRun{Main: m, flags: f, screen: s, connections: connections(list, f.parallel)}
	defer func() { _ = run.close() }() // again, in case of a panic
	if err := run.open(ctx); err != nil {
		return err
	}
	if run.live != nil {
		if ctx, err = f.session("").spare(ctx, run.live, demand, wanted, s); err != nil {
			return err
		}
	}
	out, err := openOutput(f.out) // last: what is refused leaves no folder
	if err != nil {
		return err
	}
	run.out = out
	s.say("Trying %d subjects in %d scenarios; seed %d, lease %v", len(subjects), len(list), f.settings.Seed, f.settings.Timings().Lease)
	s.say("Reports: %s", out.dir)
	defer garbage.Seldom()()
	t := trial.Trial{
		Subjects: subjects, Scenarios: unplanned(list), Places: run.places, Settings: f.settings, Shard: f.shard,
		Shrink: f.shrink, Simulated: m.virtualSubjects(), Done: run.subjectDone, Show: run.show,
	}
	seconds := clocked()
	if f.shard.Given() {
		t.Show = func(*trial.Cell) error { return nil } // the file has all of it
		cells, err := t.Run(ctx)
		if err != nil {
			return err
		}
		return run.concludeShard(names, cells, seconds())
	}
	cells, err := t.Run(ctx)
	err = errors.Join(live.Harmed(ctx), err, run.close())
	if err != nil && ctx.Err() == nil && !anyRun(cells) {
		return err
	}
	table := run.table(&t, cells, f.repro(names))
	table.Stopped = ctx.Err() != nil
	table.Finish()
	if err := errors.Join(err, run.report(table)); err != nil {
		return err
	}
	return judged(table.Verdict)
}

// anyRun reports whether there is anything to report.
func anyRun(cells []*trial.Cell) bool {
	for _, c := range cells {
		if len(c.Runs) > 0 {
			return true
		}
	}
	return false
}

// resolve checks all that can be checked before anything is started.
func (f *trialFlags) resolve(m Main, names []string) ([]trial.Subject, []scenarios.Planned, error) {
	list := scenarios.Every()
	var err error
	if len(f.scenarios) > 0 {
		if list, err = scenarios.Find(f.scenarios...); err != nil {
			return nil, nil, usage.Of(err)
		}
	}
	if f.redis == "" && f.world != virtualWorld {
		f.redis = m.Getenv("RECOUNT_REDIS")
	}
	if err := f.check(); err != nil {
		return nil, nil, usage.Of(err)
	}
	if err := updatable(f.update, into(trialParts(&reports.Trial{}))); err != nil {
		return nil, nil, usage.Of(err)
	}
	if !f.given("seed") {
		f.settings.Seed = rand.Uint64N(1 << 32)
	}
	planned, err := scenarios.PlanAll(list, f.settings)
	if err != nil {
		return nil, nil, usage.Of(err)
	}
	subjects, err := f.subjects(m, names)
	return subjects, planned, usage.Of(err)
}

// unplanned are the scenarios, to be planned for each subject.
func unplanned(list []scenarios.Planned) (all []scenarios.Scenario) {
	for i := range list {
		all = append(all, list[i].Scenario)
	}
	return all
}

// check refuses flags that mean nothing, or nothing together.
func (f *trialFlags) check() error {
	switch {
	case f.world != liveWorld && f.world != virtualWorld && f.world != bothWorlds:
		return noWorld(f.world, liveWorld, virtualWorld, bothWorlds)
	case f.prefix == "" && f.world != virtualWorld:
		return errors.New(noPrefix)
	case f.runs < 1:
		return fmt.Errorf("--runs %d: give a number above 0, or --world virtual for no live run", f.runs)
	case f.virtualRuns < 1:
		return fmt.Errorf("--virtual-runs %d: give a number above 0, or --world live for no virtual run", f.virtualRuns)
	case f.parallel < 1:
		return fmt.Errorf("--parallel %d: at least one run must be under way at a time", f.parallel)
	case f.shrink < 0:
		return fmt.Errorf("--shrink %v is negative", f.shrink)
	case f.execDir != "" && f.world == virtualWorld:
		return errors.New("--exec-dir means nothing with --world virtual: a command cannot run in virtual time")
	}
	for _, flag := range []string{"redis", "toxiproxy", "prefix", "runs", "parallel"} {
		if f.world == virtualWorld && f.given(flag) {
			return fmt.Errorf("--%s means nothing with --world virtual: no run is live", flag)
		}
	}
	for _, flag := range []string{"virtual-runs", "shrink"} {
		if f.world == liveWorld && f.given(flag) {
			return fmt.Errorf("--%s means nothing with --world live: no run is virtual", flag)
		}
	}
	if err := f.checkSparing(f.given); err != nil {
		return err
	}
	if f.world != virtualWorld {
		return checkPlatform()
	}
	return nil
}

// afford is what the live runs ask of a Redis that others use: see runFlags.afford.
func (f *trialFlags) afford(m Main, list []scenarios.Planned, subjects int) (live.Demand, error) {
	if f.world == virtualWorld {
		return live.Demand{}, nil
	}
	session := f.session("")
	demand, err := session.budget(m, list, false)
	f.parallel = session.parallel
	demand.Lasts *= time.Duration(f.runs * subjects)
	return demand, err
}

// repro is the command that repeats the trial.
func (f *trialFlags) repro(names []string) string {
	words := append(line{"chaos trial"}, names...)
	add := words.add
	add(f.world != bothWorlds, "--world %s", f.world)
	for _, s := range f.scenarios {
		add(true, "--scenario %s", s)
	}
	add(f.execDir != "", "--exec-dir %s", quoted(f.execDir))
	add(f.redis != "", "--redis %s", quoted(reports.Redact(f.redis)))
	f.sparing.repro(f.shared(), f.prefix, add)
	add(f.toxiproxy != "", "--toxiproxy %s", f.toxiproxy)
	add(f.world != virtualWorld, "--runs %d", f.runs)
	add(f.world != liveWorld, "--virtual-runs %d", f.virtualRuns)
	add(true, "--seed %d --lease %v", f.settings.Seed, f.settings.Timings().Lease)
	return words.String()
}

// trialRun is a trial under way.
type trialRun struct {
	Main
	flags  *trialFlags
	out    *output
	screen *screen

	live    *place // nil: no run is live
	virtual *place // nil: no run is virtual
	redis   string
	places  []trial.Place

	connections int // that live runs open at once
}

// open opens the worlds.
func (r *trialRun) open(ctx context.Context) error {
	f := r.flags
	if f.world != virtualWorld {
		there, err := r.flags.session("").inLive(ctx, r.screen, r.connections)
		if err != nil {
			return err
		}
		r.live, r.redis = there, there.says
		r.screen.say("%s", there.says)
		r.places = append(r.places, trial.Place{
			Name: liveWorld, Runs: f.runs, Parallel: f.parallel, Open: r.openLive, Lacks: lacking(there), Flags: r.flagsOf(liveWorld),
			Logs: func(scenario string) (string, error) { return r.out.logs(scenario) },
		})
	}
	if f.world != liveWorld {
		there := inVirtual(r.virtualSubjects())
		r.virtual = there
		r.places = append(r.places, trial.Place{
			Name: virtualWorld, Runs: f.virtualRuns, Parallel: runtime.GOMAXPROCS(0), Simple: true, Open: r.openVirtual, Lacks: lacking(there),
			Logs: func(string) (string, error) { return "", nil }, Flags: r.flagsOf(virtualWorld),
		})
	}
	return nil
}

// lacking says why a place cannot carry out a scenario.
func lacking(p *place) func(scenarios.Scenario) string {
	return func(s scenarios.Scenario) string {
		why, _ := p.lacks(s)
		if why == "" {
			return ""
		}
		return "the scenario " + why
	}
}

func (r *trialRun) close() error {
	if r.live == nil {
		return nil
	}
	return r.live.close()
}

// session are the flags of chaos run for a session of the live world: with a
// command, or for the subjects inside this program.
func (f *trialFlags) session(command string) *runFlags {
	one := f.runFlags
	one.world, one.exec = liveWorld, command
	return &one
}

// openLive is the session of all subjects inside this program, or one of its
// own for a subject that is a command.
func (r *trialRun) openLive(ctx context.Context, s trial.Subject) (scenarios.World, func() error, error) {
	if command, other := r.flags.commandOf(s.Name); other {
		there, err := r.flags.session(command).inLive(ctx, r.screen, r.connections)
		if err != nil {
			return nil, nil, err
		}
		return there, there.close, nil
	}
	return r.live, func() error { return nil }, nil
}

func (r *trialRun) openVirtual(context.Context, trial.Subject) (scenarios.World, func() error, error) {
	return r.virtual, func() error { return nil }, nil
}

// flagsOf are the flags of chaos run that repeat one run in a world.
func (r *trialRun) flagsOf(world string) func(s trial.Subject, seed uint64) string {
	return func(s trial.Subject, seed uint64) string {
		command, _ := r.flags.commandOf(s.Name)
		one := r.flags.session(command)
		one.settings.Subject = s.Name
		return one.single(world, seed)
	}
}

// subjectDone says that a subject is done in a world.
func (r *trialRun) subjectDone(s trial.Subject, world string, cells []*trial.Cell) {
	var kept, broken, undecided, none int
	for _, c := range cells {
		switch {
		case c.Why != "":
			none++
		case c.Verdict() == checker.Pass:
			kept++
		case c.Verdict() == checker.Fail:
			broken++
		default:
			undecided++
		}
	}
	r.screen.say("%s, %s: %d kept, %d broken, %d undecided, %d not applicable", s.Name, world, kept, broken, undecided, none)
}

// show writes the report of a broken cell's evidence.
func (r *trialRun) show(c *trial.Cell) error {
	e := c.Shortest
	folder := trial.Folder(c, int(e.Plan.Seed-r.flags.settings.Seed))
	if e.Case != nil {
		file := filepath.Join(folder, caseFile)
		text, err := e.Case.Marshal()
		if err != nil {
			return err
		}
		if err := writeFiles(filepath.Join(r.out.dir, folder), map[string][]byte{caseFile: text}); err != nil {
			return err
		}
		e.History.Header.Repro = "chaos replay " + filepath.Join(r.out.dir, file)
	}
	_, err := r.out.add(folder, e.History, e.Result)
	return err
}

// caseFile is the case that chaos replay repeats.
const caseFile = "case.json"

// report writes the table, and shows it.
func (r *trialRun) report(table *reports.Trial) error {
	var err error
	for _, path := range r.flags.update {
		if table.Stopped {
			r.screen.say("%s stays as it is: the trial was stopped", path)
			continue
		}
		err = errors.Join(err, update(path, trialParts(table)))
	}
	return errors.Join(err, publish(r.screen, r.out.dir, table, table.Document(), "index.html", "trial.md",
		map[string]format[*reports.Trial]{"trial.json": reports.TrialJSON}, "trial.json"))
}
