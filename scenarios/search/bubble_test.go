package search

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
)

// The plan of every scenario reaches the worker whole.
func TestPlansAreKeptWhole(t *testing.T) {
	for _, s := range scenarios.Every() {
		plan, err := s.Plan(scenarios.Settings{Subject: "recount", Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		var again sim.Plan
		if err := json.Unmarshal(text, &again); err != nil || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", plan) {
			t.Errorf("%s: %v\n%+v\nis not\n%+v", s.Name, err, again, plan)
		}
	}
}

// A plan runs in a worker, and one that a bubble cannot carry out is refused.
func TestBubbleCarriesPlansOut(t *testing.T) {
	var b Bubble
	defer func() { _ = b.Close() }()
	all, err := scenarios.Find("mixed")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := all[0].Plan(scenarios.Settings{Subject: "recount", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	h, err := b.Run(t.Context(), plan, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range checker.Check(h, checker.Options{}).Asked {
		if f.Verdict != checker.Pass {
			t.Errorf("%s: %v: %s", f.Promise, f.Verdict, f.Reason)
		}
	}
	plan.HandsOver = true
	if _, err := b.Run(t.Context(), plan, ""); err == nil || bubble.Refuses(plan) == "" {
		t.Errorf("the error is %v", err)
	}
}
