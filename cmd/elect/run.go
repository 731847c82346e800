package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
)

// runFlags are the flags of run and serve beside the settings.
type runFlags struct {
	*options
	grace   time.Duration
	http    string
	public  bool
	hand    bool
	log     string
	restart string
	atLeast time.Duration
	atMost  time.Duration
	standby bool
	wait    time.Duration
	stop    string
	hooks   hooks
}

func (f *runFlags) add(cmd *cobra.Command, grace string) {
	f.flags.DurationVar(&f.grace, "grace", 0, grace)
	f.flags.StringVar(&f.http, "http", "", "address for /leader, /healthz, /readyz, /status and /metrics, such as 127.0.0.1:8080")
	f.flags.BoolVar(&f.public, "public", false, "with --http: take an address that other machines can reach, such as :8080")
	f.flags.BoolVar(&f.hand, "allow-transfer", false, "with --http: let anybody who reaches the address hand the leadership over (elect transfer)")
	f.flags.StringVar(&f.log, "log", "info", "what is logged to standard error: debug, info, warn or error")
	f.flags.BoolVar(&f.json, "json", false, "log as JSON")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // for completion only
}

// addJob adds the flags that say how the command is run.
func (f *runFlags) addJob() {
	f.flags.StringVar(&f.restart, "restart", "never", "when the command ends by itself, start it again: never, on-failure or always")
	f.flags.DurationVar(&f.atLeast, "at-least", 0, "with --once: nobody else gets the lease for so long, even if the command and elect end sooner")
	f.flags.DurationVar(&f.atMost, "at-most", 0, "with --once: end the command before it has run for longer")
	f.flags.BoolVar(&f.standby, "standby", false, "with --once: wait for the lease if somebody else has it")
	f.flags.DurationVar(&f.wait, "wait", 0, "with --once: give up, with status 70, if it is not known for so long who runs the command, or with --standby if the lease was not free (default: wait for ever)")
	f.flags.StringVar(&f.stop, "stop-signal", "TERM", "the signal that asks the command to end")
	f.flags.StringVar(&f.hooks.elected, "on-elected", "", "command of a shell to run before the command, when a term begins")
	f.flags.StringVar(&f.hooks.lost, "on-lost", "", "command of a shell to run when the command has ended with the term")
	f.flags.DurationVar(&f.hooks.limit, "hook-timeout", 10*time.Second, "after which --on-elected or --on-lost is killed")
}

func (m Main) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [flags] -- command [argument…]",
		Short: "Run a command for as long as this candidate leads",
		Long: `run competes in an election and runs the command while it leads, and at no other
time. The command's processes get SIGTERM (or --stop-signal) when the term is to end: because elect
was asked to stop (then the lease is kept for up to --drain-timeout, until the
command has ended), or because the store does not renew the lease (then --grace
before the end). What is left is killed before the lease ends. If elect itself
is killed, or hangs, a guard process kills the command in its place. When the
candidate is elected again, the command is started again. Repeated SIGTERM is one;
a second SIGINT ends elect and the command at once.

The command gets elect's standard input, unless that is a terminal. Its first
process gets SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH and SIGCONT when elect
does. --on-elected runs before the command in each term, and --on-lost after it.

The command finds ELECT_TOKEN in its environment: the fencing token, larger in
every later term. Send it with every write to what must not be written to by
two, and let that refuse smaller ones. It also finds ELECT_NAME, the election,
and ELECT_CANDIDATE, the whole ID of this candidate.

When the command ends by itself, elect ends with its status (128 and the
signal's number if by a signal), unless --restart says otherwise.

With --once, for cron: the leader runs the command once and ends with
its status; the others end at once with 0. With --at-least the lease is kept for
so long even if the command is done sooner, without anybody waiting, so that a
machine whose clock is late finds it taken. With --at-most a command that is not
done by then is ended, and the lease is given back. With --wait elect gives up,
with status 70, when it is not known for so long whether somebody runs the command.`,
		Example: `  elect run --store redis://db --name billing -- ./bill --forever
  elect run --config /etc/elect.yaml --restart on-failure --http 127.0.0.1:8080 -- ./bill
  elect run --store redis://db --name nightly --once --at-least 5m --at-most 1h -- ./report`,
	}
	f := &runFlags{options: addOptions(cmd)}
	f.add(cmd, "from SIGTERM to SIGKILL when the lease runs out (default: a fifth of it)")
	f.addJob()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage.Of(fmt.Errorf("no command is given: write it behind two dashes, as in elect run --name billing -- ./bill --forever"))
		}
		if at := cmd.ArgsLenAtDash(); at > 0 {
			return usage.Of(fmt.Errorf("%q stands before the two dashes, where only flags may stand", args[:at]))
		}
		return m.run(cmd.Context(), f, args)
	}
	cmd.Flags().SetInterspersed(false) // the command's flags are its own, with or without dashes before it
	return cmd
}

