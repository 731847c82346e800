// Package unhurried has the key by which a store knows the contexts of an elector's own
// requests: see store.Unhurried.
package unhurried

// Key is the key of the contexts' value.
type Key struct{}
