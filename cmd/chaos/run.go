package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/live"
)

// runFlags are the flags of chaos run.
type runFlags struct {
	world     string
	redis     string
	toxiproxy string
	exec      string
	prefix    string
	out       string
	parallel  int
	asJSON    bool
	settings  scenarios.Settings
	seeded    bool
}

func (m Main) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO…]",
		Short: "Run scenarios, check them, and report",
		Long: `Run runs scenarios against a real Redis, checks what was recorded, and writes a
report. Without a scenario it runs the standard suite; "all" stands for all of
them.

Redis is one of
  auto       a private redis-server if there is one on PATH, else embedded
  embedded   a Redis written in Go, inside this program
  process    a private redis-server
  docker     a private container (image from RECOUNT_REDIS_IMAGE)
  URL        a Redis that runs already: redis://user:password@host:port/0, or
             rediss:// for TLS. Only keys under the run's own prefix are used,
             faults hit only the candidates' side, and no key is left behind.
             RECOUNT_REDIS stands in for --redis and keeps the password out of
             the command line.

Exit status: 0 every promise kept; 1 a promise broken; 2 undecided; 3 stopped
early and healed; 64 wrong use or bad input; 70 the tool itself failed.`,
		Example: `  chaos run
  chaos run partition-leader --lease 2s
  chaos run mixed --duration 10m --seed 7
  RECOUNT_REDIS=rediss://user:password@staging:6380/0 chaos run crash-leader
  chaos run steady --exec './my-elector --verbose'`,
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, names []string) error {
			f.seeded = cmd.Flags().Changed("seed")
			return m.run(cmd.Context(), f, names)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.world, "world", "live", "where candidates run: live")
	flags.StringVar(&f.redis, "redis", "", "auto, embedded, process, docker, or a URL (default: $RECOUNT_REDIS, else auto)")
	flags.StringVar(&f.toxiproxy, "toxiproxy", "", "address of an outside toxiproxy's API (default: one inside this program)")
	flags.StringVar(&f.settings.Subject, "subject", "recount", "the elector under test")
	flags.StringVar(&f.exec, "exec", "", "command that runs one candidate of another elector")
	flags.StringVar(&f.prefix, "prefix", "recount:", "prefix of every key in Redis")
	flags.IntVar(&f.settings.Nodes, "nodes", 0, "number of candidates (default: the scenario's, mostly 5)")
	flags.DurationVar(&f.settings.Lease, "lease", scenarios.DefaultLease, "how long a lease lasts unless it is renewed")
	flags.DurationVar(&f.settings.Renew, "renew", 0, "how often the leader renews it (default: a third of the lease)")
	flags.DurationVar(&f.settings.Retry, "retry", 0, "how soon a failed request is tried again (default: a twentieth of the lease)")
	flags.DurationVar(&f.settings.Duration, "duration", 0, "let the faults go on for so long (default: once through the scenario)")
	flags.Uint64Var(&f.settings.Seed, "seed", 0, "of every random choice (default: drawn, and printed)")
	flags.StringVar(&f.out, "out", "", "folder for the reports (default: recount-runs/TIME)")
	flags.IntVar(&f.parallel, "parallel", 5, "how many scenarios run at once")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
	return cmd
}

