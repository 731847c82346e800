package fuzz

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Goal is what Maximise makes as bad as it can.
type Goal string

// The goals.
const (
	LongestFailover Goal = "failover"    // from the moment in which a leader can no longer act to the next one's first write
	DualBelief      Goal = "dual-belief" // the overlap of two beliefs; where there is none, the gap between them, as small as it gets
)

// Goals are all of them.
var Goals = []Goal{LongestFailover, DualBelief}

// ParseGoal reads the name of a goal.
func ParseGoal(name string) (Goal, error) {
	for _, g := range Goals {
		if name == string(g) {
			return g, nil
		}
	}
	return "", fmt.Errorf("there is nothing called %q to search for: give %s or %s", name, LongestFailover, DualBelief)
}

// MaximiseOptions are what a search for the worst case does.
type MaximiseOptions struct {
	Goal      Goal
	Seed      uint64
	Schedules int           // how many it runs; 0: as many as For allows
	For       time.Duration // how long; 0: as long as Schedules takes
	Workers   int           // how many at once; 0: one for each processor

	// The election. What is zero is the production elector's default, of a
	// lease of 15 s with five candidates, in the virtual world's default
	// network. The search may make every message take as long as the network's
	// longest one, or its shortest.
	Pins     Pins
	Network  sim.Network
	Subjects map[string]virtual.Subject // beside "recount"
	Progress func(Worst)                // told now and then of the worst case so far, one call at a time; may be nil

	_ struct{}
}

// Worst is the worst legal case that a search has found, and the bound that it
// must not exceed.
type Worst struct {
	Goal      Goal
	Schedules int // how many were run
	Seconds   float64
	Found     bool // any schedule at all made the leader change as the goal asks

	Case     Case // the schedule, as it can be repeated
	Limits   Limits
	Length   time.Duration // of the failover; of the overlap, negative for a gap
	From, To string        // the two leaders
	At       time.Duration // when the old one could no longer act
	Released bool          // a gap after a lease that was given back

	Bound  Bound         // of the longest failover
	Limit  time.Duration // of Length
	Broken string        // why the worst case is a failure, in one sentence; "" if it is none
	Err    error         // why the search ended early, or could not begin
}

// Share is how much of the bound the worst case reaches: of the excess of a
// failover, or of the least gap.
func (w *Worst) Share() float64 {
	if w.Goal == LongestFailover {
		return float64(w.Length-w.Limits.Lease) / float64(w.Limit-w.Limits.Lease)
	}
	return float64(w.limit()) / float64(w.Length)
}

// Maximise searches for the legal schedule with the worst case of what the goal
// names, by hill climbing from many beginnings, and compares it with the bound
// that follows from the configuration: see docs/failover.md. A failover beyond the
// bound ends the search, as does an overlap, and is Broken.
//
// The same seed finds the same case, however many workers there are; only where
// the search stops depends on the time, if For says so.
func Maximise(ctx context.Context, o MaximiseOptions) Worst {
	s := &search{MaximiseOptions: o, begun: time.Now()}
	if o.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if s.worst, s.worst.Err = o.bounded(); s.worst.Err != nil {
		return s.worst
	}
	s.base = s.worst.Case
	for s.wants(ctx) {
		s.round(ctx)
	}
	s.finish(ctx)
	return s.worst
}

// base is the case without a schedule.
func (o *MaximiseOptions) base() Case {
	c := Case{Subject: o.Pins.Subject, Nodes: o.Pins.Nodes, Timings: o.Pins.Timings, Drift: o.Pins.Drift, Network: o.Network}
	setDefault(&c.Subject, "recount")
	setDefault(&c.Nodes, 5)
	setDefault(&c.Timings.Lease, 15*time.Second)
	setDefault(&c.Timings.Renew, c.Timings.Lease/3)
	setDefault(&c.Timings.Retry, c.Timings.Renew/5)
	setDefault(&c.Drift, 0.01)
	setDefault(&c.Network, sim.DefaultNetwork())
	c.Writes, c.Observes = c.Timings.Lease/10, c.Timings.Lease/2
	return c
}

