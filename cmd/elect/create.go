package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
)

func (m Main) createCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a Redis know of an election before its candidates start",
		Long: `create makes a Redis know of an election. A Redis that has been up for less than a
lease, or lost its data since, may have forgotten a lease, so it grants none for that
long. The time begins with the first call: give create a lease before the candidates
start, and the first leader need not wait. It may be given again, at any time: it
never makes the server grant a lease sooner.

--vouch spares the wait: you say that no candidate of any election of this prefix runs
or has run for as long as a lease lasts (in a cluster: of this election). Give it by
hand, on a Redis that is new. If it is not true, two candidates may lead at one time;
so never give it in a hook or where candidates start.`,
		Example: "  elect create --name billing --store redis://redis:6379",
		Args:    usage.NoArguments,
	}
	o := addQuestion(cmd)
	vouch := cmd.Flags().Bool("vouch", false, "say that no candidate runs, so that the first leader need not wait")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.ask(cmd, o, func(ctx context.Context, s settings.Settings, store elector.Store) error {
			redis, ok := store.(interface {
				Create(ctx context.Context, election string) (bool, error)
				Vouch(ctx context.Context, election string) error
			})
			if !ok {
				return usage.Of(fmt.Errorf("the store %s has no elections to create: only a single Redis, or one behind Sentinel or in a cluster, needs this", settings.Redact(s.Store...)))
			}
			created, err := redis.Create(ctx, s.Election)
			if err != nil {
				return unanswered(s, err)
			}
			if *vouch {
				if err := redis.Vouch(ctx, s.Election); err != nil {
					return unanswered(s, err)
				}
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
