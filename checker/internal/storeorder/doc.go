// Package storeorder is the second judge of leases: it replays what the store recorded about itself. A store that runs one command at a time
// records in the very order in which the operations took effect, so this order
// is the linearization and no search is needed: the replay follows it and asks
// whether the times allow every step and every answer. It also knows what
// became of the operations whose outcome their callers never learned.
//
// Every ok acquire, renew and release must have exactly one applied entry, no
// failed one may have any, and an applied entry must have an operation (or a
// process that was killed before it could report the operation). Operations
// that changed nothing are placed into the order by their times, each on its
// own. Where such an answer fits only before or after the effect of an operation of
// unknown outcome, it bounds the time of that effect, and the replay is repeated
// with what was learnt.
//
// The record may end before the run does: its entries are the first ones of what
// the store did. So an operation without an entry is missing only if it was over
// before the last entry was made. Any other one may have come after it, and what
// the lease was then this judge does not say.
//
// Unknown without audit events, where a fault may have removed entries
// together with leases and one is missing, and where the record ends too early
// to explain every answer.
package storeorder
