// Package search is the third judge of leases: the black-box search for an order of the operations that fits the times and the sequential
// model of one lease with expiry.
//
// The search is that of Wing and Gong ("Testing and verifying concurrent
// objects", 1993) with the memory of Lowe ("Testing for linearizability",
// 2017), as implemented by porcupine. It is sound and complete up to epsilon,
// and may be cut off by the time cap, which reads as unknown.
//
// Operations of unknown outcome. Where the store kept an audit, it tells what
// became of them: an applied entry makes them certain, with times bounded by
// the neighbours in the store's order, and no entry at all means that they
// took effect after the last entry, or never (unless a fault may have lost
// entries): the record may end before the run does. Without an audit
// they are not operations of the search: their sending is, and the model's
// state carries that they may take effect at any later time or never. A search
// over operations that return at infinity would time out; one that cuts their
// time off without evidence would raise false alarms.
//
// Windows. Porcupine's memory is quadratic in the operations, so the history
// is cut at every quiet point, where nothing is pending, and the set of states
// is carried from window to window. Most windows have one operation, and so one
// order; in others so few operations overlap that one can go through all orders
// (see narrow). Both are exact and need no search. Of another window the first
// attempt carries the states of one order only. If a later window then has no
// order, the check begins again and carries the states of all orders, which is
// exact.
package search
