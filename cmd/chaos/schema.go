package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/reports"
)

// schemas are the files that have a JSON Schema, by the names that chaos schema takes.
var schemas = map[string]func() []byte{"report": reports.Schema}

func (m Main) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema FILE",
		Short: "Print the JSON Schema of a file that chaos writes",
		Long: `Schema prints the JSON Schema (draft 2020-12) of a file as this program writes it:
"report" is report.json. A later program may add fields.`,
		Example: "  chaos schema report > report.schema.json",
		Args:    someArguments("the name of a file: " + strings.Join(slices.Sorted(maps.Keys(schemas)), ", ")),
		RunE: func(cmd *cobra.Command, names []string) error {
			schema, known := schemas[names[0]]
			if !known || len(names) > 1 {
				return misuse.Of(fmt.Errorf("no schema is called %q: give one of %s", strings.Join(names, " "), strings.Join(slices.Sorted(maps.Keys(schemas)), ", ")))
			}
			_, err := cmd.OutOrStdout().Write(schema())
			return err
		},
	}
}