func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{"all"}
	for _, s := range scenarios.All() {
		names = append(names, s.Name+"\t"+s.Summary)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// run is chaos run.
func (m Main) run(ctx context.Context, f runFlags, names []string) error {
	list, err := f.resolve(m, names)
	if err != nil {
		return err
	}
	out, err := openOutput(f.out)
	if err != nil {
		return err
	}
	screen := newScreen(m, f.asJSON)
	defer screen.close()
	session, err := live.Open(ctx, live.Options{
		Redis: f.redis, Toxiproxy: f.toxiproxy, Command: f.command(), Prefix: f.prefix, Progress: screen.progress,
	})
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }() // again, in case of a panic
	if list, err = admissible(list, session, len(names) > 0, screen); err != nil {
		return err
	}
	screen.begin(session, f.settings, list, f.parallel, out.dir)
	var writing error
	outcomes := scenarios.Runner{
		World: session, Parallel: f.parallel, Logs: out.logs,
		Done: func(o scenarios.Outcome) {
			rep, err := out.write(o)
			writing = errors.Join(writing, err)
			screen.done(o, rep)
		},
	}.Run(ctx, list, f.settings)
	out.order(list)
	closing := session.Close()
	err = errors.Join(ctx.Err(), scenarios.Err(outcomes), writing, out.finish(), closing)
	if len(out.reports) > 0 || err == nil {
		if err := screen.end(out, f, names); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return judged(scenarios.Verdict(outcomes))
}

// resolve checks all that can be checked before anything is started.
func (f *runFlags) resolve(m Main, names []string) ([]scenarios.Scenario, error) {
	list, err := scenarios.Find(names...)
	if err != nil {
		return nil, usage(err)
	}
	switch {
	case f.world == "virtual":
		return nil, usage(errors.New("the virtual world is not part of this release: use --world live"))
	case f.world != "live":
		return nil, usage(fmt.Errorf("there is no world %q: use --world live", f.world))
	case f.settings.Nodes < 0:
		return nil, usage(fmt.Errorf("--nodes %d: an election needs at least one candidate", f.settings.Nodes))
	case f.settings.Duration < 0:
		return nil, usage(fmt.Errorf("--duration %v is negative", f.settings.Duration))
	case f.parallel < 1:
		return nil, usage(fmt.Errorf("--parallel %d: at least one scenario must run at a time", f.parallel))
	}
	if f.exec != "" {
		f.settings.Subject = strings.Fields(f.exec)[0]
	} else if err := checkSubject(f.settings.Subject); err != nil {
		return nil, err
	}
	if f.redis == "" {
		f.redis = m.Getenv("RECOUNT_REDIS")
	}
	if !f.seeded {
		f.settings.Seed = rand.Uint64N(1 << 32)
	}
	f.settings.Flags = f.repro()
	for _, s := range list {
		if _, err := s.Plan(f.settings); err != nil {
			return nil, usage(err)
		}
	}
	return list, nil
}

// command is the candidates' command, nil for the elector inside this program.
func (f *runFlags) command() []string {
	if f.exec == "" {
		return nil
	}
	return []string{"sh", "-c", "exec " + f.exec}
}

// repro are the flags that repeat a run of one scenario.
func (f *runFlags) repro() string {
	var flags []string
	add := func(when bool, format string, args ...any) {
		if when {
			flags = append(flags, fmt.Sprintf(format, args...))
		}
	}
	add(f.exec == "", "--subject %s", f.settings.Subject)
	add(f.exec != "", "--exec '%s'", strings.ReplaceAll(f.exec, "'", `'\''`))
	add(f.redis != "", "--redis %s", reports.Redact(f.redis))
	add(f.toxiproxy != "", "--toxiproxy %s", f.toxiproxy)
	add(true, "--seed %d", f.settings.Seed)
	add(true, "--lease %v", f.settings.Timings().Lease)
	add(f.settings.Renew > 0, "--renew %v", f.settings.Renew)
	add(f.settings.Retry > 0, "--retry %v", f.settings.Retry)
	add(f.settings.Nodes > 0, "--nodes %d", f.settings.Nodes)
	add(f.settings.Duration > 0, "--duration %v", f.settings.Duration)
	return strings.Join(flags, " ")
}

// admissible leaves out the scenarios that hit the store where the store is
// not the run's own. Asked for by name, they are refused.
func admissible(list []scenarios.Scenario, session *live.Session, named bool, screen *screen) ([]scenarios.Scenario, error) {
	if session.Private() {
		return list, nil
	}
	var admitted []scenarios.Scenario
	var left []string
	for _, s := range list {
		if s.NeedsPrivateStore() {
			left = append(left, s.Name)
		} else {
			admitted = append(admitted, s)
		}
	}
	if named && len(left) > 0 {
		return nil, usage(fmt.Errorf("%s hits the store itself, and only a private one may be hit: use --redis process, docker or embedded for it", left[0]))
	}
	if len(left) > 0 {
		screen.say("Left out, since they hit the store itself: %s", strings.Join(left, ", "))
	}
	return admitted, nil
}

// defaultOutput makes a new folder below the current one: two runs that begin
// in one second get one each.
func defaultOutput() (string, error) {
	const parent = "recount-runs"
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	name := filepath.Join(parent, time.Now().Format("2006-01-02T15-04-05"))
	for n := 2; ; n++ {
		dir := name
		if n > 2 {
			dir = fmt.Sprintf("%s-%d", name, n-1)
		}
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// checkPlatform refuses systems on which the live world does not run.
func checkPlatform() error {
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		return nil
	}
	return usage(fmt.Errorf("the live world runs on Linux and macOS, not on %s", runtime.GOOS))
}

// openOutput makes the folder for the reports and proves that it can be
// written to, before anything is started.
func openOutput(dir string) (*output, error) {
	if err := checkPlatform(); err != nil {
		return nil, err
	}
	var err error
	if dir == "" {
		dir, err = defaultOutput()
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, usage(fmt.Errorf("the reports cannot be written: %w; choose another folder with --out", err))
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return nil, usage(fmt.Errorf("the reports cannot be written: %w; choose another folder with --out", err))
	}
	return &output{dir: dir}, errors.Join(probe.Close(), os.Remove(probe.Name()))
}
