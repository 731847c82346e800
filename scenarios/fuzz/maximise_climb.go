package fuzz

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// gene is a step of a schedule as the search changes it.
type gene struct {
	role   int // whom it hits: see genome.node
	fault  faults.Fault
	at     time.Duration // since the first leader is at work
	length time.Duration
}

// leads is the role of the present leader. The others count the candidates, the first
// leader first.
const leads = -1

// genome is a case in the making.
type genome struct {
	seed     uint64
	network  sim.Network
	observes time.Duration
	genes    []gene

	leader int           // index of the first leader
	asked  time.Duration // when it asked for its lease, since it is at work: negative
}

// climb is one way up from one beginning.
type climb struct {
	kind  int // of the beginning
	tried int
	best  extreme
	wrong extreme // beyond its own bound, where that is not the one that is climbed to
	cases [2]Case // those of best and wrong
	top   genome
	err   error
}

// The kinds of beginnings.
const (
	byHint    = iota // followers with slow clocks are told of a lease, whose holder then dies
	byRenewal        // followers' clocks become slow before they are told; the leader dies in the middle of a renewal
	byWaking         // the leader sleeps until just before its deadline, renews, and dies
	byCut            // the leader is cut off
	byChance         // anything
	beginnings
)

// climber is a climb under way.
type climber struct {
	*search
	climb
	random *rand.Rand
	world  virtual.World
	ctx    context.Context
}

// climb makes one climb: the worst so far, or a new beginning, is changed a
// little again and again, and what is not better is forgotten.
func (s *search) climb(ctx context.Context, number uint64, budget int) climb {
	c := &climber{search: s, random: rand.New(rand.NewPCG(s.Seed, number)), ctx: ctx}
	c.world.Subjects = s.Subjects
	c.kind = c.random.IntN(beginnings)
	var g genome
	if elite := &s.elite[c.kind]; elite.best.found && c.random.IntN(3) > 0 {
		g = elite.top
		c.best, c.cases, c.top = elite.best, elite.cases, elite.top
	} else {
		g = c.begin()
	}
	for c.tried < budget && c.err == nil && ctx.Err() == nil {
		c.try(g)
		if !c.best.found {
			g = c.begin()
			continue
		}
		g = c.changed(c.top)
	}
	return c.climb
}

// try runs a genome and keeps it if it is the worst of the climb.
func (c *climber) try(g genome) {
	c.tried++
	one := c.build(g)
	m, err := c.run(&one)
	if err != nil {
		c.err = err
		return
	}
	if m == nil || m.missed {
		return
	}
	x, y := m.extremes(c.Goal)
	if c.broken(y) != "" && !c.wrong.found {
		c.wrong, c.cases[1] = y, one
	}
	if x.found && (!c.best.found || x.length >= c.best.length) {
		c.best, c.cases[0], c.top = x, one, g
	}
}

func (c *climber) run(one *Case) (*measured, error) { return one.measure(c.ctx, &c.world) }

// measure runs a case and measures it.
func (c *Case) measure(ctx context.Context, w World) (*measured, error) {
	h, err := w.Run(ctx, c.Plan(), "")
	if err != nil {
		return nil, err
	}
	return measure(h), nil
}

// build is the genome as a case.
func (c *climber) build(g genome) Case {
	one := c.base
	one.Seed, one.Network, one.Observes = g.seed, g.network, g.observes
	for _, gene := range g.genes {
		step := faults.Step{At: max(gene.at, 0), For: max(gene.length, time.Microsecond), Fault: gene.fault, Target: faults.Leader}
		if gene.role != leads {
			step.Target = faults.Node(g.node(gene.role))
		}
		one.Schedule = append(one.Schedule, step)
	}
	one.Schedule = one.Schedule.Sorted()
	one.Quiet = one.Timings.Lease*3/2 + legs*worst(one.Network)
	return one
}

// node is the name of a role's candidate.
func (g *genome) node(role int) string {
	switch {
	case role == 0:
		return nodeNames[g.leader]
	case role <= g.leader:
		return nodeNames[role-1]
	default:
		return nodeNames[role]
	}
}

// settle finds out how the genome's run begins: who leads first, and when it
// asked for its lease.
func (c *climber) settle(g *genome) {
	one := c.build(genome{seed: g.seed, network: g.network, observes: g.observes})
	one.Quiet = 0
	m, err := c.run(&one)
	if err != nil || m == nil {
		return
	}
	for _, t := range m.holdings {
		if t.served >= 0 {
			g.leader = max(slices.Index(m.nodes, t.node), 0)
			g.asked = t.asked - t.served
			return
		}
	}
}

