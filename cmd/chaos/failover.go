package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker/quantile"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/failover"
	"github.com/recount-io/recount/sim/live"
)

// failoverFlags are the flags of chaos failover.
type failoverFlags struct {
	runFlags  // of a session
	causes    []string
	subjects  []string
	execs     []string
	count     int
	precision string
	quantile  string
	most      time.Duration
	baseline  string
	failIf    []string
	update    []string

	// What they amount to.
	wanted     []failover.Cause
	planned    []scenarios.Planned // a run of each cause
	narrow     float64             // half an interval as a share of its quantile; 0: not asked for
	p          float64
	conditions []*reports.Condition
	before     *reports.Failovers
}

const (
	defaultFailovers = 200
	defaultParallel  = 4
	// mostPrecise is how long a measurement goes on that was asked for a precision.
	mostPrecise = 30 * time.Minute
	// mostKept is how many runs keep their files, of a megabyte each: of more, a folder would
	// be too large to pass on. Those that broke a promise are kept whatever their number.
	mostKept = 200
	// toldEvery is how often a measurement says how far it is.
	reportEvery = 10 * time.Second
)

func (m Main) failoverCommand() *cobra.Command {
	var f failoverFlags
	cmd := &cobra.Command{
		Use:   "failover",
		Short: "Measure how long failovers take, compare, and fail a build on it",
		Long: `Failover brings about one failover after the other, of each cause and with each
elector in turn, until there are enough of them to answer the question: how long
is an election without a leader, and is that longer than before?

Each figure is printed with the interval in which the true one lies (95 %), and no
quantile is printed that the sample cannot carry. A failover during which the
machine was held up is counted, and left out.

The folder of the report holds index.html, failovers.md for a pull request,
failovers.json, failovers.csv, junit.xml, and failovers.txt in the format of Go's
benchmarks, for benchstat. docs/failover.md tells how to read them.

--fail-if compares with --baseline, the failovers.json of an earlier measurement, or
with a duration:
  --fail-if 'crash.excess.p99 > 1.2x'     a factor of the baseline's figure
  --fail-if 'resign.total.p50 > +10ms'    so much more than it
  --fail-if 'crash.total.p90 > 2s'        without a baseline

Exit status: 0 measured, and no condition holds; 1 a condition certainly holds, or a
promise is broken; 2 the sample cannot tell; 3 stopped early, and what there is is
reported; 64 wrong use or bad input; 70 the tool itself failed.`,
		Example: `  chaos failover
  chaos failover --cause crash --cause resign --subject recount --subject honua
  chaos failover --cause crash --precision 5% --quantile p99 --for 20m
  chaos failover --cause crash --exec ./my-elector
  chaos failover --world virtual --cause cut --count 10000
  chaos failover --world bubble --precision 5%
  chaos failover --baseline before/failovers.json --fail-if 'crash.excess.p90 > 1.2x'`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.failover(cmd.Context(), &f, cmd.Flags().Changed) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.causes, "cause", []string{"crash", "resign"}, "what ends a term; may be repeated. One of "+strings.Join(causeNames(), ", "))
	flags.StringArrayVar(&f.subjects, "subject", nil, "an elector of this program; may be repeated (default: recount)")
	flags.StringArrayVar(&f.execs, "exec", nil, "command that runs one candidate of another elector; may be repeated")
	flags.StringVar(&f.lockKey, "lock-key", "", "with --exec: the end of the name of the key in Redis that is the lock, or a pattern with * and ? for the whole name (default: the key that is taken first if nobody has it)")
	flags.BoolVar(&f.transfers, "transfers", false, "with --exec: it obeys the command transfer on its standard input")
	flags.StringVar(&f.world, "world", liveWorld, "where candidates run: live, containers, virtual or bubble")
	flags.IntVar(&f.count, "count", defaultFailovers, "failovers of each cause with each elector")
	flags.StringVar(&f.precision, "precision", "", "in place of --count: go on until the quantile is known so precisely, such as 10%")
	flags.StringVar(&f.quantile, "quantile", "p90", "with --precision: of the total; p50, p90 or p99")
	flags.DurationVar(&f.most, "for", 0, "begin no run after so long (default: without end; 30m with --precision)")
	flags.StringVar(&f.baseline, "baseline", "", "failovers.json of an earlier measurement, or its folder, to compare with")
	flags.StringArrayVar(&f.failIf, "fail-if", nil, "condition under which the exit status is 1; may be repeated")
	flags.IntVar(&f.settings.Nodes, "nodes", 0, fmt.Sprintf("number of candidates (default: %d)", failover.DefaultNodes))
	f.pace(flags)
	flags.Uint64Var(&f.settings.Seed, "seed", 0, "of the first run of each; the next has the next one (default: drawn, and printed)")
	flags.IntVar(&f.parallel, "parallel", defaultParallel, "how many groups of candidates run at once at the most, each on a server of its own; fewer where they disturb each other")
	flags.StringVar(&f.out, "out", "", "folder for the report (default: recount-runs/TIME)")
	flags.StringArrayVar(&f.update, "update", nil, "Markdown file in which the table is written anew, between "+failoversMark+" and "+endMark+"; may be repeated")
	f.live(flags)
	return cmd
}

