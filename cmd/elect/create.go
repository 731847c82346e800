package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
)

func (m Main) createCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Set up a new election on Redis, so that its first leader need not be waited for",
		Long: `create tells a Redis that an election is new. A Redis that knows nothing of an
election may have forgotten it: without this command the first leader is elected
one lease late, and tokens begin with the server's time rather than with 1. Give
it once, when the election is set up; never where candidates start, which would
defeat the protection against lost data. Give it the candidates' settings of the
store (--replicas and the like): by them they tell which server it is. An
election that is there stays as it is.`,
		Example: "  elect create --name billing --store redis://redis:6379",
		Args:    misuse.NoArguments,
	}
	o := addQuestion(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.ask(cmd, o, func(ctx context.Context, s settings.Settings, store elector.Store) error {
			redis, ok := store.(interface {
				Create(ctx context.Context, election string) (bool, error)
			})
			if !ok {
				return misuse.Of(fmt.Errorf("the store %s has no elections to create: only a single Redis, or one behind Sentinel or in a cluster, needs this", settings.Redact(s.Store...)))
			}
			created, err := redis.Create(ctx, s.Election)
			if err != nil {
				return unanswered(s, err)
			}
			if o.json {
				return printJSON(m.Stdout, map[string]bool{"created": created})
			}
			if created {
				fmt.Fprintf(m.Stdout, "the election %s is set up\n", s.Election)
			} else {
				fmt.Fprintf(m.Stdout, "the election %s was there already\n", s.Election)
			}
			return nil
		})
	}
	return cmd
}
