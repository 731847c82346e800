// Package quorumstore keeps the leases of elections on several independent
// stores ("nodes"), normally five Redis servers without replication, so that no
// single one of them has to be trusted with its life or its memory.
//
// # What it guarantees
//
// A lease is held as long as a majority of the nodes holds it, and two majorities
// share a node. So at most one candidate holds the lease at any time, and every
// later term has a larger token, while any minority of the nodes is down, hangs
// or is cut off. A node that loses its data does no harm as long as it then
// grants nothing for one lease and starts its tokens at its clock (redisstore
// does both). docs/stores.md has the proof, its assumptions, and what happens
// when one of them breaks.
//
// The algorithm is the majority lock of Redis's documentation ("Distributed
// Locks with Redis", known as Redlock), with what Martin Kleppmann found missing
// in it ("How to do distributed locking", 2016): tokens that fence. A term is
// granted only when a majority of the nodes gave it the same token, and each
// node gives each token once, so a later majority must come to a larger one.
//
// # What it does not guarantee
//
// No quorum makes fencing unnecessary: a process can be paused between its last
// check and its write. And while no majority of the nodes can be reached, there
// is no leader.
//
// # The caller's duty
//
// The nodes must fail independently: several databases of one server, or a
// primary and its replicas, are not five nodes. All candidates are given the same
// nodes. Attempts are repeated on the Store that made the first one. Give the
// context of every call a deadline. Close the nodes after the last use; requests
// that are left over end within Options.NodeTimeout.
package quorumstore
