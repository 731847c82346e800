package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/live/inspection"
)

// cleanFlags are the flags of chaos clean.
type cleanFlags struct {
	redis  string
	prefix string
	scan   bool
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
	Current bool     `json:"current"`              // the run goes on, or ended a moment ago: the keys stay
}

func (m Main) cleanCommand() *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Show the keys that runs have left in a Redis, and remove them",
		Long: `Clean shows the keys that runs have left in a Redis, and with --yes removes them.

A run removes its own keys. What a run that was killed leaves behind ends by
itself within two minutes, but for keys that another elector wrote in the last
second, or over a connection that could not be read. Clean finds those in the
register that runs keep in the Redis, with a few calls. A run that is not in
the register (of an older version, or killed more than a day ago) is found with
--scan, which goes through the names of all keys of the database, a thousand at
a time. Keys of runs that go on are left alone.`,
		Example: `  chaos clean --redis redis://staging:6379/0
  RECOUNT_REDIS=rediss://user:password@staging:6380/0 chaos clean --yes`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.clean(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.redis, "redis", "", "URL of the Redis (default: $RECOUNT_REDIS)")
	flags.StringVar(&f.prefix, "prefix", inspection.DefaultPrefix, "prefix of every key of the runs")
	flags.BoolVar(&f.scan, "scan", false, "go through the names of all keys, too")
	flags.BoolVar(&f.yes, "yes", false, "remove the keys")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
	return cmd
}

// clean is chaos clean.
func (m Main) clean(ctx context.Context, f cleanFlags) error {
	if f.redis == "" {
		f.redis = m.Getenv("RECOUNT_REDIS")
	}
	if f.prefix == "" {
		return usage.Of(errors.New(noPrefix))
	}
	all, err := live.FindRemains(ctx, f.redis, f.prefix, f.scan)
	if err != nil {
		return err
	}
	c, left := cleaned{Runs: []cleanedRun{}}, []live.Remains{}
	for _, r := range all {
		run := cleanedRun{Run: r.Run, Keys: r.Keys, Current: r.Current}
		if run.Keys == nil {
			run.Keys = []string{}
		}
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
		if c.Removed, err = live.Remove(ctx, f.redis, f.prefix, left); err != nil {
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
		if len(r.Keys) == 0 {
			tell("%s  is in the register only", r.Run)
			continue
		}
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
