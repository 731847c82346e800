// Package fence keeps a former leader from writing.
//
// No elector can do this alone: a leader that is suspended between its last
// look at its term and its write, for the time of a garbage collection or of a
// night, writes when it wakes up, even if another one leads by then. So every term has a
// token, larger than those of all terms before it; every write carries the
// token of the term in which it was decided; and the resource that is written
// to refuses a token smaller than the largest one it has seen.
//
// # What it guarantees
//
// A guard never admits a token smaller than one that it has admitted before,
// and says which that was. [Guard] and [Memory] guard what lives in one process,
// [RedisGuard] keys in Redis, [SQL] and [Column] databases, package fencefile files, and
// [Handler] HTTP services; the look at the token and the write are one step
// there, but for the limits that each one names.
//
// # What it does not guarantee
//
// A guard knows of a new term from the first token that reaches it, not from
// the election: until then the former leader's writes are admitted. A new
// leader that must not see them afterwards makes itself known first (Admit,
// Check) and then reads. A guard also knows nothing of the order of writes
// that carry the same token: those are one leader's own affair. And a guard
// that has lost its memory (a Guard after a restart of its process, a
// RedisGuard whose Redis lost data) admits any token until it has seen one.
//
// # The caller's duty
//
// Take the token from the term in which the write was decided
// (elector.Term.Token) and never from a later one; let no write past the
// guard; and keep one election per resource, because tokens of different
// elections say nothing about each other.
//
// The algorithm is Martin Kleppmann's, from "How to do distributed locking"
// (2016).
package fence
