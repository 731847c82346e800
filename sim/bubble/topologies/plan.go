package topologies

import (
	"math/bits"
	"slices"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// Plan is the case as the bubble carries it out.
func (c Case) Plan() sim.Plan {
	p := sim.Plan{
		Scenario: "topologies", Subject: "recount", Seed: c.Number, Nodes: c.Nodes,
		Topology: c.Topology, Servers: c.Servers, Replicas: c.Replicas, Releases: c.Releases,
		Timings: sim.Timings{Lease: c.Lease, Renew: c.Lease / 3, Retry: c.Lease / 15}, Drift: 0.01,
		Writes: c.Lease / 8, Network: sim.Network{Latency: c.Latency, Jitter: c.Latency / 5},
		ReturnBound: 4*c.Lease + returnTime, Quiet: 5*c.Lease + returnTime,
		Promises: c.promises(),
	}
	if c.Releases != nil {
		waits := 2 * c.Lease // who may not use INFO waits for one before each grant
		if c.Topology == sim.Quorum {
			waits *= 5 // and again after each try in which two candidates got nodes
		}
		p.ReturnBound += waits
		p.Quiet += waits
	}
	nodes := p.NodeNames()
	if c.Far > 0 {
		p.Schedule = append(p.Schedule, faults.Step{Fault: settle{c}, Target: faults.Store})
	}
	for _, a := range c.Acts {
		p.Schedule = append(p.Schedule, a.step(nodes, c.lag(a.Server)))
	}
	p.Schedule = append(p.Schedule, faults.Step{At: c.ends() + c.Lease/10, Fault: gather{c}, Target: faults.Store})
	return p
}

// returnTime is what it takes, besides leases, until somebody leads: connections are
// made again, and servers synchronise.
const returnTime = time.Second

// promises are those that the elector makes on such a store, whatever happens: see
// docs/guarantees.md.
func (c Case) promises() []string {
	all := []string{"BeliefWithinLease", "StepsDownOnLoss", "WriteWithinTerm", "LeaderReturns"}
	if c.single() {
		all = append(all, "AtMostOneLeader", "TokensIncrease")
	}
	return all
}

// single reports whether it is promised that one leads at a time.
func (c Case) single() bool {
	if c.Topology == sim.Quorum {
		// Nodes keep their word (A1), but for a minority.
		return bits.OnesCount(c.stepped()) <= (c.Servers-1)/2
	}
	confirmed := c.least() > 0 && 2*c.least() >= c.Servers-1
	return confirmed || !c.Divided() && !c.Returns()
}

// stepped are the servers, as bits, whose clocks are set.
func (c Case) stepped() (which uint) {
	for _, a := range c.Acts {
		if a.Kind == Step {
			which |= 1 << a.Server
		}
	}
	return which
}

// Divided reports whether there may be two primaries at one time that candidates reach.
func (c Case) Divided() bool {
	for _, a := range c.Acts {
		if a.Kind == Promote && a.Stay|a.Linger != 0 {
			return true
		}
	}
	return false
}

// Returns reports whether candidates may be led back to a primary that was replaced and
// may not have heard of it: it was neither told to follow another one nor restarted.
func (c Case) Returns() bool {
	frozen := slices.ContainsFunc(c.Acts, func(a Act) bool { return a.Kind == Freeze })
	unaware := uint(1) // that were primaries, and have not heard that they are not, as bits
	present := 0
	for _, a := range c.Acts {
		bit := uint(1) << a.Server
		switch {
		case a.Kind == Promote && a.Server != present:
			if unaware&bit != 0 {
				return true
			}
			present = a.Server
			unaware |= bit
		case a.Kind == Restart, a.Kind == Follow && a.Server != present && !frozen: // who is frozen does not hear
			unaware &^= bit
			unaware |= 1 << present // it goes on as the primary, if it is that one
		}
	}
	return false
}
