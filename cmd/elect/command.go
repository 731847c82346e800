package main

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
)

// Run runs the command with these arguments until ctx is done, and returns its exit
// status.
func (m Main) Run(ctx context.Context, args []string) int {
	m.journal = newJournal(m.Stderr)
	defer m.journal.close()
	root := m.command()
	root.SetArgs(args)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	err := root.ExecuteContext(ctx)
	if text := explain(err); text != "" {
		fmt.Fprintln(m.journal, "elect: "+text)
	}
	return status(err)
}

func (m Main) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "elect",
		Short: "Run a command only on the machine that is elected",
		Long: `elect elects one leader among any number of candidates, with a lease in a store
that they share, and runs a command on the leader only. It ends the command
before the lease can be given to anybody else.`,
		Example: `  elect run --store redis://db --name billing -- ./bill --forever
  elect serve --store redis://db --name billing --http 127.0.0.1:8080
  elect status --store redis://db --name billing`,
		Version:       version(debug.ReadBuildInfo),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(m.runCommand(), m.serveCommand(), m.statusCommand(), m.watchCommand(), m.historyCommand(), m.transferCommand(), m.evictCommand(),
		m.preflightCommand(), m.createCommand(), m.migrateCommand())
	root.Args = usage.UnknownCommand("; a command to run on the leader stands behind \"elect run … --\"")
	root.SetFlagErrorFunc(usage.Flag)
	return root
}

// version is that of the module, as Go has put it into the program.
func version(read func() (*debug.BuildInfo, bool)) string {
	info, ok := read()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
