package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Kept is a cell of the virtual world as it stands in a file of a campaign.
type Kept struct {
	Subject  string        `json:"subject"`
	Scenario string        `json:"scenario"`
	Why      string        `json:"why,omitempty"` // the scenario does not apply
	Runs     []Run         `json:"runs,omitempty"`
	Evidence *KeptEvidence `json:"evidence,omitempty"`
}

// KeptEvidence is the evidence of a cell, if it could be reduced to a case.
type KeptEvidence struct {
	Promise checker.Promise `json:"promise"`
	Seed    uint64          `json:"seed"` // of the run that it was reduced from
	Repro   string          `json:"repro"`
	Events  int             `json:"events"`
	Of      int             `json:"of"`
	Case    json.RawMessage `json:"case"` // what fuzz.Case.Marshal writes
}

// Keep is the cell as it can be kept: its runs without what a trial does not
// report.
func (c *Cell) Keep() (Kept, error) {
	k := Kept{Subject: c.Subject, Scenario: c.Scenario, Why: c.Why, Runs: slices.Clone(c.Runs)}
	for i := range k.Runs {
		r := &k.Runs[i]
		r.Leaderless, r.Road.Lateness, r.Road.Starts = nil, nil, nil
		r.Failovers = slices.Clone(r.Failovers)
		for j := range r.Failovers {
			r.Failovers[j].Steps, r.Failovers[j].Evidence = nil, nil
		}
	}
	if e := c.Shortest; e != nil && e.Case != nil {
		text, err := e.Case.Marshal()
		if err != nil {
			return k, err
		}
		k.Evidence = &KeptEvidence{Promise: e.Promise, Seed: e.Plan.Seed, Repro: e.Plan.Repro, Events: e.Events, Of: e.Of, Case: text}
	}
	return k, nil
}

// Fill puts what was kept into the cell, and runs its evidence once more, so that
// its history is there.
func (c *Cell) Fill(ctx context.Context, k *Kept, simulated map[string]virtual.Subject) error {
	c.Why, c.Runs, c.Shortest = k.Why, k.Runs, nil
	if k.Evidence == nil {
		return nil
	}
	read, err := fuzz.Parse(k.Evidence.Case)
	if err != nil {
		return err
	}
	h, r, err := read.Try(ctx, &virtual.World{Subjects: simulated})
	if err != nil {
		return fmt.Errorf("trial: what shows %s in %s: %w", c.Subject, c.Scenario, err)
	}
	h.Header.Scenario = c.Scenario
	c.Shortest = &Evidence{
		Promise: k.Evidence.Promise, Plan: sim.Plan{Seed: k.Evidence.Seed, Repro: k.Evidence.Repro}, History: h, Result: r,
		Case: &read, Events: k.Evidence.Events, Of: k.Evidence.Of,
	}
	return nil
}
