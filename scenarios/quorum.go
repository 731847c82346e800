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
	}
}
