package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/scenarios"
)

// listing is what chaos list --json prints.
type listing struct {
	Scenarios []scenarioEntry `json:"scenarios"`
	Faults    []entry         `json:"faults"`
	Subjects  []entry         `json:"subjects"`
	Promises  []entry         `json:"promises"`
	Worlds    []entry         `json:"worlds"`
}

type entry struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

type scenarioEntry struct {
	entry
	Breaks       string            `json:"breaks"`
	Beyond       string            `json:"beyond,omitempty"`
	Faults       []string          `json:"faults"`
	Waived       map[string]string `json:"waived,omitempty"`
	PrivateStore bool              `json:"needs_private_store"`
	Standard     bool              `json:"standard"`
}

func (m Main) listCommand() *cobra.Command {
	var asJSON bool
	var asYAML string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List scenarios, faults, subjects, promises and worlds",
		Example: "  chaos list\n  chaos list --json | jq -r '.scenarios[].name'\n  chaos list --yaml crash-leader > my.yaml",
		Args:    usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("yaml") {
				return printYAML(cmd.OutOrStdout(), asYAML)
			}
			all := inventory()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
			}
			all.print(cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&asYAML, "yaml", "", "print the scenario of this name as a file that \"chaos run FILE\" takes, to start one of your own from")
	return cmd
}

func inventory() listing {
	var l listing
	for _, s := range scenarios.Every() {
		var waived map[string]string
		if plan, err := s.Plan(scenarios.Settings{}); err == nil {
			waived = plan.Waived
		}
		l.Scenarios = append(l.Scenarios, scenarioEntry{
			entry: entry{s.Name, s.Summary}, Breaks: s.Breaks, Beyond: s.Beyond, Faults: s.Faults(),
			Waived: waived, PrivateStore: s.NeedsPrivateStore(), Standard: !s.Long,
		})
	}
	for _, f := range faults.Catalogue() {
		l.Faults = append(l.Faults, entry{f.Name(), f.Effect().Summary})
	}
	for _, s := range subjects() {
		l.Subjects = append(l.Subjects, entry{s.name, s.summary})
	}
	for _, p := range checker.Promises {
		l.Promises = append(l.Promises, entry{string(p), checker.InWords(p).Kept})
	}
	l.Worlds = worlds()
	return l
}

func (l listing) print(w io.Writer) {
	fmt.Fprintln(w, "Scenarios (those marked * hit the store and need a private one)")
	for _, s := range l.Scenarios {
		mark := " "
		if s.PrivateStore {
			mark = "*"
		}
		printEntry(w, mark+" "+s.Name, s.Summary)
	}
	for _, section := range []struct {
		title   string
		entries []entry
	}{{"Faults", l.Faults}, {"Subjects", l.Subjects}, {"Promises", l.Promises}, {"Worlds", l.Worlds}} {
		fmt.Fprintln(w, "\n"+section.title)
		for _, e := range section.entries {
			printEntry(w, "  "+e.Name, e.Summary)
		}
	}
}

// printEntry prints a name and its line, wrapped to 80 columns.
func printEntry(w io.Writer, name, summary string) {
	const indent, width = 23, 80
	line := fmt.Sprintf("%-*s", indent, name)
	for _, word := range strings.Fields(summary) {
		if len(line)+1+len(word) > width {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", indent)
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
