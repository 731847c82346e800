package fuzz

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/sim/virtual"
)

// Options are what a fuzz run does.
type Options struct {
	Seed      uint64
	Schedules int           // how many cases are tried; 0: as many as For allows
	For       time.Duration // how long; 0: as long as Schedules takes
	Workers   int           // how many at once; 0: one for each processor
	Failures  int           // it stops after the batch with so many broken promises; 0: one
	Shrink    time.Duration // how long one failure is shrunk, at the most; 0: DefaultShrink

	// Shard is the part of a campaign of Schedules cases that is run, to its end,
	// whatever is broken on the way: see Run.
	Shard campaign.Shard

	Pins     Pins
	Subjects map[string]virtual.Subject // beside "recount"
	Even     bool                       // coverage does not steer what is drawn
	Texts    bool                       // the scripts' Lua text runs in all schedules, and not in a share of them
	Progress func(Progress)             // told now and then, one call at a time; may be nil

	block int // of a campaign; 0: blockOf(Schedules)
	_     struct{}
}

// DefaultShrink is how long rapid may shrink one failure.
const DefaultShrink = 4 * time.Second

// batch is how many cases are drawn from one snapshot of the weights. It is
// part of what a seed means.
const batch = 256

// blockOf is how many cases of a campaign are steered by one map, which is empty
// when the block begins: so a block is drawn alike by every process, whatever
// was drawn before. Longer blocks steer better, and many can be divided evenly. It
// follows from the length of the campaign alone, and is part of what a seed means.
func blockOf(schedules int) int {
	const blocks, most = 128, 64 // blocks of a campaign; batches of a block
	return batch * min(max(schedules/(blocks*batch), 1), most)
}

// Progress is how far a fuzz run has got.
type Progress struct {
	Schedules int
	Seconds   float64
	Coverage  float64
	Failures  int
	Shrinking checker.Promise // which failure is being shrunk; "" for none
}

// Result is what a fuzz run found out.
type Result struct {
	Schedules int // how many were run and checked
	Seconds   float64
	Failures  []Failure // the first of each promise, in the order of their cases; of a campaign: see Run
	Coverage  *Coverage
	Missed    int   // faults that were not put on or took no effect
	Injected  int   // faults of all cases
	Err       error // why the run ended early, or could not run
	Shards    int   // of a campaign, that it is joined from: Seconds are a processor's then; 0: it is that of a run
}

// Failure is a broken promise with the smallest case that shows it.
type Failure struct {
	Case      Case
	Seed      uint64 // the case's number: a run with this seed tries it first, as it was drawn
	Drawn     Case   // as it was drawn
	Schedules int    // how many it took to find it: its place in the run, or in the campaign
	Seconds   float64
}

// Run draws cases and runs them until it has what it was asked for. The same
// seed gives the same cases and the same failures, however many workers there
// are; only where it stops depends on the time, if For says so.
//
// A campaign is drawn in blocks, and a shard has every so manyth of them. Of each
// block it keeps the first failure of each promise, shrunk by a number
// of runs and not by the clock, and of several that are shrunk to the same case
// the first. So what comes of it depends on nothing but the seed, the number of
// schedules, the pins and the shard.
func Run(ctx context.Context, o Options) Result {
	f := &fuzzer{Options: o, begun: time.Now(), known: map[checker.Promise]bool{}}
	f.result.Coverage = newCoverage(o.Pins)
	f.beginBlock()
	if o.Workers <= 0 {
		f.Workers = runtime.GOMAXPROCS(0)
	}
	f.Failures = max(o.Failures, 1)
	if o.Shrink == 0 {
		f.Shrink = DefaultShrink
	}
	switch {
	case !o.Shard.Given():
		f.block = math.MaxInt
	case o.block == 0:
		f.block = blockOf(o.Schedules)
	}
	if o.Shard.Given() {
		f.Failures = math.MaxInt
		f.next = (o.Shard.Index - 1) * f.block
	}
	for f.wants(ctx) {
		f.batch(ctx)
	}
	f.result.Seconds = time.Since(f.begun).Seconds()
	return f.result
}

// fuzzer is a fuzz run under way.
type fuzzer struct {
	Options
	begun   time.Time
	next    int                      // the place of the next case
	met     *Coverage                // in this block: it steers
	weights *Weights                 // that the next batch is drawn by
	known   map[checker.Promise]bool // those of which a failure is kept; of a campaign: in this block
	result  Result
}

// beginBlock forgets what steers.
func (f *fuzzer) beginBlock() {
	f.met, f.weights = newCoverage(f.Pins), even()
	if f.Shard.Given() {
		clear(f.known)
	}
}

func (f *fuzzer) wants(ctx context.Context) bool {
	if f.result.Err == nil {
		f.result.Err = ctx.Err()
	}
	switch {
	case f.result.Err != nil, len(f.result.Failures) >= f.Failures:
		return false
	case f.Schedules == 0 && f.For == 0:
		return false
	case f.Schedules > 0 && f.next >= f.Schedules:
		return false
	default:
		return f.For == 0 || f.result.Schedules == 0 || time.Since(f.begun) < f.For
	}
}

// trial is one case of a batch and what became of it.
type trial struct {
	done   bool
	failed Failed
	broken bool
	cells  []cell
	missed int
	faults int
	err    error
	number uint64
	c      Case
}

