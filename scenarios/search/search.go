package search

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/sim/space"
)

// Options are what a search does.
type Options struct {
	Space    *Space
	Seed     uint64        // the number of the first case, and of every choice of later ones
	Cases    int           // how many are tried; 0: as many as For allows
	For      time.Duration // how long; 0: as long as Cases takes
	Workers  int           // how many processes try cases at once; 0: one for each processor
	Failures int           // the search stops after the batch with so many broken obligations; 0: one
	Only     string        // a feature that each case must have, such as "act:kill"; "": any
	Shrink   time.Duration // how long a failure is shrunk at the most; 0: DefaultShrink; less: not at all
	Limit    time.Duration // of a case, in time of the processor, until it counts as endless; 0: 45 s
	Progress func(Progress)

	// Shard is the part of a campaign of Cases cases that is run, to its end, whatever is
	// broken on the way. What it has drawn steers its later cases, so they follow from the
	// seed and the shard. Failures are shrunk by a number of runs, and not for a time.
	Shard campaign.Shard

	_ struct{}
}

// DefaultShrink is how long a failure is shrunk.
const DefaultShrink = 30 * time.Second

// shrinkRuns is how many runs the failure of a shard is shrunk for.
const shrinkRuns = 300

// shardPlaces is how far apart the places are at which shards begin: farther than any shard
// gets.
const shardPlaces = 1 << 32

// batch is how many cases are chosen with the same coverage. It is part of what a seed
// means.
const batch = 32

// Progress is how far a search has got.
type Progress struct {
	Cases     int
	Seconds   float64
	Failures  int
	Shrinking string // the obligation whose failure is being shrunk, or ""
}

// Result is what a search has found out.
type Result struct {
	Cases    int
	Seconds  float64
	Failures []Failure // the first of each obligation, in the order of their cases
	Coverage *Coverage
	Shards   int // that were joined: Seconds are those of a processor; 0: it is one search
}

// Failure is a broken obligation, with the simplest case that shows it.
type Failure struct {
	Space   *Space
	Number  uint64        // draws the case as it was found
	Limit   time.Duration // with which it was found, see Options
	Finding space.Finding
	Case    Case
	Cases   int // how many it took to find it
	Seconds float64
	Again   int // of Repeats runs of the case as it was found, so many failed
	Log     []string
	History []byte // of a run of Case, as history.Load reads it; nil if there is none
}

// Says returns the sentence of the documents that is broken, or "" for a promise of the
// checkers.
func (f *Failure) Says() string { return f.Space.Says(f.Finding.Obligation) }

// Repeats is how often the case of a failure is run again. Some failures depend on the
// moment; those that take a minute each do not.
func (f *Failure) Repeats() int {
	if f.Finding.Obligation == ends {
		return 1
	}
	return 3
}

// Run tries cases until it has what it was asked for. The same seed tries the same cases,
// however many workers there are. The error says why the search could not go on; the
// result then holds what was found before.
func Run(ctx context.Context, o Options) (Result, error) {
	s := &searcher{Options: o, begun: time.Now(), result: Result{Coverage: NewCoverage()}}
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	s.Failures = max(o.Failures, 1)
	if s.Shrink == 0 {
		s.Shrink = DefaultShrink
	}
	if s.Shard.Given() {
		s.Failures, s.Cases, s.next = math.MaxInt, s.Shard.Share(s.Cases), uint64(s.Shard.Index-1)*shardPlaces
	}
	for range s.Workers {
		s.workers = append(s.workers, worker{limit: s.Limit})
	}
	defer s.close()
	var err error
	for err == nil && s.wants(ctx) {
		err = s.batch(ctx)
	}
	s.result.Seconds = time.Since(s.begun).Seconds()
	return s.result, err
}

// searcher is a search under way.
type searcher struct {
	Options
	begun    time.Time
	workers  []worker
	progress sync.Mutex
	next     uint64 // the place of the next case
	result   Result
}

func (s *searcher) close() {
	for i := range s.workers {
		s.workers[i].close()
	}
}

func (s *searcher) wants(ctx context.Context) bool {
	switch {
	case ctx.Err() != nil, len(s.result.Failures) >= s.Failures, s.Cases == 0 && s.For == 0, s.Cases > 0 && s.result.Cases >= s.Cases:
		return false
	default:
		return s.For == 0 || s.result.Cases == 0 || time.Since(s.begun) < s.For
	}
}

// trial is a case of a batch and what became of it.
type trial struct {
	c    Case
	a    answer
	done bool
	err  error
}

// draw chooses the cases of the next batch.
func (s *searcher) draw() (all []trial, err error) {
	const most = 100_000 // cases in a row without a feature that each must have
	n := batch
	if s.Cases > 0 {
		n = min(n, s.Cases-s.result.Cases)
	}
	for vain := 0; len(all) < n; s.next++ {
		c := s.Space.Draw(s.result.Coverage.Number(s.Space, s.Seed, s.next))
		if s.Only == "" || slices.Contains(c.Features(), s.Only) {
			all, vain = append(all, trial{c: c}), 0
		} else if vain++; vain == most {
			return nil, fmt.Errorf("search: none of %d cases of %s has the feature %q", most, s.Space.Name, s.Only)
		}
	}
	return all, nil
}

