package bubble_test

import (
	"slices"
	"testing"

	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/bubble"
)

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
