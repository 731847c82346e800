package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
	"github.com/recount-io/recount/elector/store"
)

// evictAnswer is what elect evict --json prints.
type evictAnswer struct {
	Election string       `json:"election"`
	Evicted  *leaderEntry `json:"evicted"` // null if nobody leads
}

func (m Main) evictCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "evict",
		Short: "Take the lease away from the candidate that leads",
		Long: `evict takes the lease away from the candidate that leads. It needs the rights of the
store only: the candidate need not be reached. The store refuses its next renewal, and
its job is killed then. Until the lease would have ended nobody else is elected, because
the candidate may believe in the lease until then. It competes again afterwards, so
stop it if it must not lead.

Where the candidate can be reached, elect transfer, or SIGTERM to its elect, lets the
job end in peace. With several stores, give evict once for each of them. It ends with 1
if nobody leads.`,
		Example: "  elect evict --store redis://db --name billing --token 41",
		Args:    usage.NoArguments,
	}
	o := addQuestion(cmd, writing...)
	token := cmd.Flags().Uint64("token", 0, "of the term that is to end, as elect status tells it (default: whichever there is)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.ask(cmd, o, func(ctx context.Context, s settings.Settings, st elector.Store) error {
			keeper, ok := st.(interface {
				Evict(ctx context.Context, election string, token uint64) (elector.Leader, error)
			})
			if !ok {
				return usage.Of(fmt.Errorf("the store %s cannot evict; with several stores, give elect evict once for each of them", settings.Redact(s.Store...)))
			}
			l, err := keeper.Evict(ctx, s.Election, *token)
			held := new(elector.HeldError)
			switch {
			case errors.Is(err, store.ErrNotHeld):
				l = elector.Leader{}
			case errors.As(err, &held):
				return usage.Of(fmt.Errorf("nobody was evicted: the lease is that of %q, with token %d, and not with --token %d; elect status tells who leads", held.Holder, held.Token, *token))
			case err != nil:
				return unanswered(s, err)
			}
			return m.printEvicted(evictAnswer{s.Election, entryOf(l)}, o.json)
		})
	}
	return cmd
}

func (m Main) printEvicted(a evictAnswer, asJSON bool) (err error) {
	switch {
	case asJSON:
		err = printJSON(m.Stdout, a)
	case a.Evicted == nil:
		_, err = fmt.Fprintf(m.Stdout, "%s: nobody leads\n", a.Election)
	default:
		_, err = fmt.Fprintf(m.Stdout, "%s: %s is evicted, token %d; nobody else is elected for another %v\n",
			a.Election, a.Evicted.ID, a.Evicted.Token, millis(a.Evicted.RemainingMS))
	}
	if err == nil && a.Evicted == nil {
		err = exit(statusNo)
	}
	return err
}
