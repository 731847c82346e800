package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/checker/quantile"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios/failover"
)

// stalledShare is the share of a lease from which on a delay counts as a stall, which
// leaves a failover out.
const stalledShare = 8

// groups is how many groups of candidates run at once. Whenever each of them has made a run,
// it looks at what the control saw of the machine meanwhile. If the machine is what is
// measured, half as many go on. If that makes it certainly no quieter, the groups do not disturb
// each other: as many as before go on, to the end.
//
// The machine is what is measured if the p99 of a timer's lateness, or of a PING, is certainly
// above half the median excess of the fastest cell. A failover takes a few steps, and one step
// in a hundred is that late. So about one failover in thirty is half as long again because of
// the machine, and the p99 of the excess is the machine's.
type groups struct {
	most, now int
	lease     time.Duration
	ran       int // runs since the last look; below 0: those under way began with more groups
	excess    map[*failover.Cell][]float64
	before    *disturbance // why fewer go on
	settled   bool
	changes   []reports.GroupChange

	mu          sync.Mutex
	late, pings []time.Duration
	from, since int // of late and of pings, at the last look
}

// disturbance is how the machine takes part in what is measured.
type disturbance struct {
	what   string // that took so long
	p99    quantile.Estimate
	n      int
	beside string // of what it is more
	groups int    // that ran
}

// String is one clause.
func (d *disturbance) String() string {
	return fmt.Sprintf("%s p99 %.3g ms (n = %d), more than %s", d.what, d.p99.Value/1e6, d.n, d.beside)
}

func newGroups(most int, lease time.Duration) *groups {
	return &groups{most: most, now: most, lease: lease, excess: map[*failover.Cell][]float64{}}
}

// number is how many groups may run at once.
func (g *groups) number() int { return g.now }

// saw takes in what the control saw: a timer, and a PING if it was answered.
func (g *groups) saw(late time.Duration, ping ...time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.late, g.pings = append(g.late, late), append(g.pings, ping...)
}

// report is what the control saw of the whole measurement.
func (g *groups) report() *reports.FailoverControl {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := reports.Control(g.most, g.late, g.pings)
	c.Changes = g.changes
	return c
}

// ended takes in a run that has ended, the last of so many. It returns another number of
// groups and why, or nil.
func (g *groups) ended(c *failover.Cell, r *failover.Run, runs int) *reports.GroupChange {
	for _, f := range r.Failovers {
		if !f.Stalled {
			g.excess[c] = append(g.excess[c], float64(f.Excess))
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ran++; g.ran <= 0 {
		g.from, g.since = len(g.late), len(g.pings)
	}
	if g.settled || g.ran < g.now || len(g.late)-g.from < quantile.Needs(.99) {
		return nil
	}
	why := g.disturbed()
	g.ran, g.from, g.since = 0, len(g.late), len(g.pings)
	switch {
	case why == nil:
		return nil
	case g.before != nil && why.what == g.before.what && why.p99.High >= g.before.p99.Low:
		g.settled = true
		return g.change(g.before.groups, runs, fmt.Sprintf("fewer made the machine no quieter: %v", why))
	case g.now == 1:
		return nil
	}
	g.before = why
	g.ran = g.now/2 - g.now // the other runs under way
	return g.change(g.now/2, runs, why.String())
}

// change makes so many groups run from now on.
func (g *groups) change(to, runs int, why string) *reports.GroupChange {
	g.now = to
	g.changes = append(g.changes, reports.GroupChange{After: runs, Parallel: to, Why: why})
	return &g.changes[len(g.changes)-1]
}

// disturbed says how the machine takes part in what is measured; nil if it does not.
func (g *groups) disturbed() *disturbance {
	limit, beside := float64(g.lease)/stalledShare, "an eighth of the lease, which leaves failovers out"
	for _, sample := range g.excess {
		if len(sample) < quantile.Needs(.5) {
			continue
		}
		slices.Sort(sample)
		if median := quantile.Of(sample, .5).Value; median/2 < limit {
			limit, beside = median/2, fmt.Sprintf("half the median excess of %.3g ms (n = %d)", median/1e6, len(sample))
		}
	}
	for _, control := range []struct {
		what string
		took []time.Duration
	}{{"a timer was late by", g.late[g.from:]}, {"a PING took", g.pings[g.since:]}} {
		var sample []float64
		for _, d := range control.took {
			sample = append(sample, float64(d))
		}
		if len(sample) < quantile.Needs(.99) {
			continue
		}
		slices.Sort(sample)
		if p99 := quantile.Of(sample, .99); p99.Low > limit {
			return &disturbance{control.what, p99, len(sample), beside, g.now}
		}
	}
	return nil
}
