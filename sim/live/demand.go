package live

import (
	"math"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/protocol"
)

// Demand is what a run asks of the Redis that it is given, at the most.
type Demand struct {
	Connections int           // at once
	Ops         float64       // commands in the busiest second, as INFO counts them: those that scripts call, too
	Keys        int           // at once
	Lasts       time.Duration // of the run, until its candidates are ended
}

// What the parts of a run ask for: commands, those that their scripts call included.
// TestDemand holds them against what a server counts.
const (
	askedByObserve = 4  // who leads?
	askedByRenewal = 12 // of a lease
	askedByAttempt = 18 // to acquire a lease that another one holds, once a lease
	askedByDrain   = 6  // of what the store noted
	askedByLoad    = 2  // the harness's look at the server's load
	askedByConnect = 30 // the greetings of a candidate's connections, and what they listen to

	connectionsOfCandidate = 5 // the most that its pool opens, and one for announcements; mostly it is two
	connectionsAfterFault  = 1 // more, of a candidate whose old connections hang
	connectionsOfHarness   = 6 // its own clients, and proofs that a fault is on or off
	connectionsOfProbe     = 1

	keysOfElection = 7
)

// DemandOf is what a run of the plan asks of one server, if its candidates do as the
// elector of this project does. Nobody knows what those of others do.
func DemandOf(plan sim.Plan) Demand {
	nodes := float64(plan.Nodes)
	every := func(d time.Duration) float64 { return 1 / d.Seconds() }
	lease := plan.Timings.Lease
	candidates := nodes*askedByObserve*every(plan.Asks()) +
		nodes*askedByAttempt*every(lease) +
		askedByRenewal*every(plan.Timings.Renew)
	harness := askedByDrain*every(lease/drainShare) +
		(askedByLoad+1)*every(lease/protocol.StallShare) + // and whether the server answers
		keysOfElection*every(leftoverLook) +
		every(probeEvery)
	return Demand{
		Connections: plan.Nodes*connectionsOfCandidate + cutOff(plan)*connectionsAfterFault + connectionsOfHarness,
		Ops:         math.Ceil(candidates + harness + nodes*(askedByAttempt+askedByConnect)),
		Keys:        keysOfElection,
		Lasts:       plan.Schedule.End() + plan.Quiet,
	}
}

// Beside is what two runs ask for that go on side by side.
func (d Demand) Beside(other Demand) Demand {
	return Demand{
		Connections: d.Connections + other.Connections, Ops: d.Ops + other.Ops, Keys: d.Keys + other.Keys,
		Lasts: max(d.Lasts, other.Lasts),
	}
}

// Probed is the demand of runs with the probe that watches over them, and with the
// register in which they stand.
func (d Demand) Probed() Demand {
	d.Connections += connectionsOfProbe
	d.Keys++
	return d
}

// cutOff is how many candidates the schedule may keep from the server by a fault on
// their way.
func cutOff(plan sim.Plan) int {
	hit := 0
	for _, step := range plan.Schedule {
		switch effect := step.Fault.Effect(); {
		case effect.Store || effect.Instant:
		case step.Target == faults.All:
			return plan.Nodes
		case step.Target == faults.Minority:
			hit += (plan.Nodes - 1) / 2
		default:
			hit++
		}
	}
	return min(hit, plan.Nodes)
}
