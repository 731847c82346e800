package topologies

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/space"
)

// Case is one walk, with everything decided.
type Case struct {
	Number   uint64
	Topology sim.Topology // sim.Replicated or sim.Quorum
	Servers  int
	Replicas int // that have to confirm each grant and renewal
	Nodes    int // candidates
	Lease    time.Duration
	Latency  time.Duration    // of a message
	Far      time.Duration    // by how much later than at the nearest one a write is at the farthest replica
	Releases [][2]sim.Release // what each candidate runs in turn, from one life to the next; nil: all run the same
	Acts     []Act            // ordered by time
}

// Kind is what happens at a moment.
type Kind int

// The kinds. What says how long it lasts does so by Act.For.
const (
	Kill   Kind = iota // a candidate is killed, and started again
	Pause              // a candidate stands still
	Cut                // a candidate's way to all servers is cut
	Resign             // a candidate ends by itself, and is started again

	Freeze  // a server stands still
	Restart // a server is killed, and comes back with its data or without it

	Promote // a server is made the primary; candidates in Stay do not hear of it, the connections of those in Silent hang, those of Linger go on with the server before
	Follow  // a server is told to follow the primary: a replica that moves, or a primary that is demoted
	Lead    // a candidate is told of the primary
	Sever   // a server is cut off from the one that it follows: it lags, or does not begin to synchronise
	Forget  // the replicas of a server have to copy all of its data
	Lag     // what the primary has written reaches a server later, by By

	CutOne // a candidate's way to one server is cut
	Slow   // a server is far away from everybody, by By
	Step   // a server's clock is set ahead, or back, by By
	Refuse // a server answers that it cannot serve until it is promoted, in the words that How says
)

var kindNames = [...]string{
	"kill", "pause", "cut", "resign", "freeze", "restart", "promote", "follow", "lead", "sever", "forget", "lag", "cut-one", "slow", "step", "refuse",
}

func (k Kind) String() string { return kindNames[k] }

// Act is something that happens.
type Act struct {
	At     time.Duration
	Kind   Kind
	Node   int           // a candidate, from 0 on; -1: the leader
	Server int           // a server, from 0 on
	Stay   uint          // candidates, as bits
	Silent uint          // likewise
	Linger uint          // likewise
	How    int           // with Refuse: which of redisserver.Unfit
	For    time.Duration // how long it lasts
	By     time.Duration
	Keep   bool // a server that comes back has its data
}

func (a Act) String() string {
	var w space.Words
	w.Add(true, "%v %s", a.At.Round(time.Millisecond), a.Kind)
	w.Add(a.node() && a.Node < 0, "the leader")
	w.Add(a.node() && a.Node >= 0, "n%d", a.Node+1)
	w.Add(a.server(), "s%d", a.Server+1)
	w.Add(a.Stay != 0, "but not for %s", names(a.Stay))
	w.Add(a.Silent != 0, "unnoticed by %s", names(a.Silent))
	w.Add(a.Linger != 0, "only by new connections of %s", names(a.Linger))
	w.Add(a.Kind == Refuse, "with %q", redisserver.Unfit[a.How].Text)
	w.Add(a.By != 0, "by %v", a.By.Round(time.Millisecond))
	w.Add(a.For != 0, "for %v", a.For.Round(time.Millisecond))
	w.Add(a.Keep, "with data")
	return w.String()
}

// names are those of candidates.
func names(bits uint) string {
	var all []string
	for i := range 8 {
		if bits&(1<<i) != 0 {
			all = append(all, fmt.Sprintf("n%d", i+1))
		}
	}
	return strings.Join(all, " ")
}

// node and server report whether the act is done to one of those.
func (a Act) node() bool { return a.Kind < Freeze || a.Kind == Lead || a.Kind == CutOne }

func (a Act) server() bool { return a.Kind >= Freeze && a.Kind != Lead }

// span is how long things happen in a case, in leases.
const span = 8

// Draw draws a case.
func Draw(seed uint64) Case {
	r := rand.New(rand.NewPCG(seed, 0))
	c := Case{
		Number: seed, Topology: sim.Replicated, Servers: 1 + r.IntN(4), Nodes: 2 + r.IntN(4),
		Lease: time.Duration(1+r.IntN(15)) * time.Second,
	}
	c.Latency = space.Between(r, 50*time.Microsecond, c.Lease/50)
	if r.IntN(3) == 0 {
		c.Topology, c.Servers = sim.Quorum, 2+r.IntN(6)
	} else if r.IntN(2) == 0 {
		c.Replicas = r.IntN(c.Servers)
	}
	d := drawer{Case: c, rand: r}
	times := make([]time.Duration, 3+r.IntN(12))
	for i := range times {
		times[i] = time.Duration(r.Int64N(int64(span * c.Lease)))
	}
	slices.Sort(times)
	for _, at := range times {
		d.draw(at)
	}
	d.divide(rand.New(rand.NewPCG(seed, 2)))
	inOrder := func(a, b Act) int { return int(a.At - b.At) }
	slices.SortStableFunc(d.Acts, inOrder)
	d.releases(rand.New(rand.NewPCG(seed, 3)))
	d.addresses(rand.New(rand.NewPCG(seed, 4)))
	slices.SortStableFunc(d.Acts, inOrder)
	d.distances(rand.New(rand.NewPCG(seed, 1)))
	return d.Case
}

