package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/sim/live"
)

// cleanFlags are the flags of chaos clean.
type cleanFlags struct {
	redis  string
	prefix string
	yes    bool
	asJSON bool
}

// cleaned is what chaos clean --json prints.
type cleaned struct {
	Runs    []cleanedRun `json:"runs"`
	Removed int          `json:"removed"` // keys
}

type cleanedRun struct {
	Run     string   `json:"run"` // what its keys begin with
	Keys    []string `json:"keys"`
	Expires *float64 `json:"expires_ms,omitempty"` // when the last of them ends; absent: never
	Current bool     `json:"current"`              // the run goes on, or ended within two minutes: the keys stay
}

func (m Main) cleanCommand() *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Show the keys that runs have left in a Redis, and remove them",
		Long: `Clean goes through the names of all keys of the database, a thousand at a time,
and shows those that runs have left there. With --yes it removes them.

A run removes its own keys. What a run that was killed leaves behind ends by
itself within two minutes; what clean is for is of older versions, or was
written by other electors in the second before the run was killed. Keys of runs
that go on are left alone.`,
		Example: `  chaos clean --redis redis://staging:6379/0
  RECOUNT_REDIS=rediss://user:password@staging:6380/0 chaos clean --yes`,
		Args: misuse.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.clean(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.redis, "redis", "", "URL of the Redis (default: $RECOUNT_REDIS)")
	flags.StringVar(&f.prefix, "prefix", "recount:", "prefix of every key of the runs")
	flags.BoolVar(&f.yes, "yes", false, "remove the keys")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
	return cmd
}

// clean is chaos clean.
func (m Main) clean(ctx context.Context, f cleanFlags) error {
	if f.redis == "" {
		f.redis = m.Getenv("RECOUNT_REDIS")
	}
	all, err := live.FindRemains(ctx, f.redis, f.prefix)
	if err != nil {
		return err
	}
	c, left := cleaned{Runs: []cleanedRun{}}, []live.Remains{}
	for _, r := range all {
		run := cleanedRun{Run: r.Run, Keys: r.Keys, Current: r.Current}
		if r.Expires >= 0 {
			ms := float64(r.Expires) / float64(time.Millisecond)
			run.Expires = &ms
		}
		c.Runs = append(c.Runs, run)
		if !r.Current {
			left = append(left, r)
		}
	}
	if f.yes {
		if c.Removed, err = live.Remove(ctx, f.redis, left); err != nil {
			return err
		}
	}
	if f.asJSON {
		return json.NewEncoder(m.Stdout).Encode(c)
	}
	m.tellRemains(c, len(left), f.yes)
	return nil
}

// tellRemains says it to a person.
func (m Main) tellRemains(c cleaned, left int, yes bool) {
	tell := func(format string, args ...any) { fmt.Fprintf(m.Stdout, format+"\n", args...) }
	for _, r := range c.Runs {
		when := "stay"
		if r.Expires != nil {
			when = "end within " + time.Duration(*r.Expires*float64(time.Millisecond)).Round(time.Second).String()
		}
		if r.Current {
			when += ": the run goes on, or ended a moment ago"
		}
		tell("%s  %d keys, which %s", r.Run, len(r.Keys), when)
	}
	switch {
	case left == 0:
		tell("There is nothing to remove.")
	case yes:
		tell("Removed %d keys of %d runs.", c.Removed, left)
	default:
		tell("Nothing was removed. With --yes the keys of %d runs are.", left)
	}
}
