package fuzz

import (
	"context"
	"slices"
	"time"

	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Reduce returns a case that breaks c.Failed.Promise as c does, and has less of
// everything, found within the limit or so; ok is false if c itself does not
// break it. A limit of 0 is one of runs, and not of time: what comes of it is
// the same on every machine then. Unlike a case that was drawn, c was told what to ask for: that stays
// as it is, so nothing is tried that could make more of a fault than c has.
func Reduce(ctx context.Context, c Case, limit time.Duration, subjects map[string]virtual.Subject) (reduced Case, ok bool) {
	if c.Network == (sim.Network{}) {
		c.Network = sim.DefaultNetwork()
	}
	if c.Observes == 0 {
		c.Observes = c.Plan().Asks()
	}
	w := newWatcher(subjects)
	w.promise = c.Failed.Promise
	s := &shrinker{ctx: ctx, watcher: w, promise: c.Failed.Promise, asked: true, limit: patience{until: time.Now().Add(limit)}}
	if limit == 0 {
		s.limit = patience{runs: shrinkRuns}
	}
	c.Schedule = c.Schedule.Sorted()
	if c.Validate() != nil || !s.keeps(&c) {
		return c, false
	}
	if !s.single() {
		s.drop()
	}
	for s.lesser() {
	}
	return s.best, true
}

// lesser makes the best case smaller in every way that makes no more of a
// fault, once, and reports whether there is reason to try again.
func (s *shrinker) lesser() bool {
	better := s.single() || s.drop()
	for _, change := range lesserChanges {
		c := s.best
		c.Schedule = slices.Clone(c.Schedule)
		if change(&c) {
			better = s.tries(func(c *Case) { change(c) }) || better
		}
	}
	if len(s.best.Schedule) == 1 { // several would come closer to each other
		better = s.lesserStep() || better
	}
	return better && !s.late()
}

// lesserStep makes the only step shorter, and its times rounder.
func (s *shrinker) lesserStep() (better bool) {
	for _, unit := range units {
		step := s.best.Schedule[0]
		change(&step.At, step.At.Truncate(unit))
		if step != s.best.Schedule[0] {
			better = s.tries(func(c *Case) { c.Schedule[0] = step }) || better
		}
		step = s.best.Schedule[0]
		change(&step.For, max(step.For.Truncate(unit), time.Millisecond))
		if step != s.best.Schedule[0] && !step.Fault.Effect().Instant {
			better = s.tries(func(c *Case) { c.Schedule[0] = step }) || better
		}
	}
	return better
}

// lesserChanges make a case smaller, and report whether they changed anything.
var lesserChanges = []func(*Case) bool{
	func(c *Case) bool { return change(&c.Nodes, min(c.Nodes, 2)) },
	func(c *Case) bool { return change(&c.Nodes, min(c.Nodes, 3)) },
	func(c *Case) bool { return change(&c.Nodes, c.Nodes-1) },
	func(c *Case) bool { return change(&c.Writes, max(c.Writes, c.Timings.Lease/10)) },
	func(c *Case) bool { return change(&c.Observes, max(c.Observes, c.Timings.Lease/2)) },
	func(c *Case) bool { return change(&c.Quiet, min(c.Quiet, c.Timings.Lease/4)) },
	func(c *Case) bool { return change(&c.Quiet, min(c.Quiet, c.Timings.Lease)) },
	func(c *Case) bool { return change(&c.Quiet, c.Quiet/2) },
	func(c *Case) bool { return change(&c.Seed, 1) },
	func(c *Case) bool { return earlier(c, c.Timings.Lease) },
	func(c *Case) bool { return earlier(c, c.Timings.Lease/4) },
}