func setDefault[T comparable](field *T, to T) {
	var zero T
	if *field == zero {
		*field = to
	}
}

// search is a search under way.
type search struct {
	MaximiseOptions
	begun  time.Time
	base   Case
	rounds uint64
	elite  [beginnings]climb // the worst so far from each kind of beginning
	worst  Worst
}

// Validate explains in one line why there is nothing to search for, if so: the
// election could not work, or has no bound (then it wraps ErrNoBound).
func (o *MaximiseOptions) Validate() error {
	_, err := o.bounded()
	return err
}

// bounded is the election with its bound, and with no worst case yet.
func (o *MaximiseOptions) bounded() (Worst, error) {
	c := o.base()
	w := Worst{Goal: o.Goal, Case: c, Limits: c.Limits()}
	if _, err := ParseGoal(string(o.Goal)); err != nil {
		return w, err
	}
	if err := c.Validate(); err != nil {
		return w, errors.New(strings.TrimPrefix(err.Error(), "no replay file: "))
	}
	if c.Nodes < 2 {
		return w, errors.New("with one candidate there is no other leader: give at least 2")
	}
	if o.Goal == DualBelief {
		w.Limit = -w.Limits.GapLimit(false)
		return w, nil
	}
	var err error
	w.Bound, err = w.Limits.FailoverLimit()
	w.Limit = w.Bound.Total()
	return w, err
}

func (s *search) wants(ctx context.Context) bool {
	w := &s.worst
	if w.Err == nil {
		w.Err = ctx.Err()
	}
	switch {
	case w.Err != nil, s.Schedules == 0 && s.For == 0:
		return false
	case w.Broken != "" && (s.Goal == LongestFailover || w.Length > 0):
		return false // a gap that is too small may become an overlap yet
	case s.Schedules > 0 && w.Schedules >= s.Schedules:
		return false
	default:
		return s.For == 0 || time.Since(s.begun) < s.For
	}
}

// A round is a number of climbs that begin with what the rounds before have
// found, and a climb so many schedules one after the other. Both are part of
// what a seed means.
const (
	climbs = 16
	length = 60
)

// round makes the next climbs.
func (s *search) round(ctx context.Context) {
	n := climbs
	if s.Schedules > 0 {
		n = min(n, (s.Schedules-s.worst.Schedules+length-1)/length)
	}
	done := make([]climb, n)
	var next atomic.Int64
	var working sync.WaitGroup
	for range min(s.Workers, n) {
		working.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				budget := length
				if s.Schedules > 0 {
					budget = min(budget, s.Schedules-s.worst.Schedules-int(i)*length)
				}
				done[i] = s.climb(ctx, s.rounds<<16|uint64(i), budget)
			}
		})
	}
	working.Wait()
	s.rounds++
	for i := range done {
		s.merge(&done[i])
	}
	s.worst.Seconds = time.Since(s.begun).Seconds()
	if s.Progress != nil {
		s.Progress(s.worst)
	}
}

// merge takes in what a climb has found.
func (s *search) merge(c *climb) {
	s.worst.Schedules += c.tried
	if s.worst.Err == nil {
		s.worst.Err = c.err
	}
	if c.best.found && (!s.elite[c.kind].best.found || c.best.length > s.elite[c.kind].best.length) {
		s.elite[c.kind] = *c
	}
	w := &s.worst
	for _, x := range []extreme{c.best, c.wrong} {
		broken := s.broken(x)
		if !x.found || broken == "" && w.Broken != "" || w.Found && x.length <= w.Length && (broken == "") == (w.Broken == "") {
			continue
		}
		w.Found, w.Length, w.From, w.To, w.At, w.Released, w.Broken = true, x.length, x.from, x.to, x.at, x.released, broken
		w.Case = c.cases[0]
		if x == c.wrong {
			w.Case = c.cases[1]
		}
	}
}

// limit is what Length must not exceed.
func (w *Worst) limit() time.Duration {
	if w.Released {
		return -w.Limits.GapLimit(true)
	}
	return w.Limit
}

