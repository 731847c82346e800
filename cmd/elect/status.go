package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
	"github.com/recount-io/recount/elector/store"
)

// statusAnswer is what elect status --json prints.
type statusAnswer struct {
	Election   string            `json:"election"`
	Leader     *leaderEntry      `json:"leader"`               // null if nobody leads
	Candidates *[]candidateEntry `json:"candidates,omitempty"` // missing if the store does not keep them
}

type leaderEntry struct {
	ID          string `json:"id"`
	Token       uint64 `json:"token,string"`
	RemainingMS int64  `json:"remaining_ms"`
	Value       string `json:"value,omitempty"` // that it publishes
}

type candidateEntry struct {
	ID       string `json:"id"`
	Priority int    `json:"priority"`
	SeenMS   int64  `json:"seen_ms"` // how long ago the store heard of it
}

func entryOf(l elector.Leader) *leaderEntry {
	if l.ID == "" {
		return nil
	}
	return &leaderEntry{l.ID, l.Token, l.Remaining.Milliseconds(), l.Value}
}

// shows is what the leader publishes, in words.
func (l *leaderEntry) shows() string {
	if l.Value == "" {
		return ""
	}
	return fmt.Sprintf(", and publishes %q", l.Value)
}

func (m Main) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell who leads, and who competes",
		Long: `status asks the store who leads the election, for how long the lease lasts unless
it is renewed, what the leader publishes (--value), and who competes, as far as the store keeps that. It ends with 0
if somebody leads, and with 1 if nobody does.`,
		Example: "  elect status --store redis://db --name billing\n  elect status --name billing --json | jq -r .leader.id",
		Args:    usage.NoArguments,
	}
	o := addQuestion(cmd, writing...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.ask(cmd, o, func(ctx context.Context, s settings.Settings, store elector.Store) error {
			answer, err := lookUp(ctx, s, store)
			if err != nil {
				return unanswered(s, err)
			}
			if o.json {
				err = printJSON(m.Stdout, answer)
			} else {
				answer.print(m.Stdout)
			}
			if err == nil && answer.Leader == nil {
				err = exit(statusNo)
			}
			return err
		})
	}
	return cmd
}

func lookUp(ctx context.Context, s settings.Settings, st elector.Store) (statusAnswer, error) {
	l, err := st.Leader(ctx, s.Election)
	if err != nil {
		return statusAnswer{}, err
	}
	answer := statusAnswer{Election: s.Election, Leader: entryOf(l)}
	lister, ok := st.(store.CandidateLister)
	if !ok {
		return answer, nil
	}
	list, err := lister.Candidates(ctx, s.Election)
	if err != nil {
		return statusAnswer{}, err
	}
	entries := []candidateEntry{}
	for _, c := range list {
		entries = append(entries, candidateEntry{c.ID, c.Priority, c.Seen.Milliseconds()})
	}
	answer.Candidates = &entries
	return answer, nil
}

func (a statusAnswer) print(w io.Writer) {
	if a.Leader == nil {
		fmt.Fprintf(w, "%s: nobody leads\n", a.Election)
	} else {
		fmt.Fprintf(w, "%s: %s leads, token %d, the lease lasts for another %v%s\n", a.Election, a.Leader.ID, a.Leader.Token, millis(a.Leader.RemainingMS), a.Leader.shows())
	}
	if a.Candidates == nil {
		return
	}
	for _, c := range *a.Candidates {
		fmt.Fprintf(w, "  candidate %s, priority %d, seen %v ago\n", c.ID, c.Priority, millis(c.SeenMS))
	}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// watchAnswer is one line of elect watch --json.
type watchAnswer struct {
	Time     time.Time    `json:"time"`
	Election string       `json:"election"`
	Leader   *leaderEntry `json:"leader"`          // null if nobody leads
	Error    string       `json:"error,omitempty"` // then nobody knows
}

func (m Main) watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Print a line whenever the leader changes",
		Long: `watch prints who leads and what that one publishes, first as it is and then
whenever it changes, until it is interrupted. It does not compete. Very short terms may be missed; elect history
has them all.`,
		Example: "  elect watch --store redis://db --name billing --json",
		Args:    usage.NoArguments,
	}
	o := addQuestion(cmd, writing...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := m.load(o)
		if err != nil {
			return err
		}
		if err := s.Validate(); err != nil {
			return err
		}
		if o.timeout <= 0 {
			return usage.Of(fmt.Errorf("--timeout is %v; it must be above zero, such as 5s", o.timeout))
		}
		store, closer, err := s.Open(cmd.Context())
		if err != nil {
			return usage.Of(err)
		}
		defer func() { _ = closer.Close() }() // all that was to be said was said
		return m.watch(cmd.Context(), o, s, store)
	}
	return cmd
}

// watchRetry is how soon elect watch asks again. It is short beside most leases, because who
// watches a failover wants to see it.
const watchRetry = time.Second / 2

func (m Main) watch(ctx context.Context, o *options, s settings.Settings, store elector.Store) error {
	last := "" // error
	for l, err := range elector.Observe(ctx, store, s.Election, elector.ObserveOptions{RequestTimeout: o.timeout, Retry: watchRetry}) {
		var fatal *elector.FatalError
		if errors.As(err, &fatal) {
			return fatal
		}
		a := watchAnswer{Time: time.Now(), Election: s.Election, Leader: entryOf(l)}
		if err != nil {
			a.Error = unanswered(s, err).Error()
		}
		if a.Error != "" && a.Error == last {
			continue // a store that is away says the same every second
		}
		last = a.Error
		if o.json {
			err = printJSON(m.Stdout, a)
		} else {
			err = a.print(m.Stdout)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a watchAnswer) print(w io.Writer) (err error) {
	at := a.Time.Format(time.RFC3339)
	switch {
	case a.Error != "":
		_, err = fmt.Fprintf(w, "%s %s: %s\n", at, a.Election, a.Error)
	case a.Leader == nil:
		_, err = fmt.Fprintf(w, "%s %s: nobody leads\n", at, a.Election)
	default:
		_, err = fmt.Fprintf(w, "%s %s: %s leads, token %d%s\n", at, a.Election, a.Leader.ID, a.Leader.Token, a.Leader.shows())
	}
	return err
}
