package faults

import (
	"context"
	"time"
)

// endless is by how much a lease is said to become longer that has no end any
// more: a lease lasts seconds, and somebody who waits for it will end it.
const endless = 24 * time.Hour

// unneeded is why nobody undoes what was done to a key.
const unneeded = "not at all: the electors have to mend it, and the key goes with the run"

// KeyDeleted deletes the leases' keys, as an operator might.
type KeyDeleted struct{}

// Name implements Fault.
func (KeyDeleted) Name() string { return "key-deleted" }

// Params implements Fault.
func (KeyDeleted) Params() map[string]any { return nil }

// Apply implements Fault.
func (KeyDeleted) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.DeleteLeases(ctx)
}

// Heal implements Fault.
func (KeyDeleted) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (KeyDeleted) Effect() Effect {
	return Effect{Summary: "the lease's key is deleted from the store", Undone: unneeded, Store: true, Client: true, Own: true, Void: true, Instant: true}
}

// ForeignValue is what KeyOverwritten writes: a value that no elector made.
const ForeignValue = "foreign"

// KeyOverwritten puts a foreign value, without a time to live, into the place
// of every lease, as an operator might who means to stop the election.
type KeyOverwritten struct{}

// Name implements Fault.
func (KeyOverwritten) Name() string { return "key-overwritten" }

// Params implements Fault.
func (KeyOverwritten) Params() map[string]any { return nil }

// Apply implements Fault.
func (KeyOverwritten) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.OverwriteLeases(ctx)
}

// Heal implements Fault.
func (KeyOverwritten) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (KeyOverwritten) Effect() Effect {
	return Effect{
		Summary: "the lease's key is overwritten with a foreign value that has no time to live",
		Undone:  unneeded,
		Store:   true, Client: true, Own: true, Void: true, Shorten: -endless, Alien: true, Instant: true,
	}
}

// TTLRemoved takes the time to live off every lease, as PERSIST does, or a
// client that writes a key without regard to it.
type TTLRemoved struct{}

// Name implements Fault.
func (TTLRemoved) Name() string { return "ttl-removed" }

// Params implements Fault.
func (TTLRemoved) Params() map[string]any { return nil }

// Apply implements Fault.
func (TTLRemoved) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.PersistLeases(ctx)
}

// Heal implements Fault.
func (TTLRemoved) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (TTLRemoved) Effect() Effect {
	return Effect{Summary: "the lease loses its time to live: it does not end by itself any more", Undone: unneeded, Store: true, Client: true, Own: true, Shorten: -endless, Harmless: true, Withholds: true, Instant: true}
}

// CounterDeleted deletes the counters of tokens, as eviction does: they are
// read less often than leases. The leases stay.
type CounterDeleted struct{}

// Name implements Fault.
func (CounterDeleted) Name() string { return "counter-deleted" }

// Params implements Fault.
func (CounterDeleted) Params() map[string]any { return nil }

// Apply implements Fault.
func (CounterDeleted) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.DeleteCounters(ctx)
}

// Heal implements Fault.
func (CounterDeleted) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (CounterDeleted) Effect() Effect {
	return Effect{Summary: "the counter of tokens is deleted from the store; the lease stays", Undone: unneeded, Store: true, Client: true, Own: true, Harmless: true, Instant: true}
}
