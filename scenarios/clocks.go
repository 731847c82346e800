package scenarios

import (
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
)

// nearDrift is how much of the tolerated drift the scenarios use: close to the
// limit, and on the safe side of it.
const nearDrift = 0.9

// wideDrift is a tolerated drift whose margin is longer than what else delays
// a failover: with the default one a missing margin of a hundredth of a lease
// would hide in the milliseconds that a follower takes to notice.
const wideDrift = 0.08

// clocks are the scenarios that hit candidates' clocks.
func clocks() []Scenario {
	return []Scenario{
		{
			Name:    "clock-fast",
			Summary: "all candidates' clocks run too fast, within the configured drift, while the leader is cut off",
			Breaks:  "followers that take over by their own clocks instead of the store's",
			Schedule: func(s Shape) faults.Schedule {
				return skewed(s, 1+nearDrift*s.Drift)
			},
		},
		{
			Name:    "clock-slow",
			Summary: "all candidates' clocks run too slow, within the configured drift, while the leader is cut off",
			Breaks:  "a deadline without a margin for drift: a slow clock would let the leader believe for too long",
			Drift:   wideDrift,
			Schedule: func(s Shape) faults.Schedule {
				// A follower that waits for a long time by a slow clock is as
				// late as the leader. One that comes back just before the end
				// of the lease is told how little is left of it.
				return append(skewed(s, 1-nearDrift*s.Drift),
					s.at(1.1, 0.5, faults.Crash{}, faults.Follower),
					s.at(5.1, 0.5, faults.Crash{}, faults.Follower))
			},
		},
		{
			Name:    "clock-beyond",
			Summary: "all candidates' clocks run at half their speed, far beyond the configured drift, while the leader is cut off",
			Breaks:  "a resource without a fence",
			Beyond:  "no lease can survive such a clock: that at most one leads is only measured; the fence still holds",
			Schedule: func(s Shape) faults.Schedule {
				return skewed(s, 0.5)
			},
			Excess: 1.5,
			Waived: map[checker.Promise]string{
				checker.AtMostOneLeader: "clocks at half speed are beyond the configured drift; how long two believe is measured, the fence is what protects",
			},
		},
		{
			Name:    "clock-jump",
			Summary: "the leader's wall clock jumps an hour ahead, then a day back",
			Breaks:  "a lease that is kept by the wall clock",
			Schedule: func(s Shape) faults.Schedule {
				return faults.Schedule{
					s.at(0.5, 1.5, faults.ClockJump{Offset: time.Hour}, faults.Leader),
					s.at(2.5, 1.5, faults.ClockJump{Offset: -24 * time.Hour}, faults.Leader),
				}
			},
			Steadfast: true,
		},
	}
}

// skewed cuts off the leader while all clocks run at rate.
func skewed(s Shape, rate float64) faults.Schedule {
	return faults.Schedule{
		s.at(0.2, 8, faults.ClockRate{Rate: rate}, faults.All),
		s.at(1, 2.5, faults.Partition{How: faults.CutBoth}, faults.Leader),
		s.at(5, 2.5, faults.Partition{How: faults.CutRequests}, faults.Leader),
	}
}
