package failover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// Cause is what ends a term, so that somebody else has to lead.
type Cause struct {
	Name    string
	Summary string // what happens, in one clause

	topology sim.Topology
	perRun   int              // failovers of one run
	every    scenarios.Leases // from one to the next
	lasts    scenarios.Leases // the fault; so long must be enough for a failover
	fault    faults.Fault
	target   faults.Target
	rolling  bool            // each candidate in turn is hit, and not target
	far      *faults.Latency // on every candidate's way to the store, all the time; nil: none
}

// perRun is how many failovers a run has: enough that its start costs little, and few
// enough that a sample has many runs.
const perRun = 10

// Causes are all there are, in the order in which they are listed.
func Causes() []Cause {
	cut := func(how faults.Cut) faults.Fault { return faults.Partition{How: how} }
	return []Cause{
		{Name: "crash", Summary: "the leader's process is killed", every: 2.2, lasts: 1.6, fault: faults.Crash{}, target: faults.Leader},
		{Name: "resign", Summary: "the leader resigns and exits", every: 1.4, lasts: 0.8, fault: faults.Resign{}, target: faults.Leader},
		{Name: "transfer", Summary: "the leader hands its lease over to another candidate, and goes on competing", every: 1.4, fault: faults.Transfer{}, target: faults.Leader},
		{Name: "rolling-restart", Summary: "one candidate after the other resigns, exits and is started again, as in a deployment", every: 1.4, lasts: 0.4, fault: faults.Resign{}, rolling: true},
		{Name: "pause", Summary: "the leader's process is suspended", every: 2.8, lasts: 1.8, fault: faults.Pause{}, target: faults.Leader},
		{Name: "cut", Summary: "nothing passes between the leader and the store; its connections stay open", every: 2.8, lasts: 1.8, fault: cut(faults.CutBoth), target: faults.Leader},
		{Name: "cut-refused", Summary: "the leader's connections are closed, and new ones refused", every: 2.8, lasts: 1.8, fault: cut(faults.CutRefused), target: faults.Leader},
		{Name: "cut-reset", Summary: "the leader's connections are reset, and new ones too", every: 2.8, lasts: 1.8, fault: cut(faults.CutReset), target: faults.Leader},
		{Name: "requests-lost", Summary: "the leader's requests are lost", every: 2.8, lasts: 1.8, fault: cut(faults.CutRequests), target: faults.Leader},
		{Name: "replies-lost", Summary: "the leader's requests are executed, and their replies lost", every: 2.8, lasts: 1.8, fault: cut(faults.CutReplies), target: faults.Leader},
		{Name: "store-restart", Summary: "the store is killed, and comes back with its data when every lease is over", every: 5, lasts: 1.3, fault: faults.StoreCrash{KeepData: true}, target: faults.Store},
		{Name: "sentinel-failover", Summary: "the primary is killed, and Sentinels promote a replica", perRun: 1, topology: sim.Sentinel, lasts: 1, fault: faults.StoreFailover{}, target: faults.Store},
		{Name: "cluster-failover", Summary: "the node that has the election is killed, and its replica takes over", perRun: 1, topology: sim.Cluster, lasts: 1, fault: faults.StoreFailover{}, target: faults.Store},
	}
}

// Find returns the causes of these names, each once, in their order.
func Find(names ...string) ([]Cause, error) {
	all := Causes()
	var known []string
	for _, c := range all {
		known = append(known, c.Name)
	}
	var found []Cause
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("no cause of a failover is called %q%s: give some of %s", name, spelling.Hint(name, known), strings.Join(known, ", "))
		}
		if !slices.ContainsFunc(found, func(c Cause) bool { return c.Name == name }) {
			found = append(found, all[i])
		}
	}
	return found, nil
}

// measured is why no failover is too long here.
const measured = "how long failovers take is what is measured"

// Times is how many failovers one run of the cause has.
func (c Cause) Times() int {
	if c.perRun > 0 {
		return c.perRun
	}
	return perRun
}

// Scenario is one run: the cause so many times, each time at a drawn moment between two
// renewals.
func (c Cause) Scenario() scenarios.Scenario {
	return scenarios.Scenario{
		Name: c.Name, Summary: c.Summary, Breaks: "nothing: it measures", Nodes: DefaultNodes, Topology: c.topology, Schedule: c.schedule, NeedsLeader: true,
		Waived: map[checker.Promise]string{checker.FailoverBound: measured, checker.LeaderReturns: measured},
	}
}

// DefaultNodes is how many candidates there are: as many as most deployments have.
const DefaultNodes = 3

func (c Cause) schedule(s scenarios.Shape) faults.Schedule {
	leases := func(n scenarios.Leases) time.Duration { return time.Duration(float64(n) * float64(s.Lease)) }
	var all faults.Schedule
	for i := range c.Times() {
		step := faults.Step{
			At:  leases(1+scenarios.Leases(i)*c.every) + time.Duration(s.Random.Int64N(int64(s.Renew))),
			For: leases(c.lasts), Fault: c.fault, Target: c.target,
		}
		if c.rolling {
			step.Target = faults.Node(s.Nodes[i%len(s.Nodes)])
		}
		all = append(all, step)
	}
	if c.far != nil {
		all = append(all, faults.Step{For: all.End() + s.Lease, Fault: *c.far, Target: faults.All})
	}
	return all
}

// Far is the cause where every candidate's way to the store takes longer, all the time.
func (c Cause) Far(latency faults.Latency) Cause {
	c.far = &latency
	if c.target == faults.Leader { // which is one that no other fault hits
		c.target = faults.PresentLeader
	}
	return c
}

// brings reports whether a failover of that cause, as the checker calls it, is one of these.
// Containers carry out every cut as a host that is disconnected.
func (c Cause) brings(f checker.Failover) bool {
	_, cut := c.fault.(faults.Partition)
	return f.Cause == c.fault.Name() || cut && f.Cause == faults.Partition{How: faults.CutBoth}.Name()
}
