package main

import (
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios/failover"
)

// TestFewerGroupsWhereTheMachineIsMeasured shows that half as many groups run each time that a
// fabricated control says that the machine is what is measured, down to one; that as many as
// before run if that makes it no quieter; and that as many run as were asked for where it says
// that the machine is calm, or too little to tell.
func TestFewerGroupsWhereTheMachineIsMeasured(t *testing.T) {
	const ms = time.Millisecond
	always := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	each := func(d time.Duration) func(int) time.Duration {
		return func(groups int) time.Duration { return d * time.Duration(groups) }
	}
	for name, c := range map[string]struct {
		late, ping func(groups int) time.Duration
		excess     time.Duration
		readings   int // between two runs
		groups     []int
		changes    int
		why        string // of the last change
	}{
		"calm":                {always(1 * ms), always(1 * ms), 30 * ms, 400, []int{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, 0, ""},
		"groups disturb":      {each(16 * ms), always(1 * ms), 30 * ms, 400, []int{4, 4, 4, 2, 2, 2, 2, 1, 1, 1, 1}, 2, "a timer was late by p99 32 ms (n = 800), more than half the median excess of 30 ms (n = 80)"},
		"two are calm":        {each(7 * ms), always(1 * ms), 30 * ms, 400, []int{4, 4, 4, 2, 2, 2, 2, 2, 2, 2}, 1, "28 ms"},
		"others disturb":      {always(16 * ms), always(1 * ms), 30 * ms, 400, []int{4, 4, 4, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4}, 2, "fewer made the machine no quieter: a timer was late by p99 16 ms"},
		"both disturb":        {each(16 * ms), always(17 * ms), 30 * ms, 400, []int{4, 4, 4, 2, 2, 2, 2, 1}, 2, ""},
		"one, then the other": {func(groups int) time.Duration { return 64 * ms * time.Duration(groups/4) }, always(70 * ms), 30 * ms, 400, []int{4, 4, 4, 2, 2, 2, 2, 1}, 2, "a PING took p99 70 ms"},
		"slow PING":           {always(1 * ms), each(16 * ms), 30 * ms, 400, []int{4, 4, 4, 2}, 1, "a PING took p99 64 ms (n = 1600), more than half the median excess of 30 ms (n = 40)"},
		"long excess":         {always(16 * ms), always(1 * ms), 40 * ms, 400, []int{4, 4, 4, 4, 4}, 0, ""},
		"all stall":           {always(126 * ms), always(1 * ms), 0, 400, []int{4, 4, 4, 2}, 1, "an eighth of the lease"},
		"few readings":        {always(16 * ms), always(1 * ms), 30 * ms, 30, []int{4, 4, 4, 4, 4, 4, 4, 4, 4, 2}, 1, "(n = 300)"},
		"no interval":         {always(16 * ms), always(1 * ms), 30 * ms, 1, []int{4, 4, 4, 4, 4}, 0, ""},
		"hardly anybody":      {always(16 * ms), always(1 * ms), 0, 400, []int{4, 4, 4, 4, 4}, 0, ""},
	} {
		g, cell := newGroups(4, time.Second), &failover.Cell{}
		for i, want := range c.groups {
			for range c.readings {
				g.saw(c.late(g.number()), c.ping(g.number()))
			}
			r := &failover.Run{}
			for range 10 {
				f := failover.Failover{Stalled: c.excess == 0}
				f.Failover = checker.Failover{Excess: c.excess}
				r.Failovers = append(r.Failovers, f)
			}
			g.ended(cell, r, i+1)
			if g.number() != want {
				t.Errorf("%s: after run %d, %d groups, want %d", name, i+1, g.number(), want)
			}
		}
		changes := g.report().Changes
		if len(changes) != c.changes {
			t.Errorf("%s: %v is reported; want %d changes", name, changes, c.changes)
		} else if c.changes > 0 && !strings.Contains(changes[c.changes-1].Why, c.why) {
			t.Errorf("%s: because %s; want %s", name, changes[c.changes-1].Why, c.why)
		}
	}
}
