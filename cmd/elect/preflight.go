package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
	"github.com/recount-io/recount/elector/store"
)

// preflightAnswer is what elect preflight --json prints.
type preflightAnswer struct {
	Guarantee string         `json:"guarantee"`
	Worst     string         `json:"worst"` // empty if nothing was found
	Findings  []findingEntry `json:"findings"`
}

type findingEntry struct {
	Severity string `json:"severity"` // note, warning or error
	Subject  string `json:"subject"`
	Text     string `json:"text"`
	Fix      string `json:"fix,omitempty"`
}

func (m Main) preflightCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Say what elections are worth on this store, before they are held",
		Long: `preflight reads the settings of the store's servers, runs the store's scripts on
an election of its own, and says in words what is guaranteed on these servers, what
weakens that, and what to do about it. It leaves nothing behind. Give it the settings that the candidates have, --replicas,
--fsynced and --unprotected too: the answer depends on them. It ends with 1 if
elections would fail or not be safe.`,
		Example: "  elect preflight --store redis://db",
		Args:    usage.NoArguments,
	}
	o := addQuestion(cmd, "name")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.ask(cmd, o, func(ctx context.Context, s settings.Settings, st elector.Store) error {
			preflighter, ok := st.(store.Preflighter)
			if !ok {
				return usage.Of(fmt.Errorf("the store %s cannot be inspected", settings.Redact(s.Store...)))
			}
			found, err := preflighter.Preflight(ctx)
			if err != nil {
				return unanswered(s, err)
			}
			return m.printPreflight(found, o.json)
		})
	}
	return cmd
}

func (m Main) printPreflight(found store.Preflight, asJSON bool) error {
	a := preflightAnswer{Guarantee: found.Guarantee, Worst: string(found.Worst()), Findings: []findingEntry{}}
	for _, f := range found.Findings {
		a.Findings = append(a.Findings, findingEntry{string(f.Severity), f.Subject, f.Text, f.Fix})
	}
	var err error
	if asJSON {
		err = printJSON(m.Stdout, a)
	} else {
		a.print(m.Stdout)
	}
	if err == nil && found.Worst() == store.SeverityError {
		err = exit(statusNo)
	}
	return err
}

func (a preflightAnswer) print(w io.Writer) {
	fmt.Fprintln(w, a.Guarantee)
	for _, f := range a.Findings {
		fmt.Fprintf(w, "\n%s: %s\n  %s\n", f.Severity, f.Subject, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(w, "  to do: %s\n", f.Fix)
		}
	}
}