// drawer draws acts in the order of their times.
type drawer struct {
	Case
	rand    *rand.Rand
	primary int // the present one
	former  int // the one before
}

// Kinds by topology; some are drawn more often.
var (
	ofReplicas = []Kind{
		Kill, Pause, Cut, Resign, Freeze, Restart, Sever, Forget, Lag,
		Promote, Promote, Promote, Promote, Promote, Promote, Promote, Promote, Promote,
	}
	ofQuorum = []Kind{Kill, Pause, Cut, Resign, Freeze, Restart, Restart, Restart, CutOne, CutOne, Slow, Step}
)

// draw draws an act, and what others do because of it.
func (d *drawer) draw(at time.Duration) {
	r := d.rand
	kinds := ofReplicas
	if d.Topology == sim.Quorum {
		kinds = ofQuorum
	}
	a := Act{
		At: at, Kind: kinds[r.IntN(len(kinds))], Node: r.IntN(d.Nodes), Server: r.IntN(d.Servers),
		For: space.Between(r, d.Lease/20, 2*d.Lease),
	}
	switch a.Kind {
	case Kill, Pause, Cut, Resign:
		if r.IntN(2) == 0 {
			a.Node = -1
		}
	case Promote:
		d.promotion(at)
		return
	case Forget:
		a.For = 0
	case Lag, Slow:
		a.By = space.Between(r, d.Lease/1000, d.Lease/2)
	case Step:
		a.By = time.Duration(r.Int64N(int64(2*d.Lease/3))) - d.Lease/3
	case Restart:
		a.Keep = r.IntN(2) == 0
	}
	d.Acts = append(d.Acts, a)
}

// promotion draws the promotion of a server, half of the time of the one that was
// the primary before, and what comes of it: others are told of it sooner or later, or
// never, and the one that it replaces mostly never.
func (d *drawer) promotion(at time.Duration) {
	r := d.rand
	a := Act{At: at, Kind: Promote, Server: r.IntN(d.Servers)}
	if d.former != d.primary && r.IntN(2) == 0 {
		a.Server = d.former
	}
	if r.IntN(4) == 0 {
		a.Stay = uint(r.IntN(1 << d.Nodes))
	}
	if r.IntN(2) == 0 {
		a.Silent = uint(r.IntN(1 << d.Nodes))
	}
	d.Acts = append(d.Acts, a)
	if a.Server != d.primary {
		d.former, d.primary = d.primary, a.Server
	}
	for i := range d.Servers {
		if i != a.Server && r.IntN(4) < 3 && (i != d.former || r.IntN(2) == 0) {
			d.later(at, Act{Kind: Follow, Server: i})
		}
	}
	for i := range d.Nodes {
		if a.Stay&(1<<i) != 0 && r.IntN(4) < 3 {
			d.later(at, Act{Kind: Lead, Node: i})
		}
	}
	if r.IntN(2) == 0 { // what takes a primary away often takes a candidate, too
		d.later(at, Act{Kind: Kind(r.IntN(int(Resign) + 1)), Node: -1, For: space.Between(r, d.Lease/20, 2*d.Lease)})
	}
}

// divide draws, from numbers of its own, a promotion of which some candidates do not hear
// for some time: others have two primaries then, where replicas have to confirm, and the
// replicas move from one to the other one by one. The one that is promoted may lack what
// the others have.
func (d *drawer) divide(r *rand.Rand) {
	if d.Replicas == 0 || d.Servers < 3 || r.IntN(2) == 0 {
		return
	}
	at, server := time.Duration(r.Int64N(int64(span*d.Lease))), 1+r.IntN(d.Servers-1)
	behind := space.Between(r, d.Lease/20, 2*d.Lease)
	stay := 1 + uint(r.IntN(1<<d.Nodes-2))
	d.Acts = append(d.Acts,
		Act{At: max(0, at-behind), Kind: Sever, Server: server, For: behind + d.Lease},
		Act{At: at, Kind: Promote, Server: server, Stay: stay},
	)
	within := func() time.Duration { return at + time.Duration(r.Int64N(int64(3*d.Lease))) }
	for i := range d.Servers {
		if i != server {
			d.Acts = append(d.Acts, Act{At: within(), Kind: Follow, Server: i})
		}
	}
	for i := range d.Nodes {
		if stay&(1<<i) != 0 {
			d.Acts = append(d.Acts, Act{At: within() + d.Lease, Kind: Lead, Node: i})
		}
	}
}

