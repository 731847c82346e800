// Package faults has the faults that a run injects, one file for each.
//
// A [Fault] knows its name, its parameters and its [Effect]: what it does to its targets, and
// what electors are owed in spite of it. It asks a [World] to bring that about. A [Step] of a
// schedule says when a fault begins, how long it lasts and whom it hits, by a [Target].
//
// The package knows no process, no proxy and no simulated time. Worlds know those.
//
// Read first: CONTRIBUTING.md, which adds a fault step by step, then crash.go.
package faults
