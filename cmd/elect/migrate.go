package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
)

func (m Main) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create the tables in PostgreSQL where they are missing",
		Long: `migrate creates the tables that the elections of PostgreSQL need, where they are
missing, as a role that may do so. Redis needs nothing of the kind.`,
		Example: "  elect migrate --store 'postgres://admin:${PASSWORD}@db/app'",
		Args:    usage.NoArguments,
	}
	o := addQuestion(cmd, append([]string{"name", "prefix"}, writing...)...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.ask(cmd, o, func(ctx context.Context, s settings.Settings, store elector.Store) error {
			tables, ok := store.(interface {
				Migrate(ctx context.Context) error
			})
			if !ok {
				return usage.Of(fmt.Errorf("the store %s has no tables: only PostgreSQL needs this", settings.Redact(s.Store...)))
			}
			if err := tables.Migrate(ctx); err != nil {
				return unanswered(s, err)
			}
			if o.json {
				return printJSON(m.Stdout, map[string]bool{"migrated": true})
			}
			fmt.Fprintln(m.Stdout, "the tables are there")
			return nil
		})
	}
	return cmd
}