// batch tries the next cases. When the time is over, those that are not begun are left
// out.
func (s *searcher) batch(ctx context.Context) error {
	trials, err := s.draw()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	next := 0
	take := func() (t *trial, begun int) {
		mu.Lock()
		defer mu.Unlock()
		over := s.For > 0 && time.Since(s.begun) >= s.For && s.result.Cases+next > 0
		if over || next == len(trials) || ctx.Err() != nil {
			return nil, next
		}
		next++
		return &trials[next-1], next
	}
	var working sync.WaitGroup
	for i := range s.workers {
		working.Go(func() {
			for t, begun := take(); t != nil; t, begun = take() {
				s.tell(begun-1, "")
				t.a, t.err = s.workers[i].try(ctx, s.Space, t.c, s.Cases == 1)
				t.done = t.err == nil
			}
		})
	}
	working.Wait()
	return s.merge(ctx, trials)
}

// merge takes in what became of a batch, in the order of its cases.
func (s *searcher) merge(ctx context.Context, trials []trial) error {
	for i := range trials {
		t := &trials[i]
		if t.err != nil && ctx.Err() == nil {
			return t.err
		}
		if !t.done {
			return nil
		}
		s.result.Cases++
		s.result.Coverage.Add(t.c.Features(), t.a.effects())
		for _, f := range t.a.Findings {
			if !slices.ContainsFunc(s.result.Failures, func(known Failure) bool { return known.Finding.Obligation == f.Obligation }) {
				if err := s.keep(ctx, t, f); err != nil {
					return err
				}
			}
		}
		if len(s.result.Failures) >= s.Failures {
			return nil
		}
	}
	return nil
}

// keep repeats a failure, shrinks it and keeps it.
func (s *searcher) keep(ctx context.Context, t *trial, f space.Finding) error {
	c := t.c
	failure := Failure{Space: s.Space, Number: c.Number(), Limit: s.Limit, Finding: f, Case: c, Cases: s.result.Cases, Seconds: time.Since(s.begun).Seconds(), Log: t.a.Log, History: t.a.History}
	s.tell(0, f.Obligation)
	w := &s.workers[0]
	for range failure.Repeats() {
		a, err := w.try(ctx, s.Space, c, true)
		if err != nil {
			return err
		}
		if again, is := a.breaks(f.Obligation); is {
			failure.Again++
			failure.Finding, failure.Log, failure.History = again, a.Log, a.History
		}
	}
	if failure.Again > 0 && s.Shrink > 0 {
		if err := failure.shrink(ctx, w, s.patience()); err != nil {
			return err
		}
	}
	s.result.Failures = append(s.result.Failures, failure)
	return nil
}

// patience returns a function that reports whether shrinking may go on. It is called
// before each run.
func (s *searcher) patience() (more func() bool) {
	until, runs := time.Now().Add(s.Shrink), 0
	return func() bool {
		runs++
		if s.Shard.Given() {
			return runs <= shrinkRuns
		}
		return time.Now().Before(until)
	}
}

// shrink makes the case of a failure simpler as long as it breaks the same obligation.
func (f *Failure) shrink(ctx context.Context, w *worker, more func() bool) error {
	for simpler := f.Case.Simpler(); len(simpler) > 0; simpler = simpler[1:] {
		if !more() {
			return nil
		}
		a, err := w.try(ctx, f.Space, simpler[0], true)
		if err != nil {
			return err
		}
		if finding, is := a.breaks(f.Finding.Obligation); is {
			f.Case, f.Finding, f.Log, f.History = simpler[0], finding, a.Log, a.History
			simpler = append([]Case{nil}, f.Case.Simpler()...)
		}
	}
	return nil
}

// breaks returns how an obligation was broken, if it was.
func (a *answer) breaks(obligation string) (space.Finding, bool) {
	i := slices.IndexFunc(a.Findings, func(f space.Finding) bool { return f.Obligation == obligation })
	if i < 0 {
		return space.Finding{}, false
	}
	return a.Findings[i], true
}

// effects are the features that had an effect; nil if the space does not tell.
func (a *answer) effects() map[string]bool {
	if a.Effects == nil {
		return nil
	}
	all := map[string]bool{}
	for _, feature := range a.Effects {
		all[feature] = true
	}
	return all
}

// tell reports progress: so many cases of the batch are begun.
func (s *searcher) tell(begun int, shrinking string) {
	if s.Progress == nil {
		return
	}
	s.progress.Lock()
	defer s.progress.Unlock()
	s.Progress(Progress{Cases: s.result.Cases + begun, Seconds: time.Since(s.begun).Seconds(), Failures: len(s.result.Failures), Shrinking: shrinking})
}
