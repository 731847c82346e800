package scenarios

import (
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
)

// tampered are the scenarios in which the store's keys are changed by somebody
// who is no candidate. They run only where the store is private.
func tampered() []Scenario {
	return []Scenario{
		{
			Name:    "store-clock-back",
			Summary: "the store's clock jumps back: while somebody leads and a newcomer asks, and again after the leader has died",
			Breaks:  "an elector that takes a lease for stale that lasts for longer than leases do",
			Schedule: func(s Shape) faults.Schedule {
				jump := faults.StoreClockJump{By: -Leases(0.5).of(s.Lease)}
				return again(2, 4, faults.Schedule{
					s.at(0.5, 0.6, faults.Crash{}, faults.Follower), // back just then, it asks at once
					s.at(1.05, 0, jump, faults.Store),
					s.at(2, 2, faults.Crash{}, faults.Leader),
					s.at(2.1, 0, jump, faults.Store),
				}, s)
			},
			Return: 2,
		},
		{
			Name:    "ttl-removed",
			Summary: "the lease loses its time to live: while somebody leads, and again after the leader has died",
			Breaks:  "a renewal that does not set the time to live, or followers that wait for ever for a lease that does not end",
			Schedule: func(s Shape) faults.Schedule {
				return again(2, 4.5, faults.Schedule{
					s.at(1, 0, faults.TTLRemoved{}, faults.Store),
					s.at(2, 3, faults.Crash{}, faults.Leader),
					s.at(2.1, 0, faults.TTLRemoved{}, faults.Store),
				}, s)
			},
			Return: 2.5,
		},
		{
			Name:    "counter-deleted",
			Summary: "the store evicts the counter of tokens, and then the leader is killed, twice",
			Breaks:  "tokens that begin again, because candidates do not say which one they know",
			Schedule: func(s Shape) faults.Schedule {
				return again(2, 3, faults.Schedule{
					s.at(1, 0, faults.CounterDeleted{}, faults.Store),
					s.at(1.1, 1.5, faults.Crash{}, faults.Leader),
				}, s)
			},
		},
		{
			Name:    "key-overwritten",
			Summary: "an operator overwrites the lease's key with something that has no time to live, twice",
			Breaks:  "a leader that goes on after its renewal was refused, or followers that wait for ever for a lease that does not end",
			Beyond:  "a foreign lease is respected for as long as one of ours would be: nobody leads meanwhile",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 4, s.at(1, 0, faults.KeyOverwritten{}, faults.Store), s)
			},
			Excess: 1.5,
			Return: 2.5,
			Waived: map[checker.Promise]string{
				checker.LeaseLinearizable: "a foreign value, which nobody was granted, is the lease for a while: the model has no such lease",
			},
		},
	}
}

// again is a schedule that is carried out so many times, once in every so many
// leases.
func again(times int, every Leases, once faults.Schedule, s Shape) faults.Schedule {
	var all faults.Schedule
	for i := range times {
		for _, step := range once {
			step.At += (Leases(i) * every).of(s.Lease)
			all = append(all, step)
		}
	}
	return all
}
