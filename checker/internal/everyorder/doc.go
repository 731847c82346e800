// Package everyorder settles what the judges of leases disagree about: it takes a
// few operations of a history and tries every order of them, with an arithmetic
// of its own, and no thought of speed.
//
// It looks at a stretch [begin, end] of the run around the operations that a
// judge named, and longer ones if that shows nothing. Where it finds no order of
// a stretch the whole history has none, because the stretch asks for less:
//
//   - An operation that lies within the stretch and learned something, or certainly
//     changed the lease, is in it.
//   - One that only learned something (a refusal, an observation) and does not lie
//     within is left out: without it, an order is an order still.
//   - One that changed the lease and does not lie within may have happened in the
//     part of its time that does, or before or after: it may be in the order, or
//     not. The same goes for one of unknown outcome, at any time after its call.
//   - What came before the stretch is forgotten, so it may have left any lease:
//     of anybody, by any token and attempt, which ends at any time that the
//     longest lease so far allows; or none.
//   - A lease that no answer named, and nobody renewed or released, need not have been.
//     So what may have happened is left out where nothing in the stretch can be
//     about the lease that it brings, renews or releases.
//
// The operations that it convicts by become fewer in the same way: one that only
// learned something is left out, one that changed the lease need not have happened,
// and if there is still no order it was not needed.
//
// The store's own record is not believed, nor read. Where a stretch is too large
// nothing is said.
package everyorder
