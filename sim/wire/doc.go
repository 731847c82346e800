// Package wire reads off the wire what a program does to a lease in Redis. It
// knows neither the program nor the world around it: a [Lock] gets the
// commands that candidates send and the replies that they get. It reports the
// operations on the lease that those were, as events of a history. A [Tap] is
// a TCP relay that feeds a Lock with what passes through.
//
// What it reports has always happened. A command that is not
// understood, and a reply that leaves several explanations, become operations
// of unknown outcome and a note: rather nothing is shown than an innocent
// accused.
package wire