func causeNames() (names []string) {
	for _, c := range failover.Causes() {
		names = append(names, c.Name)
	}
	return names
}

// failover is chaos failover.
func (m Main) failover(ctx context.Context, f *failoverFlags, given func(string) bool) error {
	if err := f.resolve(m, given); err != nil {
		return usage.Of(err)
	}
	if err := updatable(f.update, into(failoverParts(&reports.Failovers{}))); err != nil {
		return usage.Of(err)
	}
	s := newScreen(m, f.asJSON)
	defer s.close()
	measuring := &measuring{Main: m, failoverFlags: f, screen: s, began: time.Now(), reported: time.Now()}
	defer func() { _ = measuring.close() }() // again, in case of a panic
	electors, err := measuring.open(ctx)
	if err != nil {
		return err
	}
	watched, err := measuring.spare(ctx)
	if err != nil {
		return err
	}
	if measuring.out, err = openOutput(f.out); err != nil { // last: what is refused leaves no folder
		return err
	}
	s.say("Measuring %s of each of %d causes with each of %d electors; seed %d, lease %v", f.asked(), len(f.wanted), len(electors), f.settings.Seed, f.settings.Timings().Lease)
	s.say("Reports: %s", measuring.out.dir)
	for _, c := range f.conditions {
		if needs := c.Needs(); f.goal() > 0 && f.goal() < needs {
			s.say("--fail-if %q: %d failovers may show that the figure is above the limit, and never that it is not: that takes --count %d", c, f.goal(), needs)
		}
	}
	measuring.groups = newGroups(f.parallel, f.settings.Timings().Lease)
	control := measuring.watchMachine(ctx)
	cells, err := (&failover.Measurement{
		Causes: f.wanted, Electors: electors, Settings: f.settings, Parallel: f.parallel, Groups: measuring.groups.number,
		Count: f.goal(), Precise: f.precise, Most: f.most,
		Logs: func(folder string) (string, error) { return measuring.places[0].logs(measuring.out, folder) },
		Done: measuring.done,
	}).Run(watched)
	report := measuring.report(cells, control())
	err = errors.Join(live.Harmed(watched), err, measuring.close())
	switch {
	case ctx.Err() != nil:
		report.Stopped = "it was stopped"
	case live.Harmed(watched) != nil:
		report.Stopped = "to spare the Redis"
	case err != nil:
		return err
	}
	if report.Stopped == "" {
		for _, path := range f.update {
			err = errors.Join(err, update(path, failoverParts(report)))
		}
	}
	if writing := writeFailovers(measuring.out.dir, report, s); writing != nil || err != nil {
		return errors.Join(err, writing)
	}
	return judged(report.Verdict)
}

// resolve checks all that can be checked before anything is started.
func (f *failoverFlags) resolve(m Main, given func(string) bool) (err error) {
	if f.wanted, err = failover.Find(f.causes...); err != nil {
		return err
	}
	if len(f.subjects) == 0 && len(f.execs) == 0 {
		f.subjects = []string{"recount"}
	}
	if err := f.check(given); err != nil {
		return err
	}
	if f.precision != "" {
		text, percent := strings.CutSuffix(f.precision, "%")
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !percent || !(x > 0 && x <= 100) { // NaN is no percentage either
			return fmt.Errorf("--precision %s: give a percentage, such as 10%%", f.precision)
		}
		f.narrow = x / 100
		if f.most == 0 {
			f.most = mostPrecise
		}
	}
	if f.redis == "" && f.world == liveWorld {
		f.redis = m.Getenv("RECOUNT_REDIS")
	}
	if !given("seed") {
		f.settings.Seed = rand.Uint64N(1 << 32)
	}
	for _, name := range f.subjects {
		f.settings.Subject = name
		if err := f.checkSubject(m); err != nil {
			return err
		}
	}
	if err := f.checkSparing(given); err != nil {
		return err
	}
	for _, c := range f.wanted {
		p, err := c.Scenario().With(f.settings)
		if err != nil {
			return err
		}
		f.planned = append(f.planned, p)
	}
	if !f.simulated() {
		if err := checkPlatform(); err != nil {
			return err
		}
	}
	return f.resolveGates()
}

