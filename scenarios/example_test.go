package scenarios_test

import (
	"context"
	"fmt"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/virtual"
)

// Example carries out a scenario in virtual time, and judges what was recorded.
func Example() {
	ctx := context.Background()
	scenario := scenarios.Standard()[0]

	world := &virtual.World{}
	plan, err := scenario.Plan(scenarios.Settings{Subject: "recount", Seed: 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := world.Run(ctx, plan, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	result := checker.Check(h, checker.Options{})
	fmt.Println(scenario.Name, result.Verdict)
	// Output: steady pass
}
