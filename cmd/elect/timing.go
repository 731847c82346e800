package main

import (
	"fmt"
	"math"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
)

// timing is when a job is asked to end, and when it is ended.
//
//	renewed                                   asked         ended   belief ends
//	|-------------------------------------------|-------------|----------|--> lease ends
//	|  Renew + RequestTimeout + Retry ≤ here    |    grace    |  margin  |
//
// The belief ends before the lease does, by the clocks' drift. So whatever
// happens to the network, the job is gone before another candidate can be
// elected; and one renewal that fails does not yet cost it its term.
type timing struct {
	lease  time.Duration
	grace  time.Duration // from SIGTERM to SIGKILL when the lease runs out
	margin time.Duration // from SIGKILL to the end of the belief
	drain  time.Duration // for how long the lease is kept for a job that was asked to end
}

// The bounds of the margin: to kill a process group and see it gone takes
// milliseconds on a machine that is not overloaded, and tens of them on one that is.
const (
	minMargin = 10 * time.Millisecond
	maxMargin = time.Second
)

// timingOf makes the timing from settings that are valid. Grace is a fifth of
// the lease unless it is given.
func timingOf(s settings.Settings, grace time.Duration, given bool) (timing, error) {
	c := s.Config()
	lease := or(c.Lease, 15*time.Second) // the defaults that elector.Config documents
	renew := or(c.Renew, lease/3)
	retry, request := or(c.Retry, renew/5), or(c.RequestTimeout, renew/2)
	drift := c.Drift
	if drift == 0 {
		drift = elector.DefaultDrift
	}
	t := timing{
		lease:  lease,
		grace:  grace,
		margin: min(max(lease/20, minMargin), maxMargin),
		drain:  or(c.DrainTimeout, 2*lease),
	}
	usable := lease - time.Duration(math.Ceil(float64(lease)*drift)) - time.Millisecond
	spare := usable - renew - request - retry - t.margin
	if !given {
		t.grace = min(lease/5, max(spare, 0))
	}
	switch {
	case t.grace < 0:
		return timing{}, fmt.Errorf("--grace is %v; it must not be negative", t.grace)
	case t.grace > spare:
		return timing{}, fmt.Errorf("--grace is %v; the job is asked to end so long before the lease of %v does, and one renewal that fails must not end it: renew (%v) + request-timeout (%v) + retry (%v) + grace + %v ≤ lease × (1 − drift) − 1ms = %v, so grace may be %v at most: shorten it, or lengthen --lease",
			t.grace, lease, renew, request, retry, t.margin, usable, max(spare, 0))
	case t.drain-t.margin < t.grace:
		return timing{}, fmt.Errorf("--drain-timeout is %v and --grace is %v; a job that is asked to end in peace must not get less time than one whose lease runs out: grace + %v ≤ drain-timeout", t.drain, t.grace, t.margin)
	}
	return t, nil
}

func or(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// chunk is the longest time to wait in one piece: a timer that was set before
// the machine was suspended is late by as long as that lasted.
func (t timing) chunk() time.Duration { return max(t.lease/20, 20*time.Millisecond) }
