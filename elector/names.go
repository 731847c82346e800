package elector

import (
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
)

// What packages store and event name, and everybody who elects meets.
type (
	// Store keeps the leases of elections. Package elector/redisstore has one.
	Store = store.Store
	// Leader is the holder of a lease, as the store knows it.
	Leader = store.Leader
	// HeldError is the answer to an attempt to acquire a lease that somebody holds, or
	// that the store gives to nobody yet.
	HeldError = store.HeldError
	// FatalError wraps an answer of the store that no repetition will change.
	FatalError = store.FatalError
	// Event is one transition of an elector.
	Event = event.Event
	// State is what an elector is at a time.
	State = event.State
	// Reason says why a term ended.
	Reason = event.Reason
)

// ErrWithheld is what errors.Is finds in a *HeldError of a store that gives the lease to
// nobody yet.
var ErrWithheld = store.ErrWithheld
