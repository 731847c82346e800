package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios/written"
)

// schemas are the files that have a JSON Schema, by the names that chaos schema takes.
var schemas = map[string]func() []byte{"report": reports.Schema, "scenario": written.Schema}

func (m Main) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema FILE",
		Short: "Print the JSON Schema of a file that chaos writes or reads",
		Long: `Schema prints a JSON Schema (draft 2020-12). "report" is that of report.json as this
program writes it; a later one may add fields. "scenario" is that of a scenario of one's
own, for an editor: chaos run checks more, and says what to do.`,
		Example: "  chaos schema report > report.schema.json\n  chaos schema scenario > scenario.schema.json",
		Args:    someArguments("the name of a file: " + strings.Join(slices.Sorted(maps.Keys(schemas)), ", ")),
		RunE: func(cmd *cobra.Command, names []string) error {
			schema, known := schemas[names[0]]
			if !known || len(names) > 1 {
				return usage.Of(fmt.Errorf("no schema is called %q: give one of %s", strings.Join(names, " "), strings.Join(slices.Sorted(maps.Keys(schemas)), ", ")))
			}
			_, err := cmd.OutOrStdout().Write(schema())
			return err
		},
	}
}
