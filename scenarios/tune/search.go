package tune

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// tooShort is how many round trips a lease must have to be tried.
const tooShort = 8

// shape are settings in proportion to each other, as they are searched.
type shape struct {
	lease    time.Duration
	renewals float64 // in a lease
	retries  float64 // in a renewal interval
	timeout  float64 // in renewal intervals
}

// The values that are tried of each. The grid has the leases of coarse, three rhythms of renewals
// and the elector's defaults of the rest; everything else is tried where it may matter.
var (
	fine = []time.Duration{
		500 * time.Millisecond, 700 * time.Millisecond, time.Second, 1500 * time.Millisecond, 2 * time.Second, 2500 * time.Millisecond,
		3 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second, 8 * time.Second, 10 * time.Second, 12 * time.Second, 15 * time.Second,
		20 * time.Second, 25 * time.Second, 30 * time.Second, 45 * time.Second, time.Minute,
	}
	coarse = []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 8 * time.Second, 12 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute,
	}
	renewals = []float64{2, 3, 4, 5, 6, 8, 10}
	retries  = []float64{2, 3, ownRetries, 7, 10, 15}
	timeouts = []float64{1. / 8, 1. / 4, ownTimeout, 1, 3. / 2}
)

// The elector's defaults.
const (
	ownRetries = 5
	ownTimeout = 1. / 2
)

// timings are the settings as people write them down.
func (s shape) timings() sim.Timings {
	part := func(of time.Duration, factor float64) time.Duration {
		return time.Duration(math.Round(float64(of)*factor/float64(time.Millisecond))) * time.Millisecond
	}
	renew := part(s.lease, 1/s.renewals)
	return sim.Timings{Lease: s.lease, Renew: renew, Retry: part(renew, 1/s.retries), RequestTimeout: part(renew, s.timeout)}
}

// leases are those of a list that are worth a try: from what the network leaves time for.
func (q *Question) leases(list []time.Duration) (all []time.Duration) {
	if q.Leases != nil {
		return slices.Sorted(slices.Values(q.Leases))
	}
	for _, lease := range list {
		if lease >= tooShort*q.Network.RTT {
			all = append(all, lease)
		}
	}
	return all
}

// grid are the settings to try first: each lease, renewed so often in it; and the elector's
// presets.
func (q *Question) grid() (all []shape) {
	leases := q.leases(coarse)
	for _, lease := range leases {
		for _, n := range []float64{3, 5, 8} {
			all = append(all, shape{lease, n, ownRetries, ownTimeout})
		}
	}
	for _, p := range presets() {
		if q.Leases == nil || slices.Contains(q.Leases, p.shape.lease) {
			all = append(all, p.shape)
		}
	}
	return all
}

type preset struct {
	name  string
	shape shape
}

// presets are those of the elector.
func presets() (all []preset) {
	for _, p := range []struct {
		name   string
		config elector.Config
	}{{"Fast", elector.Fast()}, {"Balanced", elector.Balanced()}, {"Quiet", elector.Quiet()}} {
		in := func(a, b time.Duration) float64 { return float64(a) / float64(b) }
		c := p.config
		all = append(all, preset{p.name, shape{c.Lease, in(c.Lease, c.Renew), in(c.Renew, c.Retry), in(c.RequestTimeout, c.Renew)}})
	}
	return all
}

// usable reports whether the elector takes the settings, and whether the network can answer
// within the time-out.
func (q *Question) usable(t sim.Timings) bool {
	cfg := machine.Config{Lease: t.Lease, Drift: cmp.Or(q.Drift, scenarios.DefaultDrift)}
	return t.Renew+t.RequestTimeout+t.Retry <= cfg.Usable() && t.RequestTimeout > q.Network.RTT && t.Retry > 0
}

// change is a step from one point to a neighbour.
type change struct {
	name string
	to   shape
}

// changes are the steps from a point in one setting, each to the next value that the elector
// takes.
func (q *Question) changes(s shape) (all []change) {
	step := func(less, more string, next func(sign int) (shape, bool)) {
		for sign, name := range []string{less, more} {
			if to, there := next(2*sign - 1); there && q.usable(to.timings()) {
				all = append(all, change{name, to})
			}
		}
	}
	step("a shorter lease", "a longer lease", func(sign int) (to shape, there bool) {
		to = s
		to.lease, there = beside(q.leases(fine), s.lease, sign)
		return to, there
	})
	step("less frequent renewals", "more frequent renewals", func(sign int) (to shape, there bool) {
		to = s
		to.renewals, there = beside(renewals, s.renewals, sign)
		return to, there
	})
	step("a longer retry", "a shorter retry", func(sign int) (to shape, there bool) {
		to = s
		to.retries, there = beside(retries, s.retries, sign)
		return to, there
	})
	step("a shorter request time-out", "a longer request time-out", func(sign int) (to shape, there bool) {
		to = s
		to.timeout, there = beside(timeouts, s.timeout, sign)
		return to, there
	})
	return all
}

