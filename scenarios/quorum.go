package scenarios

import (
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// independent are the scenarios whose store is a majority of five Redis that
// know nothing of each other.
func independent() []Scenario {
	return []Scenario{
		{
			Name:     "quorum-minority-down",
			Summary:  "of five independent Redis two are frozen, then two others killed, then the first two; the leader dies in the second outage and resigns in the third",
			Breaks:   "an elector that needs all of them, or one of them, or does not make those that were away count again",
			Topology: sim.Quorum,
			Quiet:    2,
			Schedule: func(s Shape) faults.Schedule {
				killed := faults.StoreCrash{KeepData: true}
				return faults.Schedule{
					s.at(0.4, 0.8, faults.StorePause{}, faults.StoreNode(1)),
					s.at(0.4, 0.8, faults.StorePause{}, faults.StoreNode(2)),
					s.at(1.8, 1.6, killed, faults.StoreNode(3)),
					s.at(1.8, 1.6, killed, faults.StoreNode(4)),
					s.at(2, 1, faults.Crash{}, faults.Leader),
					// Those that were killed grant nothing for a lease, and count again
					// after two renewals.
					s.at(5.1, 1, killed, faults.StoreNode(1)),
					s.at(5.1, 1, killed, faults.StoreNode(2)),
					s.at(5.3, 0.6, faults.Resign{}, faults.Leader),
				}
			},
		},
		{
			Name:     "quorum-node-amnesia",
			Summary:  "three of five independent Redis lose their data one after the other, while the leader cannot reach any, and a candidate starts that knows nothing either",
			Breaks:   "nodes that grant although they may have forgotten a lease, or count tokens from 1 again",
			Topology: sim.Quorum,
			Schedule: func(s Shape) faults.Schedule {
				return faults.Schedule{
					s.at(1, 0.35, faults.Crash{}, faults.Follower),
					s.at(1.05, 0.8, faults.Partition{How: faults.CutBoth}, faults.Leader),
					s.at(1.1, 0.1, faults.StoreCrash{}, faults.StoreNode(1)),
					s.at(1.14, 0.1, faults.StoreCrash{}, faults.StoreNode(2)),
					s.at(1.18, 0.1, faults.StoreCrash{}, faults.StoreNode(3)),
				}
			},
			Return: 3,
			Waived: map[checker.Promise]string{checker.FailoverBound: "nodes that lost their data grant nothing for a lease, and without them there is no majority"},
		},
		{
			Name:     "quorum-lagging-nodes",
			Summary:  "two of five independent Redis are frozen while the others restart, and while a leader dies and its successor; then two of those are frozen, and all candidates start again and know nothing",
			Breaks:   "a term that gets a token which is not the largest that its nodes have granted",
			Topology: sim.Quorum,
			Schedule: lagging,
			Return:   3,
			Waived:   map[checker.Promise]string{checker.FailoverBound: "nodes that restarted grant nothing for a lease, and without them there is no majority"},
		},
	}
}

// lagging makes two nodes miss an election, and with a third one the majority of
// the next.
func lagging(s Shape) faults.Schedule {
	restart := faults.StoreCrash{KeepData: true}
	return faults.Schedule{
		s.at(0.4, 2.3, faults.StorePause{}, faults.StoreNode(4)),
		s.at(0.4, 2.3, faults.StorePause{}, faults.StoreNode(5)),
		// When the leader is dead, these count a token for each candidate that
		// they are divided between. The frozen ones count none of that.
		s.at(0.5, 0.1, restart, faults.StoreNode(1)),
		s.at(0.5, 0.1, restart, faults.StoreNode(2)),
		s.at(0.5, 0.1, restart, faults.StoreNode(3)),
		s.at(1.5, 2.1, faults.Crash{}, faults.Leader),
		// Its successor dies before it renews, and the others before they try
		// again: either would tell the frozen ones, as soon as they wake up, how
		// far the others are.
		s.at(2.5, 1.1, faults.Crash{}, faults.All),
		s.at(2.6, 2, faults.StorePause{}, faults.StoreNode(1)),
		s.at(2.6, 2, faults.StorePause{}, faults.StoreNode(2)),
	}
}
