package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
)

// Run runs the command with these arguments and returns its exit status.
func (m Main) Run(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal stops the run and heals; a second one must end the
	// program even if that hangs.
	context.AfterFunc(ctx, stop)

	root := m.command()
	root.SetArgs(args)
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	err := root.ExecuteContext(ctx)
	if text := explain(err); text != "" {
		fmt.Fprintln(m.Stderr, "chaos: "+text)
	}
	return status(err)
}

func (m Main) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "chaos",
		Short: "Run elections under faults, check them, and report how long failovers take",
		Long: `chaos runs candidates of a leader elector against a real Redis, each behind a
proxy of its own; injects partitions, latency, pauses, clock skew and crashes;
records everything; decides from the record which promises the election kept;
and reports how long failovers took.`,
		Example: `  chaos run                               the standard suite, about a minute
  chaos run crash-leader pause-leader     two scenarios
  chaos list                              what there is
  chaos fuzz                              random schedules in virtual time
  chaos worst failover                    the longest failover that a search finds
  chaos explore                           every schedule of small worlds
  chaos calibrate                         the virtual world compared with the live one
  chaos trial                             every subject against every scenario
  chaos failover                          how long failovers take, and whether longer than before
  chaos tune --rtt 2ms                     the lease that fits a network
  chaos soak                              a thousand elections for an hour
  chaos merge campaign                    what the shards of a campaign came to
  chaos acl                               the rights that a Redis user needs
  chaos clean                             what runs have left in a Redis
  chaos check recount-runs/*/history.jsonl   judge recorded histories again`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage.UnknownCommand(""),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(usage.Flag)
	root.AddCommand(m.runCommand(), m.calibrateCommand(), m.listCommand(), m.checkCommand(), m.reportCommand(), m.fuzzCommand(), m.replayCommand(), m.exploreCommand(), m.trialCommand(), m.failoverCommand(), m.tuneCommand(), m.mergeCommand(), m.aclCommand(), m.cleanCommand(), m.schemaCommand(), m.soakCommand(), m.worstCommand(), m.mutantsCommand())
	return root
}

// someArguments refuses a call without arguments.
func someArguments(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usage.Of(fmt.Errorf("%s needs %s: see \"%s --help\"", cmd.CommandPath(), what, cmd.CommandPath()))
	}
}