// beside is the next value of a sorted list below or above x, which need not be in it.
func beside[T cmp.Ordered](sorted []T, x T, sign int) (next T, there bool) {
	if sign > 0 {
		if i := slices.IndexFunc(sorted, func(y T) bool { return y > x }); i >= 0 {
			return sorted[i], true
		}
		return next, false
	}
	for _, y := range slices.Backward(sorted) {
		if y < x {
			return y, true
		}
	}
	return next, false
}

// Run searches the settings. It tries a coarse grid, then what lies around the best point,
// one setting at a time, for as long as that is better, and other retries and request
// time-outs along the front. For each point that is done it calls progress with the number
// so far and the largest number there may be; progress may be nil. If ctx ends, the points
// that are done make up the answer, and the error is ctx's.
func (q *Question) Run(ctx context.Context, progress func(done, of int)) (*Answer, error) {
	return newSearch(q, progress).run(ctx)
}

// run searches: so many points at the most around the best one of the grid, along the front, and
// around the best one of all.
func (s *search) run(ctx context.Context) (*Answer, error) {
	grid := s.untried(s.q.grid())
	around, along := 16+len(grid)/2, 2*len(grid)
	s.of = len(grid) + around + along + around
	err := s.try(ctx, grid)
	if err == nil {
		err = s.climb(ctx, around)
	}
	if err == nil {
		err = s.vary(ctx, along)
	}
	if err == nil {
		err = s.climb(ctx, around+along+around)
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	return s.answer(), ctx.Err()
}

// search is a search under way.
type search struct {
	q        *Question
	measure  func(context.Context, sim.Timings) (*Point, error)
	progress func(done, of int)

	points  map[sim.Timings]*Point
	shapes  map[*Point]shape
	refined int // points that were tried after the grid
	of      int
}

func newSearch(q *Question, progress func(done, of int)) *search {
	return &search{q: q, measure: q.try, progress: progress, points: map[sim.Timings]*Point{}, shapes: map[*Point]shape{}}
}

// all are the points that are done, in the order of their settings.
func (s *search) all() []*Point {
	var all []*Point
	for _, p := range s.points {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Point) int {
		return cmp.Or(cmp.Compare(a.Timings.Lease, b.Timings.Lease), cmp.Compare(a.Timings.Renew, b.Timings.Renew),
			cmp.Compare(a.Timings.Retry, b.Timings.Retry), cmp.Compare(a.Timings.RequestTimeout, b.Timings.RequestTimeout))
	})
	return all
}

// untried are the shapes of a list whose settings have not been tried, and can be.
func (s *search) untried(list []shape) (left []shape) {
	seen := map[sim.Timings]bool{}
	for _, one := range list {
		t := one.timings()
		if s.points[t] == nil && !seen[t] && s.q.usable(t) {
			left = append(left, one)
		}
		seen[t] = true
	}
	return left
}

// try measures the points of a list, several at once.
func (s *search) try(ctx context.Context, list []shape) error {
	list = s.untried(list)
	var mu sync.Mutex
	var errs []error
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var working sync.WaitGroup
	for _, one := range list {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		working.Go(func() {
			defer func() { <-slots }()
			p, err := s.measure(ctx, one.timings())
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			for _, preset := range presets() {
				if preset.shape.timings() == p.Timings {
					p.Preset = preset.name
				}
			}
			s.points[p.Timings], s.shapes[p] = p, one
			if s.progress != nil {
				s.progress(len(s.points), s.of)
			}
		})
	}
	working.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// climb tries the neighbours of the point that would be chosen until none of them would be, or
// so many points were tried.
func (s *search) climb(ctx context.Context, most int) error {
	for {
		best := s.q.choose(s.all())
		if best == nil {
			return nil
		}
		var next []shape
		for _, c := range s.q.changes(s.shapes[best]) {
			next = append(next, c.to)
		}
		next = s.untried(next)
		if len(next) == 0 || s.refined+len(next) > most {
			return nil
		}
		s.refined += len(next)
		if err := s.try(ctx, next); err != nil {
			return err
		}
	}
}

// vary tries the next retries and request time-outs of the points of the front, up to so many.
func (s *search) vary(ctx context.Context, most int) error {
	var list []shape
	for _, p := range s.answer().Points {
		if p.Front {
			for _, c := range s.q.changes(s.shapes[p]) {
				if at := s.shapes[p]; c.to.lease == at.lease && c.to.renewals == at.renewals {
					list = append(list, c.to)
				}
			}
		}
	}
	list = s.untried(list)
	list = list[:min(len(list), most)]
	s.refined += len(list)
	return s.try(ctx, list)
}

// answer is the answer so far.
func (s *search) answer() *Answer {
	a := s.q.answer(s.all())
	if chosen := cmp.Or(a.Best, a.Near); chosen != nil {
		for _, c := range s.q.changes(s.shapes[chosen]) {
			if p := s.points[c.to.timings()]; p != nil {
				a.Neighbours = append(a.Neighbours, Neighbour{c.name, p})
			}
		}
	}
	return a
}
