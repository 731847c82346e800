package scenarios

import (
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
)

// store are the scenarios that hit the store itself. They run only where the
// store is private to the run.
func store() []Scenario {
	return []Scenario{
		{
			Name:    "store-pause",
			Summary: "the store is frozen for less than a lease, then for longer than one",
			Breaks:  "a leader that believes while the store is silent, or a follower that takes over because of it",
			Schedule: func(s Shape) faults.Schedule {
				return faults.Schedule{
					s.at(1, 0.4, faults.StorePause{}, faults.Store),
					s.at(2.5, 1.5, faults.StorePause{}, faults.Store),
				}
			},
			Excess: 2.5,
		},
		{
			Name:    "store-restart",
			Summary: "the store is killed and comes back with all its data, twice",
			Breaks:  "a client that does not find back to the store, or scripts that are not sent again",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 2.5, s.at(1, 0.3, faults.StoreCrash{KeepData: true}, faults.Store), s)
			},
			Excess: 2.5,
			Waived: maybeNone(),
		},
		{
			Name:    "store-clock-jump",
			Summary: "the store's clock jumps ahead by less than a lease has left, three times",
			Breaks:  "renewals so rare that a shortened lease ends before the next one",
			Schedule: func(s Shape) faults.Schedule {
				jump := faults.StoreClockJump{By: Leases(0.25).of(s.Lease)}
				return repeat(3, 1.3, s.at(1, 0, jump, faults.Store), s)
			},
			Steadfast: true,
		},
		{
			Name:    "scripts-flushed",
			Summary: "the store forgets its cached scripts, three times",
			Breaks:  "a client that takes NOSCRIPT for a refusal",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(3, 1, s.at(0.5, 0, faults.ScriptsFlushed{}, faults.Store), s)
			},
			Steadfast: true,
		},
	}
}

// forgetful are the scenarios in which the store gives up a lease that its
// holder still believes in: it must give it to nobody else before that belief
// is over. They too run only where the store is private.
func forgetful() []Scenario {
	return []Scenario{
		{
			Name:    "store-loss",
			Summary: "the store is killed and comes back without its data",
			Breaks:  "a resource without a fence, or tokens that begin again",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 3, s.at(1, 0.3, faults.StoreCrash{}, faults.Store), s)
			},
			Excess: 2.5,
			Waived: maybeNone(),
		},
		{
			Name:     "restart-without-data",
			Summary:  "the store restarts without its data while the leader cannot reach it, and a candidate starts that knows nothing either",
			Breaks:   "a store that grants a lease although it may have forgotten one, or counts tokens from 1 again",
			Schedule: func(s Shape) faults.Schedule { return unnoticed(s, faults.StoreCrash{}, 0.1) },
			Excess:   2.5,
			Return:   3,
			Waived:   maybeNone(),
		},
		{
			Name:    "store-clock-leap",
			Summary: "the store's clock jumps ahead by more than a lease: every lease ends at once",
			Breaks:  "a resource without a fence, or a leader that goes on after its renewal was refused",
			Beyond:  "the store gives the lease away while its holder believes: that at most one leads is only measured; the fence still holds",
			Schedule: func(s Shape) faults.Schedule {
				leap := faults.StoreClockJump{By: 2 * s.Lease}
				return repeat(2, 2.5, s.at(1, 0, leap, faults.Store), s)
			},
			Excess: 1.5,
			Waived: map[checker.Promise]string{checker.AtMostOneLeader: voided},
		},
		{
			Name:    "key-deleted",
			Summary: "an operator deletes the lease's key, twice",
			Breaks:  "a renewal that creates the key again, or a leader that goes on after its renewal was refused",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 2.5, s.at(1, 0, faults.KeyDeleted{}, faults.Store), s)
			},
			Excess: 1.5,
		},
	}
}

// noFailoverOwed is why a failover's length is not promised: it may not come
// to one.
const noFailoverOwed = "whether it comes to a failover depends on the moment of the fault; its length is measured"

// maybeNone waives FailoverBound where a failover may or may not happen.
func maybeNone() map[checker.Promise]string {
	return map[checker.Promise]string{checker.FailoverBound: noFailoverOwed}
}