// check refuses flags that mean nothing, or nothing together.
func (f *failoverFlags) check(given func(string) bool) error {
	f.p = map[string]float64{"p50": .5, "p90": .9, "p99": .99}[f.quantile]
	switch {
	case f.world != liveWorld && f.world != containersWorld && !f.simulated():
		return noWorld(f.world, liveWorld, containersWorld, virtualWorld, bubbleWorld)
	case f.count < 1:
		return fmt.Errorf("--count %d: at least one failover must be measured", f.count)
	case f.precision != "" && given("count"):
		return errors.New("--count and --precision exclude each other: either says when there are enough failovers")
	case f.precision == "" && given("quantile"):
		return errors.New("--quantile means nothing without --precision")
	case f.p == 0:
		return fmt.Errorf("--quantile %s: give p50, p90 or p99", f.quantile)
	case f.most < 0:
		return fmt.Errorf("--for %v is negative", f.most)
	case f.parallel < 1:
		return fmt.Errorf("--parallel %d: at least one run must be under way at a time", f.parallel)
	case f.settings.Nodes < 0, f.settings.Nodes == 0 && given("nodes"):
		return fmt.Errorf("--nodes %d: an election needs at least one candidate", f.settings.Nodes)
	case f.prefix == "":
		return errors.New(noPrefix)
	case f.simulated() && given("prefix"):
		return fmt.Errorf("--prefix means nothing with --world %s: the store there is the run's own", f.world)
	case len(f.execs) == 0 && given("lock-key"):
		return errors.New("--lock-key means nothing without --exec: the keys of the electors inside this program are known")
	case len(f.execs) == 0 && given("transfers"):
		return errors.New("--transfers means nothing without --exec: which electors inside this program can hand their leases over is known")
	case len(f.execs) > 0 && f.world != liveWorld:
		return fmt.Errorf("--exec means nothing with --world %s: a command runs in the live world", f.world)
	}
	for i, name := range f.subjects {
		if slices.Contains(f.subjects[:i], name) {
			return fmt.Errorf("--subject %s is given twice: both would have the same runs", name)
		}
	}
	for i, command := range f.execs {
		if strings.TrimSpace(command) == "" {
			return errors.New("--exec is blank: give the command that runs one candidate")
		}
		if slices.ContainsFunc(f.execs[:i], func(other string) bool { return named(other) == named(command) }) {
			return fmt.Errorf("--exec %s is given twice: both would have the same runs", command)
		}
		if slices.Contains(f.subjects, named(command)) {
			return fmt.Errorf("--exec %s has the name of a --subject: give another path of the command, such as ./%s", command, command)
		}
	}
	if f.world != liveWorld {
		for _, flag := range []string{"redis", "toxiproxy"} {
			if given(flag) {
				return fmt.Errorf("--%s means nothing with --world %s: it has a store and a network of its own", flag, f.world)
			}
		}
	}
	return nil
}

// resolveGates reads the conditions, and what they compare with.
func (f *failoverFlags) resolveGates() error {
	for _, text := range f.failIf {
		c, err := reports.ParseCondition(text)
		if err != nil {
			return fmt.Errorf("--fail-if: %w", err)
		}
		if c.Relative() && f.baseline == "" {
			return fmt.Errorf("--fail-if %q: it compares, so give what with: --baseline FILE", text)
		}
		if !slices.ContainsFunc(f.wanted, func(w failover.Cause) bool { return w.Name == c.Cause() }) {
			return fmt.Errorf("--fail-if %q: %q is not measured: give --cause %s", text, c.Cause(), c.Cause())
		}
		if of := c.Elector(); of != "" && !slices.Contains(f.names(), of) {
			return fmt.Errorf("--fail-if %q: %q is not measured: give --subject %s, or one of %s", text, of, of, strings.Join(f.names(), ", "))
		}
		if slices.ContainsFunc(f.conditions, func(o *reports.Condition) bool { return o.String() == c.String() }) {
			return fmt.Errorf("--fail-if %q is given twice", text)
		}
		if needs := c.Needs(); c.Relative() && f.goal() > 0 && f.goal() < needs {
			return fmt.Errorf("--fail-if %q: %d failovers cannot decide it: give --count %d, or more", text, f.goal(), needs)
		}
		f.conditions = append(f.conditions, c)
	}
	if f.baseline == "" {
		return nil
	}
	before, err := readFailovers(f.baseline)
	if err != nil {
		return fmt.Errorf("--baseline: %w", err)
	}
	if unlike := f.empty().Unlike(before); unlike != "" {
		return fmt.Errorf("--baseline %s: %s: the comparison would show that, and not the change", f.baseline, unlike)
	}
	f.before = before
	for _, c := range f.conditions {
		for _, name := range f.names() {
			if c.Relative() && (c.Elector() == "" || c.Elector() == name) {
				if why := before.Lacks(c, name); why != "" {
					return fmt.Errorf("--fail-if %q: --baseline %s has %s", c, f.baseline, why)
				}
			}
		}
	}
	return nil
}

