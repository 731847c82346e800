package scenarios

import "github.com/recount-io/recount/faults"

// cleared are the scenarios in which the store goes on without keys that it had.
// They run only where the store is private.
func cleared() []Scenario {
	return []Scenario{
		{
			Name:     "eviction",
			Summary:  "the store runs out of memory and evicts the lease while the leader cannot reach it, and a candidate starts that knows nothing",
			Breaks:   "a store that grants a lease because its key is gone, although somebody may still believe in it",
			Schedule: func(s Shape) faults.Schedule { return unnoticed(s, faults.Eviction{}, 0) },
			Excess:   2.5,
			Return:   3,
			Waived:   maybeNone(),
		},
		{
			Name:     "flush",
			Summary:  "an operator deletes every key while the leader cannot reach the store, and a candidate starts that knows nothing either",
			Breaks:   "a store that grants a lease although it may have forgotten one, or counts tokens from 1 again",
			Schedule: func(s Shape) faults.Schedule { return unnoticed(s, faults.StoreFlush{}, 0) },
			Excess:   2.5,
			Return:   3,
			Waived:   maybeNone(),
		},
	}
}

// unnoticed is a schedule in which the store loses the lease while the leader,
// who believes in it, cannot reach the store, and a candidate starts that knows
// nothing: the store alone can keep others from leading.
func unnoticed(s Shape, loss faults.Fault, lasts Leases) faults.Schedule {
	return again(3, 4, faults.Schedule{
		s.at(1, 0.35, faults.Crash{}, faults.Follower),
		s.at(1.05, 0.8, faults.Partition{How: faults.CutBoth}, faults.Leader),
		s.at(1.1, lasts, loss, faults.Store),
	}, s)
}
