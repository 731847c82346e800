package scenarios

import (
	"math/rand/v2"
	"time"

	"github.com/recount-io/recount/faults"
)

// random are the scenarios whose faults are drawn from the seed.
func random() []Scenario {
	return []Scenario{{
		Name:     "mixed",
		Summary:  "random faults of the network, of processes and of clocks if these can be set, from the seed",
		Breaks:   "a combination that nobody thought of",
		Schedule: mixed,
		Excess:   4,
		Return:   2.5,
		Waived:   maybeNone(),
	}}
}

// mixed draws two sequences of faults that overlap each other: one of the
// network, one of processes and clocks. Within a sequence a fault is over
// before the next one begins.
func mixed(s Shape) faults.Schedule {
	span := max(s.Duration, Leases(9).of(s.Lease))
	networks := sequence(s, span, func(r *rand.Rand) faults.Fault {
		switch r.IntN(7) {
		case 0, 1, 2, 3, 4:
			return faults.Partition{How: faults.Cuts[r.IntN(len(faults.Cuts))]}
		case 5:
			base := Leases(0.1 + 0.4*r.Float64()).of(s.Lease)
			return faults.Latency{Base: base, Jitter: base / 4}
		default:
			return faults.Bandwidth{Kilobytes: 4 + r.IntN(8)}
		}
	})
	processes := sequence(s, span, func(r *rand.Rand) faults.Fault {
		switch n := r.IntN(5); {
		case n == 0, n == 4 && s.FixedClocks:
			return faults.Pause{}
		case n <= 2:
			return faults.Crash{}
		case n == 3:
			return faults.Resign{}
		default:
			return faults.ClockRate{Rate: 1 + nearDrift*s.Drift*(2*r.Float64()-1)}
		}
	})
	return append(networks, processes...)
}

// sequence draws faults one after the other until span is full. Half of them
// hit the leader.
func sequence(s Shape, span time.Duration, draw func(*rand.Rand) faults.Fault) faults.Schedule {
	var steps faults.Schedule
	for begin := Leases(0.5); begin.of(s.Lease) < span; {
		length := Leases(0.2 + 1.6*s.Random.Float64())
		target := faults.Leader
		if s.Random.IntN(2) == 0 {
			target = faults.Follower
		}
		steps = append(steps, s.at(begin, length, draw(s.Random), target))
		begin += length + Leases(0.5+s.Random.Float64())
	}
	return steps
}
