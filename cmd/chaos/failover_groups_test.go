package main

import (
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios/failover"
)

// TestFewerGroupsWhereTheMachineIsMeasured shows that one group fewer runs each time that a
// fabricated control says that the machine is what is measured, down to one, and that as many
// run as were asked for where it says that the machine is calm, or too little to tell.
func TestFewerGroupsWhereTheMachineIsMeasured(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		late, ping, excess time.Duration
		readings           int // between two runs
		groups             []int
		why                string
	}{
		"calm":           {1 * ms, 1 * ms, 30 * ms, 400, []int{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, ""},
		"late timer":     {16 * ms, 1 * ms, 30 * ms, 400, []int{4, 4, 4, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1}, "a timer was late by p99 16 ms (n = 1600), more than half the median excess of 30 ms (n = 40)"},
		"slow PING":      {1 * ms, 16 * ms, 30 * ms, 400, []int{4, 4, 4, 3}, "a PING took p99 16 ms (n = 1600), more than half the median excess of 30 ms (n = 40)"},
		"long excess":    {16 * ms, 1 * ms, 40 * ms, 400, []int{4, 4, 4, 4, 4}, ""},
		"all stall":      {126 * ms, 1 * ms, 0, 400, []int{4, 4, 4, 3}, "an eighth of the lease"},
		"few readings":   {16 * ms, 1 * ms, 30 * ms, 30, []int{4, 4, 4, 4, 4, 4, 4, 4, 4, 3}, "(n = 300)"},
		"no interval":    {16 * ms, 1 * ms, 30 * ms, 1, []int{4, 4, 4, 4, 4}, ""},
		"hardly anybody": {16 * ms, 1 * ms, 0, 400, []int{4, 4, 4, 4, 4}, ""},
	} {
		g, cell := newGroups(4, time.Second), &failover.Cell{}
		for i, want := range c.groups {
			for range c.readings {
				g.saw(c.late, c.ping)
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
		lowered := g.report().Lowered
		if n := 4 - g.number(); len(lowered) != n {
			t.Errorf("%s: %d groups, and %v is reported", name, g.number(), lowered)
		} else if n > 0 && !strings.Contains(lowered[0].Why, c.why) {
			t.Errorf("%s: because %s; want %s", name, lowered[0].Why, c.why)
		}
	}
}
