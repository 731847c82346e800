// Package failover measures how long nobody leads: for each cause and each elector as many
// failovers as the wanted precision needs.
//
// [Causes] lists the causes, such as a crash or a resignation. A [Measurement] runs them in
// turns, so all meet the same noise of the machine.
//
// Read first: docs/failover.md.
package failover
