// Package sim has what the worlds have in common, first of all the [Plan] of a run: candidates,
// settings, faults and promises, with every number decided.
//
// The worlds are subpackages: live (processes and a real Redis), virtual (simulated time, one
// goroutine) and bubble (the shipped code in the fake time of testing/synctest). Package
// candidate is the harness's own candidate, package wire reads the requests of any other.
//
// Read first: docs/architecture.md.
package sim
