package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
	"github.com/recount-io/recount/elector/store"
)

// termEntry is one line of elect history --json.
type termEntry struct {
	ID    string     `json:"id"`
	Token uint64     `json:"token,string"`
	Began time.Time  `json:"began"`
	Ended *time.Time `json:"ended"` // null if it goes on, or was never released
}

func (m Main) historyCommand() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the last terms of the election",
		Long: `history lists the terms that the store remembers, the latest first, with their
times by the store's clock. A term without an end goes on, or was never
released: its candidate crashed or was cut off.`,
		Example: "  elect history --store redis://db --name billing --terms 5",
		Args:    usage.NoArguments,
	}
	o := addQuestion(cmd, writing...)
	cmd.Flags().IntVarP(&n, "terms", "n", 10, "how many terms at most")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if n < 1 {
			return usage.Of(fmt.Errorf("--terms is %d; it must be 1 or more", n))
		}
		return m.ask(cmd, o, func(ctx context.Context, s settings.Settings, st elector.Store) error {
			terms, ok := st.(store.TermLister)
			if !ok {
				return usage.Of(fmt.Errorf("the store %s does not keep past terms", settings.Redact(s.Store...)))
			}
			list, err := terms.History(ctx, s.Election, n)
			if err != nil {
				return unanswered(s, err)
			}
			return m.printHistory(s.Election, list, o.json)
		})
	}
	return cmd
}

func (m Main) printHistory(election string, list []store.PastTerm, asJSON bool) error {
	entries := []termEntry{}
	for _, t := range list {
		e := termEntry{ID: t.ID, Token: t.Token, Began: t.Began}
		if !t.Ended.IsZero() {
			e.Ended = &t.Ended
		}
		entries = append(entries, e)
	}
	if asJSON {
		return printJSON(m.Stdout, entries)
	}
	if len(entries) == 0 {
		fmt.Fprintf(m.Stdout, "%s: no term is known\n", election)
	}
	for _, e := range entries {
		e.print(m.Stdout)
	}
	return nil
}

func (e termEntry) print(w io.Writer) {
	end := "goes on, or was never released"
	if e.Ended != nil {
		end = "lasted " + e.Ended.Sub(e.Began).Round(time.Millisecond).String()
	}
	fmt.Fprintf(w, "%s  token %d  %s  %s\n", e.Began.Format(time.RFC3339), e.Token, e.ID, end)
}
