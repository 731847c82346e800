package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/sim/live/inspection"
)

// aclFlags are the flags of chaos acl.
type aclFlags struct {
	user, prefix string
	own          bool
}

func (m Main) aclCommand() *cobra.Command {
	var f aclFlags
	cmd := &cobra.Command{
		Use:   "acl",
		Short: "Print the ACL rule for the user of a Redis that others use",
		Long: `Acl prints the command that makes a user of Redis with the rights that runs need,
and no others: the keys and channels of runs, and the commands that the harness
and the electors inside this program send. PASSWORD stands for its password. It
reaches no Redis. "&", which begins the channels, wants Redis 6.2; leave the
word out before.

A command under --exec may send others: add them.`,
		Example: `  chaos acl
  chaos acl --user chaos --prefix staging-tests:
  redis-cli -h staging $(chaos acl | sed s/PASSWORD/$(cat password)/)`,
		Args: usage.NoArguments,
		RunE: func(*cobra.Command, []string) error { return m.acl(f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "recount", "the user's name")
	flags.StringVar(&f.prefix, "prefix", inspection.DefaultPrefix, "prefix of every key of the runs")
	flags.BoolVar(&f.own, "own-this-redis", false, "with the rights for faults on the server itself: every key, CONFIG SET and SCRIPT FLUSH")
	return cmd
}

// acl is chaos acl.
func (m Main) acl(f aclFlags) error {
	for _, word := range []struct{ flag, value string }{{"user", f.user}, {"prefix", f.prefix}} {
		if word.value == "" || strings.ContainsAny(word.value, " \t\r\n\"'") {
			return usage.Of(fmt.Errorf("--%s is %q: a rule has no room for blanks and quotes in it, and none may be empty", word.flag, word.value))
		}
	}
	_, err := fmt.Fprintln(m.Stdout, inspection.Rule(f.user, f.prefix, f.own))
	return err
}
