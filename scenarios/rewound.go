package scenarios

import (
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
)

// rewound are the scenarios in which the store goes back to what it was, or is
// two stores for a while. They run only where the store is private.
func rewound() []Scenario {
	return []Scenario{
		{
			Name:    "store-rewind",
			Summary: "the store is killed and comes back with the data of a lease before, and then without the term of the present leader",
			Breaks:  "tokens that are counted by the store alone: the next term gets that of the one which was forgotten",
			Schedule: func(s Shape) faults.Schedule {
				return append(
					forgottenTerm(s, faults.StoreRewind{By: Leases(1.3).of(s.Lease)}),
					s.at(1, 0.3, faults.StoreRewind{By: s.Lease}, faults.Store),
				)
			},
			Excess: 2.5,
			Waived: maybeNone(),
		},
		{
			Name:    "store-failover",
			Summary: "the store's primary is lost, and a replica is promoted that lags behind, then one that has not seen the present leader's election",
			Breaks:  "tokens that are counted by the store alone: the next term gets that of the one which was forgotten",
			Schedule: func(s Shape) faults.Schedule {
				return append(
					forgottenTerm(s, faults.StoreFailover{Lag: Leases(1.3).of(s.Lease)}),
					s.at(1, 0.3, faults.StoreFailover{Lag: Leases(0.6).of(s.Lease)}, faults.Store),
				)
			},
			Excess: 2.5,
			Waived: maybeNone(),
		},
		{
			Name:    "store-split",
			Summary: "an isolated old primary goes on renewing the leader's lease, while a promoted replica gives it to somebody else",
			Breaks:  "a leader that goes on when the old primary, and with it the lease, is gone",
			Beyond: "two stores are two elections, and each counts tokens of its own: while they are two, leaders and tokens are only measured; " +
				"that a leader heeds what its own store tells it still holds, and that all is one again afterwards",
			Schedule: func(s Shape) faults.Schedule {
				return faults.Schedule{s.at(1, 2.5, faults.StoreSplit{Lag: Leases(0.1).of(s.Lease)}, faults.Minority)}
			},
			Excess: 2.5,
			Waived: map[checker.Promise]string{
				checker.AtMostOneLeader:   "two stores give the lease away at one time",
				checker.TokensIncrease:    "two stores count tokens, and neither knows of the other's",
				checker.LeaseLinearizable: "the store is two stores for a while, and each of them has a lease of its own",
				checker.FailoverBound:     noFailoverOwed,
			},
		},
	}
}

// forgottenTerm makes the store forget an election, in the fourth lease and
// later: the fault begins after the leader's death, and what the store goes
// back to is older than the successor's term, but its lease is over by then.
func forgottenTerm(s Shape, forget faults.Fault) faults.Schedule {
	return faults.Schedule{
		s.at(4, 5, faults.Crash{}, faults.Leader),
		s.at(4.3, 0.3, forget, faults.Store),
	}
}
