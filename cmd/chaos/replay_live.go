package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/live"
)

// liveReplay is the world with real processes, sockets and Redis.
const liveReplay = "live"

// replayLive repeats the cases on real Redis, each one as often as it takes.
func (m Main) replayLive(ctx context.Context, f replayFlags, s *fuzzScreen, cases []fuzz.Case, files []string) ([]replayed, error) {
	run := f.session()
	demand, err := run.affordCases(cases, files, f.runs)
	if err != nil {
		return nil, err
	}
	session, err := live.Open(ctx, live.Options{
		Redis: f.redis, Prefix: run.prefix, Tapped: tapped, Postgres: onPostgres, Connections: demand.Connections, Limits: f.sparing.limits,
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }() // again, in case of a panic
	if ctx, err = run.spare(ctx, &place{watch: session.Watch}, demand, f.parallel, s.screen); err != nil {
		return nil, err
	}
	var all []replayed
	for i := range cases {
		c := &cases[i]
		if hitsStore(c.Schedule) && !session.Private() {
			return all, usage.Of(fmt.Errorf("%s: it hits the store itself, and only a private one may be hit: use --redis process, docker or embedded for it", files[i]))
		}
		tally, err := c.Repeat(ctx, session, run.parallel, f.runs, func(t fuzz.Tally) {
			s.line("%s: fails %d of %d", files[i], t.Fails, t.Runs)
		})
		if err = errors.Join(live.Harmed(ctx), err); err != nil {
			return all, errors.Join(err, session.Close())
		}
		all = append(all, concludeLive(files[i], &tally))
	}
	what, _ := session.Redis()
	for i := range all {
		all[i].says += " (Redis: " + reports.Redact(what) + ")"
	}
	return all, session.Close()
}

// affordCases is what the runs ask of a Redis that others use, one case after the other,
// each as often as it is run: see runFlags.afford.
func (f *runFlags) affordCases(cases []fuzz.Case, files []string, runs int) (most live.Demand, err error) {
	if !f.shared() {
		return most, nil
	}
	for i := range cases {
		demand, err := f.settle(bill{beside: slices.Repeat([]item{{files[i], live.DemandOf(cases[i].Plan())}}, runs)})
		if err != nil {
			return most, err
		}
		lasts := most.Lasts + demand.Lasts
		most = larger(most, demand)
		most.Lasts = lasts
	}
	return most, nil
}

func hitsStore(s faults.Schedule) bool { return s.NeedsPrivateStore() }

// concludeLive says in one sentence what the runs of a case amount to.
func concludeLive(file string, t *fuzz.Tally) replayed {
	low, high := t.Interval()
	done := replayed{
		File: file, Verdict: checker.Pass, Promise: t.Last.Promise, Reason: t.Last.Reason,
		Runs: t.Runs, Fails: t.Fails, Interval: []float64{low, high},
	}
	if t.Fails > 0 {
		done.Verdict = checker.Fail
	}
	if t.Runs == 0 {
		done.Verdict, done.Reason, done.says = checker.Unknown, errNoRuns.Error(), "undecided: "+errNoRuns.Error()
		return done
	}
	done.says = fmt.Sprintf("fails %d of %d, 95 %% interval %.0f %% to %.0f %%", t.Fails, t.Runs, 100*low, 100*high)
	if t.Fails > 0 {
		done.says += fmt.Sprintf("; %s, the last time: %s", t.Last.Promise, t.Last.Reason)
	}
	if t.Undecided > 0 {
		done.says += fmt.Sprintf("; %d more were undecided", t.Undecided)
	}
	return done
}