// names are those of the electors.
func (f *failoverFlags) names() []string {
	names := slices.Clone(f.subjects)
	for _, command := range f.execs {
		names = append(names, named(command))
	}
	return names
}

// named is the name of the elector that a command runs.
func named(command string) string { return strings.Join(strings.Fields(command), " ") }

// failoversFile is the report of a measurement for programs, in its folder.
const failoversFile = "failovers.json"

// readFailovers reads a measurement, given by its file or its folder.
func readFailovers(path string) (*reports.Failovers, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, failoversFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r, err := reports.ReadFailovers(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; give the failovers.json of this version, or measure again", path, err)
	}
	return r, nil
}

// goal is how many failovers each cell needs; 0: as many as make it precise.
func (f *failoverFlags) goal() int {
	if f.narrow > 0 {
		return 0
	}
	return f.count
}

// precise reports whether the quantile is known as precisely as was asked for.
func (f *failoverFlags) precise(c *failover.Cell) bool {
	var sample []float64
	for _, run := range c.Sample(func(f failover.Failover) time.Duration { return f.Total }) {
		for _, d := range run {
			sample = append(sample, float64(d))
		}
	}
	if len(sample) < quantile.Needs(f.p) {
		return false
	}
	slices.Sort(sample)
	e := quantile.Of(sample, f.p)
	return (e.High-e.Low)/2 <= f.narrow*e.Value
}

// asked says when there are enough failovers.
func (f *failoverFlags) asked() string {
	if f.narrow > 0 {
		return fmt.Sprintf("until %s is known to %s", f.quantile, f.precision)
	}
	return fmt.Sprintf("%d failovers", f.count)
}

// empty is the report before anything is measured.
func (f *failoverFlags) empty() *reports.Failovers {
	t := f.settings.Timings()
	r := &reports.Failovers{
		World: f.world, Seed: f.settings.Seed, LeaseMS: inMillis(t.Lease), RenewMS: inMillis(t.Renew), RetryMS: inMillis(t.Retry),
		Nodes: failover.DefaultNodes, Asked: f.asked(), Baseline: f.before, Repro: f.repro(f.causes, f.subjects, f.execs, f.settings.Seed, f.goal()) + f.question(),
	}
	if f.settings.Nodes > 0 {
		r.Nodes = f.settings.Nodes
	}
	return r
}

// question are the flags that a whole measurement has besides those of one run. How many runs
// are under way at once changes nothing in a simulated world.
func (f *failoverFlags) question() string {
	var words strings.Builder
	if f.most > 0 && (f.goal() > 0 || f.most != mostPrecise) {
		fmt.Fprintf(&words, " --for %v", f.most)
	}
	if !f.simulated() && f.parallel != defaultParallel {
		fmt.Fprintf(&words, " --parallel %d", f.parallel)
	}
	if f.baseline != "" {
		fmt.Fprintf(&words, " --baseline %s", quoted(f.baseline))
	}
	for _, c := range f.conditions {
		fmt.Fprintf(&words, " --fail-if %s", quoted(c.String()))
	}
	return words.String()
}

// repro is the command that repeats a measurement, or one run of it.
func (f *failoverFlags) repro(causes, subjects, execs []string, seed uint64, count int) string {
	words := line{"chaos failover"}
	add := words.add
	for _, c := range causes {
		add(true, "--cause %s", c)
	}
	for _, name := range subjects {
		add(true, "--subject %s", name)
	}
	for _, command := range execs {
		add(true, "--exec %s", quoted(command))
	}
	add(f.lockKey != "", "--lock-key %s", quoted(f.lockKey))
	add(f.transfers && len(execs) > 0, "--transfers")
	add(f.world != liveWorld, "--world %s", f.world)
	add(count > 0, "--count %d", count)
	add(count == 0, "--precision %s --quantile %s", f.precision, f.quantile)
	add(f.redis != "", "--redis %s", quoted(reports.Redact(f.redis)))
	f.sparing.repro(f.shared(), f.prefix, add)
	add(f.toxiproxy != "", "--toxiproxy %s", f.toxiproxy)
	add(true, "--seed %d --lease %v", seed, f.settings.Timings().Lease)
	add(f.settings.Renew > 0, "--renew %v", f.settings.Renew)
	add(f.settings.Retry > 0, "--retry %v", f.settings.Retry)
	add(f.settings.Nodes > 0, "--nodes %d", f.settings.Nodes)
	return words.String()
}
