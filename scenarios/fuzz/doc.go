// Package fuzz draws timings and schedules of faults, runs each in simulated time, and shrinks
// those that break a promise.
//
// [Cases] draws a [Case]. A case says what an elector with its settings owes: how long a
// failover may take, and which promises the faults excuse. [Coverage] counts at which moments
// of a lease each fault has met the election, and steers what is drawn next.
//
// Package search does the same for the other worlds.
//
// Read first: docs/checking.md.
package fuzz
