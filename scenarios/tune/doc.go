// Package tune finds settings of an election that fit a network.
//
// An [Answer] says for each setting how soon somebody leads after a crash, how often a leader
// is lost for no reason, and how many requests both cost. The network is described by measured
// round trips: see [Fit].
//
// Read first: docs/failover.md.
package tune
