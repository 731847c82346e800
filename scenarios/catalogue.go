package scenarios

import (
	"slices"
)

// All returns every scenario, in the order in which they run.
func All() []Scenario {
	return slices.Concat(
		calm(), process(), pauses(), partitions(), losses(), combinations(), clocks(), store(), tampered(), cleared(), forgetful(), rewound(), random(),
	)
}

// Reasons for which a promise does not apply.
const (
	voided = "the store itself forgets the lease while its holder still believes in it; how long two believe is measured, the fence is what protects"
)

// calm are the scenarios in which nothing goes wrong.
func calm() []Scenario {
	return []Scenario{
		{
			Name:      "steady",
			Summary:   "nothing goes wrong",
			Breaks:    "a renewal that comes too late, or a candidate that takes what is not free",
			Quiet:     6,
			Steadfast: true,
		},
		{
			Name:      "start-together",
			Summary:   "twenty candidates start at one moment",
			Breaks:    "an acquisition in more than one step: two candidates find the lease free and both take it",
			Nodes:     20,
			Quiet:     5,
			Steadfast: true,
		},
	}
}
