// Package checker decides from a history which promises an election kept.
//
// [Check] is the entry. It builds an index of the history once, and then asks each promise for
// a [Finding]: kept, broken or undecided, with the events that decide it. A [Chain] does the
// same for a run that is recorded in parts.
//
// Each promise has a file and a row in promise.go. The lease's operations are judged twice:
// by intervals of time, and by porcupine's search for an order. The two must agree.
//
// The checker sees the history only. It starts no candidate, asks no server and reads no clock.
//
// Read first: docs/checking.md, then promise.go and at_most_one_leader.go.
package checker
