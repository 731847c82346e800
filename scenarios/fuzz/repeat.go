package fuzz

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/recount-io/recount/checker"
)

// Tally is how often a case failed in a world that does not repeat exactly.
type Tally struct {
	Runs      int    // whose verdict is known
	Fails     int    // of those, broke the promise that the case is kept for, or any if it is kept for none
	Undecided int    // runs that do not count
	Last      Failed // what broke last
}

// Width of the interval at which a case has been repeated often enough.
const enough = 0.25

// Interval is Wilson's 95 % interval for the chance that the case fails. It
// is computed after each run until it is narrow: so the chance that it misses
// is somewhat more than 5 %.
func (t *Tally) Interval() (low, high float64) {
	if t.Runs == 0 {
		return 0, 1
	}
	const z = 1.959964
	n, p := float64(t.Runs), float64(t.Fails)/float64(t.Runs)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(middle-half, 0), min(middle+half, 1)
}

// Decided reports whether the interval is narrow.
func (t *Tally) Decided() bool {
	low, high := t.Interval()
	return high-low <= enough
}

// Repeat runs the case again and again, so many at once, until the interval is
// narrow or limit runs were made. done is told each time; it may be nil.
func (c *Case) Repeat(ctx context.Context, w World, atOnce, limit int, done func(Tally)) (Tally, error) {
	var tally Tally
	var errs error
	for tally.Runs+tally.Undecided < limit && !tally.Decided() && errs == nil {
		n := min(atOnce, limit-tally.Runs-tally.Undecided)
		results := make([]*checker.Result, n)
		failures := make([]error, n)
		var running sync.WaitGroup
		for i := range n {
			running.Go(func() { _, results[i], failures[i] = c.Try(ctx, w) })
		}
		running.Wait()
		errs = errors.Join(failures...)
		for _, r := range results {
			if r != nil {
				tally.count(r, c.Failed.Promise)
			}
		}
		if done != nil {
			done(tally)
		}
	}
	return tally, errs
}

// count takes in one run.
func (t *Tally) count(r *checker.Result, promise checker.Promise) {
	broke, broken := breaks(r, promise)
	switch {
	case broken:
		t.Runs++
		t.Fails++
		t.Last = broke
	case undecided(r, promise):
		t.Undecided++
	default:
		t.Runs++
	}
}

// breaks reports whether the run broke the promise, or any if promise is "".
func breaks(r *checker.Result, promise checker.Promise) (Failed, bool) {
	for _, f := range r.Asked {
		if f.Verdict == checker.Fail && (promise == "" || f.Promise == promise) {
			return Failed{f.Promise, f.Reason}, true
		}
	}
	return Failed{}, false
}

// undecided reports whether it is unknown whether the run broke the promise: a
// fault that did not take effect decides nothing.
func undecided(r *checker.Result, promise checker.Promise) bool {
	for _, f := range r.Asked {
		if f.Verdict == checker.Unknown && (f.Promise == promise || f.Promise == checker.WellFormed) {
			return true
		}
	}
	return false
}

// Scaled is the case with another lease, and everything else in proportion:
// what takes minutes in virtual time need not take them in the live world.
func (c Case) Scaled(lease time.Duration) Case {
	scale := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) * float64(lease) / float64(c.Timings.Lease)).Round(10 * time.Microsecond)
	}
	c.Schedule = scaleSchedule(c.Schedule, scale)
	c.Timings.Renew, c.Timings.Retry = scale(c.Timings.Renew), scale(c.Timings.Retry)
	c.Writes, c.Observes, c.Quiet = scale(c.Writes), scale(c.Observes), scale(c.Quiet)
	c.ReturnBound, c.FailoverBound = scale(c.ReturnBound), scale(c.FailoverBound)
	c.LongLease = scale(c.LongLease).Round(time.Millisecond)
	c.Timings.Lease = lease
	return c
}