// broken is why the extreme is a failure, or "".
func (s *search) broken(x extreme) string {
	limit := (&Worst{Limits: s.worst.Limits, Limit: s.worst.Limit, Released: x.released}).limit()
	switch {
	case !x.found || x.length <= limit:
		return ""
	case s.Goal == LongestFailover:
		return fmt.Sprintf("the failover from %s to %s at %v took %v, and %v is the longest that follows from the configuration: the elector waits for something that it need not wait for",
			x.from, x.to, x.at, x.length, limit)
	case x.length > 0:
		return fmt.Sprintf("%s and %s both believed they led for %v, until %v", x.from, x.to, x.length, x.at)
	default:
		return fmt.Sprintf("%s believed until %v, and %s from %v later, although %v is the least that follows from the configuration: the margin of safety is not what it should be",
			x.from, x.at, x.to, -x.length, -limit)
	}
}

// finish makes the worst case one that can be kept and repeated, and judges it
// by every other promise as well.
func (s *search) finish(ctx context.Context) {
	w := &s.worst
	w.Seconds = time.Since(s.begun).Seconds()
	if !w.Found || w.Err != nil {
		return
	}
	world := &virtual.World{Subjects: s.Subjects}
	s.tidy(ctx, world)
	c := &w.Case
	c.Judge()
	if w.Broken != "" {
		c.Failed = Failed{checker.AtMostOneLeader, w.Broken}
	}
	if w.Broken != "" && s.Goal == LongestFailover {
		delete(c.Waived, checker.FailoverBound)
		c.FailoverBound = w.Bound.Excess()
		c.Failed.Promise = checker.FailoverBound
	}
	_, result, err := c.Try(ctx, world)
	if err != nil {
		w.Err = err
		return
	}
	if failed, broken := Verdict(result); broken && w.Broken == "" {
		w.Broken = fmt.Sprintf("it breaks %s: %s", failed.Promise, failed.Reason)
		c.Failed = failed
	}
}

// tidy takes off the steps of the worst case without which it is as bad.
func (s *search) tidy(ctx context.Context, world World) {
	w := &s.worst
	for i := len(w.Case.Schedule) - 1; i >= 0; i-- {
		plainer := w.Case
		plainer.Schedule = slices.Delete(slices.Clone(w.Case.Schedule), i, i+1)
		m, err := plainer.measure(ctx, world)
		if err != nil || m == nil || m.missed {
			continue
		}
		x, y := m.extremes(s.Goal)
		if w.Released {
			x = y
		}
		if x.found && x.length >= w.Length {
			w.Case = plainer
			w.Length, w.From, w.To, w.At = x.length, x.from, x.to, x.at
			w.Broken = s.broken(x)
		}
	}
}

// Text tells of the worst case and of the bound, in lines for people.
func (w *Worst) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%d schedules in %.1f s", w.Schedules, w.Seconds)
	switch {
	case !w.Found:
		line("none of them made the leader change: try more of them")
		return b.String()
	case w.Goal == LongestFailover:
		line("longest failover found: %v, of which excess %v; bound %v; %.0f %% of the bound",
			tidied(w.Length), tidied(w.Length-w.Limits.Lease), tidied(w.Bound.Excess()), 100*w.Share())
		for _, t := range w.Bound {
			line("  %12v  %-32s %s", tidied(t.Length), t.Name, t.Why)
		}
	case w.Length > 0:
		line("longest overlap of two beliefs found: %v; none is allowed for", tidied(w.Length))
	default:
		line("no two beliefs overlap: the smallest gap found between two is %v; the least that follows from the configuration is %v, %.0f %% of that",
			-w.Length, -w.limit(), 100*w.Share())
	}
	if w.Goal == LongestFailover {
		line("from %s, which could not act any more from %v on, to %s", w.From, w.At, w.To)
	} else {
		line("%s believed until %v, and %s was the next one", w.From, w.At, w.To)
	}
	for _, step := range w.Case.Schedule {
		line("  %v", step)
	}
	if w.Broken != "" {
		line("FAILED: %s", w.Broken)
	}
	return b.String()
}

// tidied is a time as people read it.
func tidied(d time.Duration) time.Duration {
	if d > time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}
