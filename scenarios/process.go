package scenarios

import (
	"github.com/recount-io/recount/faults"
)

// process are the scenarios in which a candidate's process ends.
func process() []Scenario {
	return []Scenario{
		{
			Name:    "crash-leader",
			Summary: "the leader is killed, four times, and started again later",
			Breaks:  "a lease that outlives its holder for longer than it should, or a follower that does not try when it ends",
			Schedule: func(s Shape) faults.Schedule {
				// Not in whole leases: who tries in such steps would be in time by chance.
				return repeat(4, 2.7, s.at(1.4, 1.5, faults.Crash{}, faults.Leader), s)
			},
			Alone: true,
		},
		{
			Name:    "crash-follower",
			Summary: "a follower is killed, three times, and started again",
			Breaks:  "an election in which followers matter to the leader",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(3, 1.2, s.at(0.5, 0.6, faults.Crash{}, faults.Follower), s)
			},
			Steadfast: true,
		},
		{
			Name:    "resign-leader",
			Summary: "the leader is asked to resign and exit, eight times, and started again",
			Breaks:  "a release that does not wake those who wait, or that comes before the work has ended",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(8, 0.8, s.at(0.5, 0.4, faults.Resign{}, faults.Leader), s)
			},
			Alone:  true,
			Excess: 0.4, // the one that resigned comes back after that, and would hide that it woke nobody
		},
		{
			Name:    "rolling-restart",
			Summary: "every candidate in turn is asked to resign and exit, and started again, as in a deployment",
			Breaks:  "a hand-over that waits for the lease to expire, or work that two candidates do at once",
			Schedule: func(s Shape) faults.Schedule {
				var rolling faults.Schedule
				for i, node := range s.Nodes {
					rolling = append(rolling, s.at(0.5+0.8*Leases(i), 0.4, faults.Resign{}, faults.Node(node)))
				}
				return rolling
			},
		},
		{
			Name:    "transfer-leader",
			Summary: "the leader hands its lease over to another candidate, eight times, and goes on competing",
			Breaks:  "a hand-over that others take, that waits for the lease to expire, or that comes before the work has ended",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(8, 0.8, s.at(0.5, 0, faults.Transfer{}, faults.Leader), s)
			},
			Alone: true,
		},
	}
}

// pauses are the scenarios in which a candidate's process stands still.
func pauses() []Scenario {
	return []Scenario{
		{
			Name:    "pause-leader-short",
			Summary: "the leader is suspended for less than its lease lasts, three times",
			Breaks:  "a leader that steps down, or a follower that takes over, although the lease still stands",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(3, 1.5, s.at(0.5, 0.4, faults.Pause{}, faults.Leader), s)
			},
			Steadfast: true,
		},
		{
			Name:    "pause-leader",
			Summary: "the leader is suspended for longer than its lease lasts, twice",
			Breaks:  "a leader that believes when it wakes up: a belief without a deadline",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 3.5, s.at(1, 1.8, faults.Pause{}, faults.Leader), s)
			},
		},
		{
			Name:    "suspend-leader",
			Summary: "the leader's machine is suspended for longer than its lease lasts, twice: its monotonic clock stands still meanwhile",
			Breaks:  "a deadline on the monotonic clock, as that of Go's package time: the leader believes when it wakes up",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 3.5, s.at(1, 1.8, faults.Suspend{}, faults.Leader), s)
			},
		},
		{
			Name:    "pause-before-write",
			Summary: "the leader is suspended between its check and its write, until somebody else leads",
			Breaks:  "a protected resource that does not compare tokens: no elector alone can close this gap",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 3.5, s.at(1, 1.8, faults.PauseBeforeWrite{}, faults.Leader), s)
			},
		},
	}
}

// repeat is a step so many times, one beginning so many leases after the
// other.
func repeat(times int, every Leases, step faults.Step, s Shape) faults.Schedule {
	steps := make(faults.Schedule, times)
	for i := range steps {
		steps[i] = step
		steps[i].At += (Leases(i) * every).of(s.Lease)
	}
	return steps
}
