// Package intervals is the first judge of leases: from the calls, the
// returns and the TTL it follows when a candidate certainly held the lease and
// when it certainly could not, and finds operations that contradict that.
//
// It is sound (what it reports is certain: no order of the operations explains
// the answers) but not complete: it places every operation on its own, and of two
// only those whose tokens tell which lease came first. It needs O(n log n) and no search, and its
// counterexamples are two events. The method is the interval reasoning behind
// linearizability (Herlihy and Wing, "Linearizability: a correctness condition
// for concurrent objects", 1990): an operation takes effect at one moment
// between its call and its return.
package intervals