// releases draws, from numbers of its own, candidates that differ in how many replicas have
// to confirm, and in whether they may use INFO: the first one always may. From one life to
// the next they change, there and back. Where two primaries may be reached, no candidate
// relies on fewer replicas than the case says.
func (d *drawer) releases(r *rand.Rand) {
	if r.IntN(3) > 0 {
		return
	}
	least := d.Replicas
	if !d.Divided() && !d.Returns() {
		least = 0
	}
	for i := range d.Nodes {
		var two [2]sim.Release
		for j := range two {
			two[j].Blind = i > 0 && r.IntN(2) == 0
			if d.Topology == sim.Replicated {
				two[j].Replicas = max(least, r.IntN(d.Servers))
			}
		}
		d.Releases = append(d.Releases, two)
	}
	for range 1 + r.IntN(2*d.Nodes) {
		d.Acts = append(d.Acts, Act{
			At: time.Duration(r.Int64N(int64(span * d.Lease))), Kind: []Kind{Kill, Resign}[r.IntN(2)], Node: r.IntN(d.Nodes), For: d.Lease / 20,
		})
	}
}

// addresses draws, from numbers of its own, promotions of which candidates hear by new
// connections alone: the address leads to the new primary, and what was connected before
// goes on with the server before. That one mostly answers that it cannot serve.
func (d *drawer) addresses(r *rand.Rand) {
	if d.Topology != sim.Replicated || r.IntN(3) > 0 {
		return
	}
	former := 0
	for i := range d.Acts {
		a := &d.Acts[i]
		if a.Kind != Promote || a.Server == former {
			continue
		}
		a.Linger = 1<<d.Nodes - 1
		if r.IntN(2) == 0 {
			a.Linger = uint(r.IntN(1 << d.Nodes))
		}
		a.Linger &^= a.Stay | a.Silent
		if r.IntN(4) > 0 {
			at := max(0, a.At+time.Duration(r.Int64N(int64(d.Lease)))-d.Lease/2)
			d.Acts = append(d.Acts, Act{At: at, Kind: Refuse, Server: former, How: r.IntN(len(redisserver.Unfit))})
		}
		former = d.Acts[i].Server
	}
}

// least is how many replicas have to confirm every lease.
func (c Case) least() int {
	if c.Releases == nil {
		return c.Replicas
	}
	least := c.Servers
	for _, two := range c.Releases {
		least = min(least, two[0].Replicas, two[1].Replicas)
	}
	return least
}

// later adds an act that comes soon after that time.
func (d *drawer) later(at time.Duration, a Act) {
	a.At = at + space.Between(d.rand, d.Lease/100, 2*d.Lease)
	d.Acts = append(d.Acts, a)
}

// Scaled is the same case with another lease, and all times with it.
func (c Case) Scaled(lease time.Duration) Case {
	scale := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) * float64(lease) / float64(c.Lease))
	}
	c.Acts = slices.Clone(c.Acts)
	for i := range c.Acts {
		a := &c.Acts[i]
		a.At, a.For, a.By = scale(a.At), scale(a.For), scale(a.By)
	}
	c.Latency, c.Far, c.Lease = scale(c.Latency), scale(c.Far), lease
	return c
}

// Without is the case without acts of these kinds.
func (c Case) Without(kinds ...Kind) Case {
	c.Acts = slices.DeleteFunc(slices.Clone(c.Acts), func(a Act) bool { return slices.Contains(kinds, a.Kind) })
	return c
}

// Simpler are cases that are simpler in one thing.
func (c Case) Simpler() []Case {
	var all []Case
	add := func(change func(*Case)) {
		one := c
		one.Acts = slices.Clone(c.Acts)
		change(&one)
		all = append(all, one)
	}
	for i, a := range c.Acts {
		add(func(one *Case) { one.Acts = slices.Delete(one.Acts, i, i+1) })
		if a.Stay != 0 {
			add(func(one *Case) { one.Acts[i].Stay = 0 })
		}
		if a.Silent != 0 {
			add(func(one *Case) { one.Acts[i].Silent = 0 })
		}
		if a.Linger != 0 {
			add(func(one *Case) { one.Acts[i].Linger = 0 })
		}
	}
	if most := c.most(func(a Act) (int, bool) { return a.Server, a.server() }); c.Servers > max(most+1, c.Replicas+1, 1) {
		add(func(one *Case) { one.Servers-- })
	}
	if most := c.most(func(a Act) (int, bool) { return a.Node, a.node() }); c.Nodes > max(most+1, 2) {
		add(func(one *Case) {
			one.Nodes--
			one.Releases = one.Releases[:min(one.Nodes, len(one.Releases))]
			for i := range one.Acts {
				one.Acts[i].Stay &= 1<<one.Nodes - 1
				one.Acts[i].Silent &= 1<<one.Nodes - 1
				one.Acts[i].Linger &= 1<<one.Nodes - 1
			}
		})
	}
	if c.Replicas > 0 {
		add(func(one *Case) { one.Replicas = 0 })
	}
	if c.Releases != nil {
		add(func(one *Case) { one.Releases = nil })
	}
	if c.Far > 0 {
		add(func(one *Case) { one.Far = 0 })
	}
	return all
}

// most is the largest number that acts name, -1 if they name none.
func (c Case) most(of func(Act) (number int, named bool)) int {
	most := -1
	for _, a := range c.Acts {
		if n, named := of(a); named {
			most = max(most, n)
		}
	}
	return most
}
