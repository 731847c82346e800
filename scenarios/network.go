package scenarios

import (
	"github.com/recount-io/recount/faults"
)

// partitions are the scenarios that cut the ways between candidates and store.
func partitions() []Scenario {
	return []Scenario{
		{
			Name:    "partition-leader",
			Summary: "the leader is cut off from the store: first silently, then with refused, then with reset connections",
			Breaks:  "a leader that believes for as long as it hears nothing, or that anchors its lease at the reply instead of the request",
			Schedule: func(s Shape) faults.Schedule {
				// Not in whole leases: a cut at the very time of a renewal hits it
				// or does not, by chance.
				return faults.Schedule{
					s.at(1.2, 1.8, faults.Partition{How: faults.CutBoth}, faults.Leader),
					s.at(4.1, 1.8, faults.Partition{How: faults.CutRefused}, faults.Leader),
					s.at(7.2, 1.8, faults.Partition{How: faults.CutReset}, faults.Leader),
				}
			},
		},
		{
			Name:    "partition-follower",
			Summary: "a follower is cut off from the store, for longer than a lease",
			Breaks:  "a follower that takes the silence of the store for the death of the leader",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 3, s.at(0.5, 1.8, faults.Partition{How: faults.CutBoth}, faults.Follower), s)
			},
			Steadfast: true,
		},
		{
			Name:    "partition-minority",
			Summary: "a minority of the candidates, the leader among them, is cut off from the store",
			Breaks:  "a failover that needs those who are cut off",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 3.5, s.at(1, 1.8, faults.Partition{How: faults.CutBoth}, faults.Minority), s)
			},
		},
		{
			Name:    "partition-all",
			Summary: "all candidates are cut off from the store, for longer than a lease",
			Breaks:  "a candidate that leads because nobody contradicts, or that does not come back when it can",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 3.5, s.at(1, 1.5, faults.Partition{How: faults.CutBoth}, faults.All), s)
			},
			Excess: 2.5,
		},
	}
}

// losses are the scenarios in which something still passes between candidates
// and store: one direction, for a moment, or slowly.
func losses() []Scenario {
	return []Scenario{
		{
			Name:    "requests-lost",
			Summary: "the leader's requests do not reach the store; its connections seem alive",
			Breaks:  "a request without a time-out, or a time-out that ends after the lease does",
			Schedule: func(s Shape) faults.Schedule {
				return repeat(2, 3.5, s.at(1, 1.8, faults.Partition{How: faults.CutRequests}, faults.Leader), s)
			},
		},
		{
			Name:    "replies-lost",
			Summary: "the leader's requests are executed, their replies are lost; then the same for all candidates",
			Breaks:  "an acquisition that is not idempotent: the candidate holds the lease and does not know",
			Schedule: func(s Shape) faults.Schedule {
				return faults.Schedule{
					s.at(1, 1.8, faults.Partition{How: faults.CutReplies}, faults.Leader),
					s.at(5, 1.8, faults.Partition{How: faults.CutReplies}, faults.All),
				}
			},
			Excess: 4,
			Return: 2.5,
		},
		{
			Name:    "flapping-network",
			Summary: "the leader's way to the store breaks and heals again and again, each time for less than a lease",
			Breaks:  "a leader that gives up after one failed request, or a client that cannot come back",
			Schedule: func(s Shape) faults.Schedule {
				var flaps faults.Schedule
				for i := range 8 {
					how := faults.Cuts[i%len(faults.Cuts)]
					flaps = append(flaps, s.at(0.5+0.8*Leases(i), 0.3, faults.Partition{How: how}, faults.Leader))
				}
				return flaps
			},
			Steadfast: true, // a renewal, its time-out and another try fit into a lease
		},
		{
			Name:    "latency-spike",
			Summary: "for a moment the store's answers to the leader take half a lease",
			Breaks:  "a leader that cannot live through answers that come too late for their time-outs",
			Schedule: func(s Shape) faults.Schedule {
				spike := faults.Latency{Base: s.Lease / 4, Jitter: s.Lease / 20}
				return repeat(3, 2.5, s.at(0.5, 0.6, spike, faults.Leader), s)
			},
			Excess: 1.5,
			Waived: maybeNone(),
		},
		{
			Name:    "slow-renewals",
			Summary: "the store's answers to all candidates are slow, and the leader's way is narrow, but not too much so",
			Breaks:  "request time-outs that are shorter than they need to be: the leader would lose a lease that it could keep",
			Schedule: func(s Shape) faults.Schedule {
				return faults.Schedule{
					s.at(0.5, 3, faults.Latency{Base: s.Lease / 25, Jitter: s.Lease / 50}, faults.All),
					s.at(4.5, 2, faults.Bandwidth{Kilobytes: 8}, faults.Leader),
				}
			},
			Excess:    1,
			Steadfast: true,
		},
	}
}

