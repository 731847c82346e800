package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/scenarios/soak"
)

func (m Main) soakCommand() *cobra.Command {
	var o soak.Options
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Run a thousand elections under faults for an hour, and see whether anything grows",
		Long: `Soak runs many elections of the production elector on redis-servers of its own, in
real time. It draws faults for each round, judges each election's history in a quiet
moment, and forgets it. It samples the goroutines, descriptors, heap and resident
memory of its processes: what grows without end is a failure, too.

Soak needs redis-server on PATH, and about a processor for a thousand elections.

Exit status: 0 every promise kept and nothing grows; 1 a promise broken, or
something grows; 2 undecided, because nothing was judged; 3 stopped early; 64 wrong
use or bad input; 70 the tool itself failed.`,
		Example: `  chaos soak
  chaos soak --for 3m --elections 200
  chaos soak --leak goroutine --for 10m      see that a leak is found`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("seed") {
				o.Seed = rand.Uint64N(1 << 32)
			}
			return m.soak(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&o.Duration, "for", time.Hour, "how long; it ends with the rounds that are under way then")
	flags.IntVar(&o.Elections, "elections", 1000, "how many elections, in all groups together")
	flags.IntVar(&o.Groups, "groups", 4, "how many groups: each has a redis-server and three candidates' processes")
	flags.DurationVar(&o.Lease, "lease", time.Second, "how long a lease lasts")
	flags.Uint64Var(&o.Seed, "seed", 0, "of every random choice (default: drawn, and printed)")
	flags.StringVar(&o.Folder, "out", "", "folder for the histories of broken promises and for logs (default: recount-runs/TIME)")
	flags.StringVar(&o.Leak, "leak", "", "plant a leak in the candidates, to see that it is found: goroutine or descriptor")
	return cmd
}

// soak is chaos soak.
func (m Main) soak(ctx context.Context, o soak.Options) error {
	switch {
	case o.Duration <= 0:
		return usage.Of(fmt.Errorf("--for %v: give a time above 0", o.Duration))
	case o.Lease < 100*time.Millisecond:
		return usage.Of(fmt.Errorf("--lease %v: give at least 100ms: processes of one machine share its processors", o.Lease))
	case o.Groups < 1 || o.Elections < o.Groups:
		return usage.Of(fmt.Errorf("--elections %d --groups %d: give at least one group, and an election for each", o.Elections, o.Groups))
	case o.Leak != "" && o.Leak != "goroutine" && o.Leak != "descriptor":
		return usage.Of(fmt.Errorf("--leak %s: give goroutine or descriptor", o.Leak))
	}
	if err := checkPlatform(); err != nil {
		return err
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		return usage.Of(errors.New("soak starts servers of its own, and redis-server is not on PATH: install it"))
	}
	out, err := openOutput(o.Folder)
	if err != nil {
		return err
	}
	o.Folder = out.dir
	s := newScreen(m, false)
	s.say("Soaking %d elections for %v, seed %d; what is kept is in %s", o.Elections, o.Duration, o.Seed, out.dir)
	began := time.Now()
	o.Say = func(format string, args ...any) {
		s.say("%6.1f s: "+format, append([]any{time.Since(began).Seconds()}, args...)...)
	}
	redis.SetLogger(soak.Silent{})
	report, err := soak.Run(ctx, o)
	if report == nil {
		return err
	}
	if err := errors.Join(report.Write(s.out), err); err != nil {
		return err
	}
	return judged(soaked(report))
}

// soaked is the verdict on a soak.
func soaked(r *soak.Report) checker.Verdict {
	switch {
	case len(r.Broken) > 0, len(r.Growing()) > 0:
		return checker.Fail
	case r.Summary == nil || r.Summary.Links == 0:
		return checker.Unknown
	default:
		return checker.Pass
	}
}
