// Package index puts a history into the order in which checks ask for it. An
// Index is built once, in one walk over the events, and is not changed any more:
// every check reads the same one.
package index