// begin is a new beginning of the climb's kind.
func (c *climber) begin() genome {
	g := genome{seed: c.random.Uint64N(1 << 32), observes: c.base.Observes}
	g.network = c.anyNetwork()
	c.settle(&g)
	lease, renew := c.base.Timings.Lease, c.base.Timings.Renew
	slow, fast := c.slow(), faults.ClockRate{Rate: micro(1 + c.base.Drift)}
	all := func(rate faults.ClockRate, from time.Duration) {
		for role := 1; role < c.base.Nodes; role++ {
			g.genes = append(g.genes, gene{role, rate, from, 3 * lease})
		}
	}
	switch c.kind {
	case byHint:
		all(slow, 0)
		g.genes = append(g.genes, gene{0, faults.Crash{}, c.upTo(renew), 2 * lease})
	case byRenewal:
		all(slow, lease-c.upTo(10*time.Millisecond))
		at := g.asked + renew*time.Duration(1+c.random.IntN(4))
		g.genes = append(g.genes, gene{0, faults.Crash{}, at + c.upTo(2*c.most()), 2 * lease})
	case byWaking:
		all(slow, lease-c.upTo(10*time.Millisecond))
		deadline := g.asked + time.Duration(float64(usableFor(lease, c.base.Drift))/slow.Rate)
		wake := deadline - c.upTo(6*c.most())
		g.genes = append(g.genes,
			gene{0, slow, 0, 3 * lease},
			gene{0, faults.Pause{}, c.upTo(renew / 2), 0},
			gene{0, faults.Crash{}, wake + c.upTo(8*c.most()), 2 * lease})
		pause := &g.genes[len(g.genes)-2]
		pause.length = wake - pause.at
	case byCut:
		g.genes = append(g.genes,
			gene{0, slow, 0, 3 * lease},
			gene{0, c.anyFault(), g.asked + renew*time.Duration(c.random.IntN(3)) + c.upTo(10*c.most()), 2 * lease})
		if c.random.IntN(2) == 0 {
			all(fast, c.upTo(lease))
		} else {
			all(slow, c.upTo(lease))
		}
	default:
		for range 1 + c.random.IntN(5) {
			g.genes = append(g.genes, c.anyGene())
		}
	}
	return g
}

// slow is the slowest clock that the drift allows for.
func (c *climber) slow() faults.ClockRate {
	return faults.ClockRate{Rate: math.Ceil((1-c.base.Drift)*1e6-1e-6) / 1e6}
}

func (c *climber) upTo(d time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(max(d, 1)) + 1))
}

func (c *climber) most() time.Duration { return c.worst.Limits.Most }

// anyNetwork is one whose messages take no longer and no shorter than the
// base's: mostly all of them as long as possible, or as short.
func (c *climber) anyNetwork() sim.Network {
	least, most := c.worst.Limits.Least, c.most()
	shortest := sim.Network{Latency: least}
	longest := sim.Network{Latency: most}
	if c.Goal == DualBelief {
		longest, shortest = shortest, longest
	}
	switch c.random.IntN(6) {
	case 0:
		return c.base.Network
	case 1:
		return shortest
	case 2:
		at := least + c.upTo(most-least)
		return sim.Network{Latency: at, Jitter: c.upTo(most - at)}
	default:
		return longest
	}
}

// anyGene is a step like those of a fuzz run that stay within the bound.
func (c *climber) anyGene() gene {
	lease := c.base.Timings.Lease
	x := gene{role: c.random.IntN(c.base.Nodes), at: c.upTo(3 * lease), length: c.upTo(2 * lease)}
	if c.random.IntN(2) == 0 {
		rates := []float64{c.slow().Rate, micro(1 + c.base.Drift), micro(1 + c.base.Drift*(2*c.random.Float64()-1)*nearDrift)}
		x.fault = faults.ClockRate{Rate: rates[c.random.IntN(len(rates))]}
		return x
	}
	x.fault = c.anyFault()
	if c.random.IntN(2) == 0 {
		x.role = leads
	}
	return x
}

// anyFault is one that ends what a leader can do. Those that make its messages
// slower would make the bound grow by as much, and are left out.
func (c *climber) anyFault() faults.Fault {
	list := []faults.Fault{faults.Crash{}, faults.Pause{}, faults.Resign{}}
	for _, how := range faults.Cuts {
		list = append(list, faults.Partition{How: how})
	}
	return list[c.random.IntN(len(list))]
}

// changed is a genome with one thing or two changed.
func (c *climber) changed(g genome) genome {
	g.genes = slices.Clone(g.genes)
	for range 1 + c.random.IntN(2) {
		switch n := c.random.IntN(20); {
		case n == 0:
			g.network = c.anyNetwork()
			c.settle(&g)
		case n == 1:
			g.seed = c.random.Uint64N(1 << 32)
			c.settle(&g)
		case n == 2:
			g.observes = c.moved(g.observes, c.base.Timings.Lease/2)
			g.observes = max(g.observes, c.base.Timings.Lease/4)
			c.settle(&g)
		case n == 3 && len(g.genes) < 2*c.base.Nodes+4:
			g.genes = append(g.genes, c.anyGene())
		case n == 4 && len(g.genes) > 1:
			i := c.random.IntN(len(g.genes))
			g.genes = slices.Delete(g.genes, i, i+1)
		case len(g.genes) > 0:
			c.change(&g, c.random.IntN(len(g.genes)))
		}
	}
	return g
}

// change changes a step.
func (c *climber) change(g *genome, i int) {
	x := &g.genes[i]
	lease := c.base.Timings.Lease
	switch n := c.random.IntN(10); {
	case n == 0:
		other := c.anyGene()
		x.fault = other.fault
	case n == 1:
		x.role = c.anyGene().role
	case n < 6:
		x.at = max(c.moved(x.at, lease), 0)
	case n < 8: // the end stays
		end := x.at + x.length
		x.at = max(c.moved(x.at, lease), 0)
		x.length = max(end-x.at, 0)
	default:
		x.length = max(c.moved(x.length, lease), 0)
	}
}

// moved is a time that is a little longer or shorter, or much, or by what a few
// messages take.
func (c *climber) moved(t, scale time.Duration) time.Duration {
	sign := time.Duration(1 - 2*c.random.IntN(2))
	if c.random.IntN(3) == 0 {
		return t + sign*c.most()*time.Duration(1+c.random.IntN(4))/2
	}
	by := math.Exp(c.random.Float64() * math.Log(float64(max(scale/time.Microsecond, 2)))) // 1 µs to scale, all sizes alike
	return t + sign*time.Duration(by*float64(time.Microsecond)).Round(time.Microsecond)
}
