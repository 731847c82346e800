package fuzz

import (
	"context"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// shrink returns a case that breaks the same promise as c and has less of
// everything. First steps are taken off as a whole, then rapid makes smaller
// what was drawn, and what is left is made plainer. It is c itself if nothing
// smaller was found.
func shrink(ctx context.Context, c Case, seed uint64, cases *rapid.Generator[Case], limit patience, w *watcher) Case {
	s := &shrinker{ctx: ctx, watcher: w, promise: c.Failed.Promise, best: c, limit: limit}
	s.best.Schedule = s.best.Schedule.Sorted()
	if !s.single() {
		s.drop()
	}
	if dropped := s.best; len(dropped.Schedule) > 1 {
		s.best = c
		s.shrinkDraws(cases, seed)
		if s.single(); len(dropped.Schedule) < len(s.best.Schedule) {
			s.best = dropped
		}
	}
	for s.plainer() {
	}
	return s.best
}

// shrinker looks for smaller cases that break one promise.
type shrinker struct {
	ctx     context.Context
	watcher *watcher
	promise checker.Promise
	asked   bool // what the case asks for is given, and not judged from its schedule: see Reduce
	best    Case
	made    int // runs
	limit   patience
}

// patience says when to go on no longer: after so many runs, which is the same on
// every machine, or, if runs is 0, at a time.
type patience struct {
	until time.Time
	runs  int
}

// shrinkRuns is how many runs shrinking one failure of a campaign may take. What is
// left with one fault mostly takes some ten; what is not, more than a third.
const shrinkRuns = 6_000

// over reports whether patience is exhausted after so many runs.
func (p patience) over(made int) bool {
	if p.runs > 0 {
		return made >= p.runs
	}
	return time.Now().After(p.until)
}

// third is a third of what is left of it.
func (p patience) third(made int) patience {
	if p.runs > 0 {
		return patience{runs: made + (p.runs-made)/3}
	}
	return patience{until: time.Now().Add(time.Until(p.until) / 3)}
}

func (s *shrinker) late() bool { return s.ctx.Err() != nil || s.limit.over(s.made) }

// shrinkDraws lets rapid make smaller what was drawn, for a third of what is left
// of the patience.
func (s *shrinker) shrinkDraws(cases *rapid.Generator[Case], seed uint64) {
	whole := s.limit
	s.limit = whole.third(s.made)
	shrinkDraws(cases, seed, s.keeps, s.late)
	s.limit = whole
}

// keeps reports whether the case breaks the promise, and makes it the best one
// if so.
func (s *shrinker) keeps(c *Case) bool {
	if s.late() {
		return false
	}
	s.made++
	failed, broken, _, _, err := s.watcher.run(s.ctx, c)
	if err != nil || !broken || failed.Promise != s.promise {
		return false
	}
	s.best = *c
	s.best.Failed = failed
	return true
}

// tries reports whether the best case still breaks the promise when it is
// changed so.
func (s *shrinker) tries(change func(*Case)) bool {
	c := s.best
	c.Schedule = slices.Clone(c.Schedule)
	change(&c)
	if !s.asked {
		c.Judge()
	} else if c.Validate() != nil {
		return false
	}
	return s.keeps(&c)
}

// single looks for one step that is enough alone, perhaps if it lasts longer
// than it did: two that follow each other are often one.
func (s *shrinker) single() bool {
	if len(s.best.Schedule) < 2 {
		return false
	}
	for _, length := range []time.Duration{0, 2 * s.best.Timings.Lease} {
		for _, step := range s.best.Schedule {
			if length > 0 && (s.asked || step.Fault.Effect().Instant) {
				continue
			}
			step.For = max(step.For, length)
			if s.tries(func(c *Case) { c.Schedule = faults.Schedule{step} }) {
				return true
			}
		}
	}
	return false
}

// drop takes off steps, many at a time and then one by one, as long as it
// still fails.
func (s *shrinker) drop() bool {
	before := len(s.best.Schedule)
	for n := max(before/2, 1); n > 0; n /= 2 {
		for i := 0; i+n <= len(s.best.Schedule) && !s.late(); {
			if !s.tries(func(c *Case) { c.Schedule = slices.Delete(c.Schedule, i, i+n) }) {
				i += n
			}
		}
	}
	return len(s.best.Schedule) < before
}

// plainer makes the best case plainer in every way that it knows, once, and
// reports whether there is reason to try again.
func (s *shrinker) plainer() bool {
	better := s.drop() || s.single()
	for _, change := range plainChanges {
		c := s.best
		c.Schedule = slices.Clone(c.Schedule)
		if !change(&c) || !sensible(&c) {
			continue
		}
		better = s.tries(func(c *Case) { change(c) }) || better
	}
	for i := range s.best.Schedule {
		better = s.plainerStep(i) || better
	}
	return better && !s.late()
}

// plainerStep makes the i-th step plainer.
func (s *shrinker) plainerStep(i int) (better bool) {
	for _, unit := range units {
		for _, change := range stepChanges {
			step := s.best.Schedule[i]
			if !change(&s.best, &step, unit) || step == s.best.Schedule[i] {
				continue
			}
			better = s.tries(func(c *Case) { c.Schedule[i] = step }) || better
		}
	}
	return better
}

// plainChanges make something about a case plainer, and report whether they
// changed anything.
var plainChanges = []func(*Case) bool{
	func(c *Case) bool { return change(&c.Network, sim.DefaultNetwork()) },
	func(c *Case) bool { return change(&c.Nodes, min(c.Nodes, 2)) },
	func(c *Case) bool { return change(&c.Nodes, min(c.Nodes, 3)) },
	func(c *Case) bool { return change(&c.Nodes, c.Nodes-1) },
	func(c *Case) bool { return change(&c.Drift, 0.01) },
	func(c *Case) bool { return change(&c.Timings.Renew, c.Timings.Lease/3) },
	func(c *Case) bool { return change(&c.Timings.Retry, c.Timings.Renew/5) },
	func(c *Case) bool { return change(&c.Writes, c.Timings.Lease/10) },
	func(c *Case) bool { return change(&c.Observes, c.Timings.Lease/2) },
	func(c *Case) bool { return change(&c.Behavior, Behavior{}) },
	func(c *Case) bool { return change(&c.Tokens, 0) },
	func(c *Case) bool { return change(&c.LongLease, 0) },
	func(c *Case) bool { return change(&c.HandsOver, false) },
	func(c *Case) bool { return change(&c.Seed, 1) },
	func(c *Case) bool { return earlier(c, c.Timings.Lease) },
	func(c *Case) bool { return earlier(c, c.Timings.Lease/4) },
}

func change[T comparable](field *T, to T) bool {
	if *field == to {
		return false
	}
	*field = to
	return true
}

// earlier moves the whole schedule.
func earlier(c *Case, by time.Duration) bool {
	if len(c.Schedule) == 0 || c.Schedule[0].At < by {
		return false
	}
	for i := range c.Schedule {
		c.Schedule[i].At -= by
	}
	return true
}

// sensible reports whether the timings are such that elector.Config accepts
// them.
func sensible(c *Case) bool {
	t := c.Timings
	return c.Nodes > 0 && t.Validate() == nil && t.Renew+requestTimeout(t)+t.Retry <= usable(t.Lease, c.Drift)
}

// units are what times are rounded to, the roundest first.
var units = []time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond}

// stepChanges make something about a step plainer.
var stepChanges = []func(c *Case, step *faults.Step, unit time.Duration) bool{
	func(_ *Case, step *faults.Step, unit time.Duration) bool {
		return change(&step.At, step.At.Truncate(unit))
	},
	func(_ *Case, step *faults.Step, unit time.Duration) bool {
		return change(&step.At, roundUp(step.At, unit))
	},
	func(_ *Case, step *faults.Step, unit time.Duration) bool {
		return change(&step.For, max(step.For.Truncate(unit), time.Millisecond)) && !step.Fault.Effect().Instant
	},
	func(_ *Case, step *faults.Step, unit time.Duration) bool {
		return change(&step.For, roundUp(step.For, unit)) && !step.Fault.Effect().Instant
	},
	func(_ *Case, step *faults.Step, _ time.Duration) bool {
		return step.Target != faults.Store && change(&step.Target, faults.Leader)
	},
}
