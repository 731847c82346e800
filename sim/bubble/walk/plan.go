package walk

import (
	"math/bits"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// Plan is the case as the bubble carries it out.
func (c Case) Plan() sim.Plan {
	p := sim.Plan{
		Scenario: "walk", Subject: "recount", Seed: c.Seed, Nodes: c.Nodes,
		Topology: c.Topology, Servers: c.Servers, Replicas: c.Replicas,
		Timings: sim.Timings{Lease: c.Lease, Renew: c.Lease / 3, Retry: c.Lease / 15}, Drift: 0.01,
		Writes: c.Lease / 8, Network: sim.Network{Latency: c.Latency, Jitter: c.Latency / 5},
		ReturnBound: 4*c.Lease + returnTime, Quiet: 5*c.Lease + returnTime,
		Promises: c.promises(),
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
	all := []string{"BeliefWithinLease", "LossHeeded", "WriteWithinTerm", "LeaderReturns"}
	if c.single() {
		all = append(all, "AtMostOneLeader", "TokensIncrease")
	}
	return all
}

// single tells whether it is promised that one leads at a time.
func (c Case) single() bool {
	if c.Topology == sim.Quorum {
		// Nodes keep their word (A1), but for a minority.
		return bits.OnesCount(c.stepped()) <= (c.Servers-1)/2
	}
	replicas := c.Servers - 1
	switch {
	case !c.Divided(), c.Replicas > 0 && c.Replicas == replicas:
		return true
	default:
		return 2*c.Replicas >= replicas && c.Replicas > 0 && c.moveSoon()
	}
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

// Divided tells whether there may be two primaries at one time that candidates reach.
func (c Case) Divided() bool {
	for _, a := range c.Acts {
		if a.Kind == Promote && a.Stay != 0 {
			return true
		}
	}
	return false
}

// moveSoon tells whether after each promotion that some do not hear of all other
// servers are told of it before a lease has passed.
func (c Case) moveSoon() bool {
	for _, a := range c.Acts {
		if a.Kind != Promote || a.Stay == 0 {
			continue
		}
		told := uint(1) << a.Server
		for _, b := range c.Acts {
			if b.Kind == Follow && b.At >= a.At && b.At < a.At+c.Lease {
				told |= 1 << b.Server
			}
		}
		if told != 1<<c.Servers-1 {
			return false
		}
	}
	return true
}

// FailsBack tells whether a primary that was replaced is promoted again without a
// restart in between, after which it would not know itself.
func (c Case) FailsBack() bool {
	present, was := 0, uint(1) // who has been a primary, as bits
	for _, a := range c.Acts {
		switch a.Kind {
		case Promote:
			if a.Server != present && was&(1<<a.Server) != 0 {
				return true
			}
			present = a.Server
			was |= 1 << a.Server
		case Restart:
			was &^= 1 << a.Server
			was |= 1 << present // it goes on as the primary, if it is that one
		}
	}
	return false
}
