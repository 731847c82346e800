// Package instrument attaches observers to an elector: health checks, metrics,
// traces. They see what the elector decides (its events) and what it asks the
// store, and change neither.
//
// # What is guaranteed
//
// An instrumented elector behaves as without: the same calls reach the store
// with the same arguments, the same callbacks are called in the same order, and
// a store keeps the optional interfaces that it has and gets none that it lacks.
//
// # What is not guaranteed
//
// Events reach observers on the goroutine that also calls Config.OnEvent and
// Config.OnLeader. If one of those hangs, what observers know from events
// stands still until it returns. What they know from the store's calls and from
// the elector itself does not.
package instrument
