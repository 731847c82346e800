package live

import (
	"fmt"
	"slices"
	"time"
)

// Limits say when a run on a Redis that others use has to end, because that server
// is no longer what it was before the run.
type Limits struct {
	// An answer may take Factor times as long as 99% of the answers before the run,
	// and Floor more.
	Factor float64
	Floor  time.Duration
	// After is for how long answers may be slower, or errors, at a stretch; twice that
	// is for how long within ten times that.
	After time.Duration

	_ struct{}
}

// DefaultLimits are those where none are given: answers of a server that is near
// may take about a tenth of a second, and be late for a second.
func DefaultLimits() Limits {
	return Limits{Factor: 10, Floor: 100 * time.Millisecond, After: time.Second}
}

// Validate explains what is wrong with the limits, if anything is.
func (l Limits) Validate() error {
	switch {
	case l.Factor < 1:
		return fmt.Errorf("factor %g: answers as they were before the run would be too slow; give at least 1", l.Factor)
	case l.Floor < 0:
		return fmt.Errorf("floor %v is negative", l.Floor)
	case l.After < probeEvery:
		return fmt.Errorf("after %v: the server is asked every %v, and one answer says little; give more", l.After, probeEvery)
	}
	return nil
}

// Steady is how a server answered before the run.
type Steady struct {
	P50, P99 time.Duration
	Limit    time.Duration // what an answer may take during the run

	_ struct{}
}

// steadyOf is the steady state that these answers show.
func (l Limits) steadyOf(took []time.Duration) Steady {
	sorted := slices.Sorted(slices.Values(took))
	rank := func(share float64) time.Duration { return sorted[int(share*float64(len(sorted)-1)+0.5)] }
	s := Steady{P50: rank(0.5), P99: rank(0.99)}
	s.Limit = time.Duration(l.Factor*float64(s.P99)) + l.Floor
	return s
}

// vigil judges the answers of a server as they come.
type vigil struct {
	limits Limits
	steady Steady

	stretch time.Duration // for so long each answer has been beyond the limit
	recent  []lateness
}

// lateness is an answer beyond the limit, and the time that it stands for.
type lateness struct{ at, lasted time.Duration }

// see takes in an answer that came at some time, or an error, and returns in one
// clause why that is enough, if it is. An answer stands for the time until the next
// one is asked for, or for what it took.
func (v *vigil) see(at, took time.Duration, err error) (why string) {
	if err == nil && took <= v.steady.Limit {
		v.stretch = 0
		return ""
	}
	lasted := max(took, probeEvery)
	v.stretch += lasted
	v.recent = append(v.recent, lateness{at, lasted})
	window := 10 * v.limits.After
	v.recent = slices.DeleteFunc(v.recent, func(l lateness) bool { return l.at < at-window })
	var sum time.Duration
	for _, l := range v.recent {
		sum += l.lasted
	}
	before := fmt.Sprintf("before the run 99%% of its answers took at most %v", rounded(v.steady.P99))
	switch {
	case v.stretch < v.limits.After && sum < 2*v.limits.After:
		return ""
	case err != nil && v.stretch >= v.limits.After:
		return fmt.Sprintf("the Redis gave no answer for %v (%v); %s", rounded(v.stretch), err, before)
	case v.stretch >= v.limits.After:
		return fmt.Sprintf("each answer of the Redis was later than %v for %v at a stretch, the last by %v; %s",
			rounded(v.steady.Limit), rounded(v.stretch), rounded(took-v.steady.Limit), before)
	default:
		return fmt.Sprintf("answers of the Redis were later than %v, or errors, for %v of %v; %s", rounded(v.steady.Limit), rounded(sum), window, before)
	}
}

// rounded is d with three digits or so.
func rounded(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond)
	default:
		return d.Round(time.Microsecond)
	}
}
