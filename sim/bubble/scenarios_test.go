package bubble_test

import (
	"slices"
	"testing"

	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/bubble"
)

// The production elector keeps its promises in every scenario in a bubble, too,
// with a lease of a second and with one as in production, and every fault takes
// effect there.
func TestScenarios(t *testing.T) {
	seeds := uint64(2)
	if raced.Enabled {
		seeds = 1
	}
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			for seed := range seeds {
				set := scenarios.Settings{Subject: "recount", Seed: seed}
				if seed%2 == 1 {
					set.Lease = 15 * scenarios.DefaultLease
				}
				plan := planOf(t, s.Name, set)
				if why := bubble.Refuses(plan); why != "" {
					t.Fatal(why)
				}
				keeps(t, carryOut(t, plan))
			}
		})
	}
}

// What a bubble cannot carry out are the scenarios whose store is several servers,
// each with a reason; a run of one says it, too.
func TestRefuses(t *testing.T) {
	var refused []string
	for _, s := range scenarios.Every() {
		plan := planOf(t, s.Name, scenarios.Settings{})
		if bubble.Refuses(plan) == "" {
			continue
		}
		refused = append(refused, s.Name)
		if h, err := (&bubble.World{}).Run(t.Context(), plan, ""); h != nil || err == nil {
			t.Errorf("%s was carried out: %v", s.Name, err)
		}
	}
	want := []string{"sentinel-failover", "cluster-failover", "isolated-old-master", "quorum-minority-down", "quorum-node-amnesia", "quorum-lagging-nodes"}
	if !slices.Equal(refused, want) {
		t.Errorf("refused are %q, want %q", refused, want)
	}
	plan := planOf(t, "steady", scenarios.Settings{Subject: "nobody"})
	if _, err := (&bubble.World{}).Run(t.Context(), plan, ""); err == nil {
		t.Error("a subject that nobody knows was run")
	}
}