func (m Main) run(ctx context.Context, f *runFlags, args []string) error {
	outliveReaders()
	c, err := m.candidacy(f)
	if err != nil {
		return err
	}
	restart, err := policyOf(f.restart)
	ends, err2 := stopSignal(f.stop)
	if err := cmp.Or(err, err2, f.hooks.validate()); err != nil {
		return usage.Of(err)
	}
	if err := f.judgeOnce(c, restart); err != nil {
		return usage.Of(err)
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return usage.Of(fmt.Errorf("the command %q cannot be run: %w", args[0], err))
	}
	asked := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l := &leader{
		timing: c.timing, policy: restart, once: c.settings.Once, lock: c.lock, atMost: f.atMost,
		command: command{
			path: path, args: args, env: without(m.Environ, append(c.settings.Variables(), notifySocket)...),
			stdin: m.input(), stdout: m.Stdout, stderr: m.Stderr, stop: ends,
		},
		hooks: f.hooks, terminal: hasTerminal(),
		name: c.settings.Election, candidate: c.elector.ID(),
		clock: elector.SystemClock(), log: c.log, stop: stop,
	}
	defer catch(l.pass)()
	if err := adopt(); err != nil {
		c.log.Warn("orphans of the job cannot be adopted: they may stay as zombies", "error", err)
	}
	if l.command.cgroup, err = makeCgroup(); err != nil {
		c.log.Debug("the job has no control group of its own: it is ended by its process group", "why", err)
	}
	if l.guard, err = startGuard(c.log, l.command.cgroup); err != nil {
		return err
	}
	defer l.guard.close()

	c.work, c.term = l.lead, &l.term
	if l.once && !f.standby {
		c.others = stop // somebody else runs it
	}
	if f.wait > 0 {
		timer := time.AfterFunc(f.wait, l.giveUp)
		defer timer.Stop()
	}
	if err := c.run(ctx, stop); err != nil {
		return err
	}
	return l.result(c, asked.Err() != nil)
}

// input is what the job reads. A process in the background that reads from a terminal is
// stopped, and so would the job be.
func (m Main) input() *os.File {
	if m.Stdin == nil || term.IsTerminal(int(m.Stdin.Fd())) {
		return nil
	}
	return m.Stdin
}

// tooLong is longer than any job: moments that lie so far in the future could not be
// computed with.
const tooLong = 10 * 365 * 24 * time.Hour

// judgeOnce judges the flags that say how a command is run once.
func (f *runFlags) judgeOnce(c *candidacy, restart policy) error {
	asked := c.timing.grace + c.timing.margin
	switch {
	case !c.settings.Once && (f.atLeast != 0 || f.atMost != 0 || f.standby || f.wait != 0):
		return errors.New("--at-least, --at-most, --standby and --wait say how a command is run once; give --once too")
	case c.settings.Once && restart != never:
		return fmt.Errorf("--once runs the command once, and --restart is %s; leave one of them", restart)
	case f.atLeast > tooLong || f.atMost > tooLong:
		return fmt.Errorf("--at-least is %v and --at-most is %v; either may be %v at the most", f.atLeast, f.atMost, tooLong)
	case f.atLeast < 0 || f.atMost < 0:
		return fmt.Errorf("--at-least is %v and --at-most is %v; neither must be negative", f.atLeast, f.atMost)
	case f.wait < 0:
		return fmt.Errorf("--wait is %v; it must not be negative", f.wait)
	case f.atMost != 0 && f.atMost < f.atLeast:
		return fmt.Errorf("--at-least is %v and --at-most is %v; a lease cannot be free before it may be: at-least ≤ at-most", f.atLeast, f.atMost)
	case f.atMost != 0 && f.atMost <= asked:
		return fmt.Errorf("--at-most is %v; the command is asked to end %v before that, so it must be longer: grace + %v < at-most", f.atMost, asked, c.timing.margin)
	}
	return nil
}

// result is how run ends when the candidacy has ended without an error: because
// elect was asked to stop, or not.
func (l *leader) result(c *candidacy, asked bool) error {
	switch state := l.exit.Load(); {
	case state != nil:
		if state.err != nil && state.status == statusFailed {
			return fmt.Errorf("the job cannot be run: %w", state.err)
		}
		return exit(state.status)
	case c.skipped.Load():
		c.log.Info("somebody else runs the command, or ran it a moment ago: nothing is to be done here")
	case l.start.Load() == gaveUp:
		return errors.New("--wait is over: the lease was not granted here, and the command was not run; perhaps it ran nowhere")
	case l.once && asked:
		c.log.Info("stopped before the command was started")
	case l.once && l.term.Load() != nil:
		return errors.New("the term ended before the command could be started: run it again")
	}
	return nil
}

// environment is what a job learns of its term.
func environment(t *elector.Term, l *leader) []string {
	return []string{
		"ELECT_TOKEN=" + strconv.FormatUint(t.Token(), 10),
		"ELECT_NAME=" + l.name,
		"ELECT_CANDIDATE=" + l.candidate,
	}
}

// without leaves out variables of the environment.
func without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(names, name)
	})
}

// prepared are the settings of a candidate, judged.
type prepared struct {
	settings settings.Settings
	timing   timing
}

func (m Main) prepare(f *runFlags) (prepared, error) {
	s, err := m.load(f.options)
	if err != nil {
		return prepared{}, err
	}
	if err := s.Validate(); err != nil {
		return prepared{}, err
	}
	t, err := timingOf(s, f.grace, f.flags.Changed("grace"))
	return prepared{s, t}, usage.Of(err)
}