// batch tries the next cases, all drawn with the same weights.
func (f *fuzzer) batch(ctx context.Context) {
	first := f.next
	n := min(batch, f.block-first%f.block)
	if f.Schedules > 0 {
		n = min(n, f.Schedules-first)
	}
	trials := make([]trial, n)
	var next, end atomic.Int64
	end.Store(int64(n))
	var working sync.WaitGroup
	for range min(f.Workers, n) {
		working.Go(func() {
			w := f.newWatcher()
			for {
				i := next.Add(1) - 1
				if i >= end.Load() || ctx.Err() != nil {
					return
				}
				t := &trials[i]
				t.number = f.number(first+int(i), f.weights)
				w.try(ctx, Draw(f.Pins, t.number), t)
				if t.err != nil || t.broken && f.Failures == 1 {
					lower(&end, i+1)
				}
			}
		})
	}
	working.Wait()
	f.merge(ctx, trials)
}

// lower makes end at most i.
func lower(end *atomic.Int64, i int64) {
	for {
		old := end.Load()
		if old <= i || end.CompareAndSwap(old, i) {
			return
		}
	}
}

// merge takes in what became of a batch, in the order of its cases.
func (f *fuzzer) merge(ctx context.Context, trials []trial) {
	begun := f.next
	for i := range trials {
		t := &trials[i]
		if !t.done {
			break // the run was stopped
		}
		f.next++
		f.result.Schedules++
		f.result.Missed += t.missed
		f.result.Injected += t.faults
		f.result.Coverage.add(t.cells, t.c.drawn)
		f.met.add(t.cells, t.c.drawn)
		if t.err != nil {
			f.result.Err = t.err
			break
		}
		if t.broken && !f.known[t.failed.Promise] {
			f.keep(ctx, t)
		}
		if len(f.result.Failures) >= f.Failures {
			break
		}
	}
	f.weights = f.met.steer()
	if f.next > begun && f.next%f.block == 0 {
		f.beginBlock()
		f.next += max(f.Shard.Of-1, 0) * f.block // those of the other shards
	}
	f.tell("")
}

// keep shrinks a failure and keeps it.
func (f *fuzzer) keep(ctx context.Context, t *trial) {
	failure := Failure{Seed: t.number, Drawn: t.c, Schedules: f.next, Seconds: time.Since(f.begun).Seconds()}
	failure.Drawn.Failed = t.failed
	f.tell(t.failed.Promise)
	limit := patience{until: time.Now().Add(f.Shrink)}
	if f.Shard.Given() {
		limit = patience{runs: shrinkRuns}
	}
	failure.Case = failure.Drawn
	if t.failed.Promise != Ends { // each try would take as long
		failure.Case = shrink(ctx, failure.Drawn, t.number, f.Pins.cases(t.number), limit, f.newWatcher())
	}
	f.known[t.failed.Promise] = true
	f.result.Failures = distinct(append(f.result.Failures, failure))
}

func (f *fuzzer) tell(shrinking checker.Promise) {
	if f.Progress == nil {
		return
	}
	f.Progress(Progress{
		Schedules: f.result.Schedules, Seconds: time.Since(f.begun).Seconds(),
		Coverage: f.result.Coverage.Share(), Failures: len(f.result.Failures), Shrinking: shrinking,
	})
}

// watcher runs cases, one at a time, and notes what their faults meet.
type watcher struct {
	world   *virtual.World
	cells   *[]cell
	promise checker.Promise // the one to look at; "": the first that is broken
}

func newWatcher(subjects map[string]virtual.Subject) *watcher {
	return &watcher{world: &virtual.World{Subjects: subjects, Reuse: true, Scripts: virtual.Sampled}, cells: new([]cell)}
}

func (f *fuzzer) newWatcher() *watcher {
	w := newWatcher(f.Subjects)
	if f.Texts {
		w.world.Scripts = virtual.Compared
	}
	return w
}

// try runs one case.
func (w *watcher) try(ctx context.Context, c Case, t *trial) {
	*w.cells = (*w.cells)[:0]
	t.c = c
	t.failed, t.broken, t.missed, t.faults, t.err = w.run(ctx, &c)
	t.cells = append(t.cells, *w.cells...)
	t.done = t.err == nil || ctx.Err() == nil
	if t.err != nil && t.done {
		t.err = fmt.Errorf("case %d: %w", t.number, t.err)
	}
}

func (w *watcher) run(ctx context.Context, c *Case) (failed Failed, broken bool, missed, faults int, err error) {
	cells := w.cells
	w.world.Moments = func(m virtual.Moment) { *cells = append(*cells, cellOf(&m)) }
	_, result, err := c.Try(ctx, w.world)
	var endless *EndlessError
	if errors.As(err, &endless) {
		// The run is left behind, with its world and its cells.
		w.world, w.cells = &virtual.World{Subjects: w.world.Subjects, Reuse: true, Scripts: w.world.Scripts}, new([]cell)
		return Failed{Promise: Ends, Reason: endless.Why}, true, 0, 0, nil
	}
	if err != nil {
		return Failed{}, false, 0, 0, err
	}
	for _, f := range result.Faults {
		faults += f.Injected
		missed += f.Injected - f.Effective
	}
	failed, broken = Verdict(result)
	if w.promise != "" {
		failed, broken = verdictOn(result, w.promise)
	}
	return failed, broken, missed, faults, nil
}

// Rarest is how rare a fault may be at the most to have been seen with the
// given confidence in n cases: its chance a case is one in so many. A fault with a
// chance of p stays hidden in n cases with a chance of (1-p)^n.
func Rarest(n int, confidence float64) int {
	if n == 0 {
		return 0
	}
	p := -math.Expm1(math.Log1p(-confidence) / float64(n))
	return int(1 / p)
}
