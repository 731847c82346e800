package scenarios

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// agreed is why nobody answers for how long a failover takes where several
// servers have to agree on it first.
const agreed = "servers agree among themselves on a new primary first, and how long they take is theirs"

// rejoinable is for how long a replica may have been cut off from its primary:
// after longer, nobody promotes it.
const rejoinable = 3 * time.Second

// Every are all scenarios, those with topologies among them, and those of Attended.
func Every() []Scenario { return slices.Concat(All(), Topologies(), Attended()) }

// Topologies are the scenarios whose store is several servers, which not every
// place has, so they are not among All.
func Topologies() []Scenario { return append(agreeing(), independent()...) }

// agreeing are those whose servers promote one of themselves.
func agreeing() []Scenario {
	return []Scenario{
		{
			Name:     "sentinel-failover",
			Summary:  "the primary is killed, and Sentinels promote a replica that has not seen the present leader's election",
			Breaks:   "a store that grants the lease which it has forgotten, or counts tokens by what it remembers",
			Topology: sim.Sentinel,
			Schedule: lostTerm,
			Return:   3,
			Waived:   map[checker.Promise]string{checker.FailoverBound: agreed},
		},
		{
			Name:     "cluster-failover",
			Summary:  "the node that has the election is killed, and its replica takes over, which has not seen the present leader's election",
			Breaks:   "a client that does not find the new owner of the slot, or a store that grants the lease which it has forgotten",
			Topology: sim.Cluster,
			Schedule: lostTerm,
			Return:   3,
			Waived:   map[checker.Promise]string{checker.FailoverBound: agreed},
		},
		{
			Name:     "isolated-old-master",
			Summary:  "the primary and a minority with the leader are cut off from everybody else, where Sentinels promote a replica",
			Breaks:   "a leader whose renewals only the isolated primary knows of",
			Topology: sim.Sentinel,
			Replicas: 1,
			Schedule: func(s Shape) faults.Schedule {
				return faults.Schedule{s.at(1, 4, faults.StoreSplit{}, faults.Minority)}
			},
			Return: 3,
			Waived: map[checker.Promise]string{
				checker.FailoverBound:     agreed,
				checker.LeaseLinearizable: "the isolated primary goes on renewing a lease that nobody confirms, and in which nobody believes",
			},
		},
	}
}

// lostTerm kills the leader, lets its successor be elected while no replica
// learns of it, and then kills the primary and, for a moment, every candidate:
// nobody is left who knows of the successor's token.
func lostTerm(s Shape) faults.Schedule {
	lag := min(Leases(1.3).of(s.Lease), rejoinable)
	lost := s.at(1.3, 0.3, faults.StoreFailover{Lag: lag}, faults.Store)
	all := s.at(0, 0.4, faults.Crash{}, faults.All)
	all.At = lost.At + lag
	return faults.Schedule{s.at(1, 1, faults.Crash{}, faults.Leader), lost, all}
}
