// Package quorum decides what the answers of several independent stores ("nodes")
// amount to: which nodes count for a lease, which token the term has, and when
// the outcome of a call is certain. docs/quorum.md has the algorithm, and the
// proof that rests on these decisions.
//
// It has no clock, sends nothing and waits for nothing: it is told times, what was
// sent and what was answered, and says what to do. Whoever does that holds one
// lock, or has one thread: elector/quorumstore in production, sim/virtual in
// virtual time.
package quorum