// combinations are the scenarios in which two faults together show what neither
// shows alone.
func combinations() []Scenario {
	return []Scenario{
		{
			Name:    "reply-lost-grant",
			Summary: "the leader crashes, and replies are lost from just before its lease ends: the candidate that gets it next does not hear of it",
			Breaks:  "an acquisition that is not idempotent, or whose repetition says yes and does not make the lease last again",
			Schedule: func(s Shape) faults.Schedule {
				// A request reaches the store only on a connection that stood
				// before: the greeting of a new one is lost as well. So the cut
				// begins when everybody has asked for the last time before the
				// end of the lease. The first one heals early: the lease that
				// nobody knows of has most of its time before it. The second
				// heals shortly before that ends.
				return faults.Schedule{
					s.at(1.5, 2, faults.Crash{}, faults.Leader),
					s.at(2.05, 0.2, faults.Partition{How: faults.CutReplies}, faults.All),
					s.at(5.02, 2, faults.Crash{}, faults.Leader),
					s.at(5.52, 0.87, faults.Partition{How: faults.CutReplies}, faults.All),
				}
			},
		},
		{
			Name:    "late-release",
			Summary: "the leader's way becomes slow just before it resigns, so that its release arrives when somebody else leads; that one is cut off then, its lease deleted unless nothing but that key is known of the elector's lease, and a candidate starts that knows nothing",
			Breaks:  "a release that ends a lease which is not its own, or that says nobody believes in one any more",
			Schedule: func(s Shape) faults.Schedule {
				// The release takes longer than the lease has left that it is to
				// end, and arrives between two renewals of the next leader, who
				// is cut off since the first of them.
				late := faults.Latency{Base: Leases(1.25).of(s.Lease)}
				once := faults.Schedule{
					s.at(1.05, 1.8, late, faults.Leader),
					s.at(1.12, 2.2, faults.Resign{}, faults.PresentLeader),
					s.at(2.05, 0.4, faults.Crash{}, faults.Follower),
					s.at(2.2, 0.8, faults.Partition{How: faults.CutBoth}, faults.Leader),
				}
				if !s.OneKey {
					// Another key that shows that somebody may still believe
					// keeps the next one out.
					once = append(once, s.at(2.35, 0, faults.KeyDeleted{}, faults.Store))
				}
				return again(3, 5.1, once, s)
			},
			Waived: maybeNone(),
		},
		{
			Name:    "slow-then-cut",
			Summary: "the store's answers to the leader are slow, and then its way to the store is cut, five times",
			Breaks:  "a lease counted from the reply: the leader would believe for longer than the store keeps the lease",
			Schedule: func(s Shape) faults.Schedule {
				// What counts is where in its rhythm the cut hits the leader:
				// between an answer and the next renewal. Hence several.
				return append(
					repeat(5, 3.1, s.at(0.4, 0.6, faults.Latency{Base: s.Lease / 15}, faults.Leader), s),
					repeat(5, 3.1, s.at(1, 1.5, faults.Partition{How: faults.CutBoth}, faults.Leader), s)...)
			},
		},
	}
}
