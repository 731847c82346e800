// Package scenarios has the scenarios, as data, and the runner that carries them out.
//
// A [Scenario] is one value: what happens when, to whom, and which promises are asked for.
// [All] lists them. A [Runner] gives the plan of a scenario to a [World], checks the history
// that comes back, and writes the report.
//
// Worlds and faults are elsewhere (sim, faults), and so are the verdicts (checker).
//
// Read first: CONTRIBUTING.md, which adds a scenario step by step, then network.go.
package scenarios
