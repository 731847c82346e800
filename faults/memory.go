package faults

import "context"

// StoreFlush deletes every key of the store, as an operator might (FLUSHALL). The
// server itself goes on.
type StoreFlush struct{}

// Name implements Fault.
func (StoreFlush) Name() string { return "store-flush" }

// Params implements Fault.
func (StoreFlush) Params() map[string]any { return nil }

// Apply implements Fault.
func (StoreFlush) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.FlushStore(ctx)
}

// Heal implements Fault.
func (StoreFlush) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (StoreFlush) Effect() Effect {
	return Effect{Summary: "every key of the store is deleted; the server goes on", Undone: "not at all: what is deleted stays so", Store: true, Client: true, Void: true, Instant: true}
}

// Eviction makes the store run out of memory for a moment: it evicts what has a
// time to live, as the policies volatile-… do, and so the leases.
type Eviction struct{}

// Name implements Fault.
func (Eviction) Name() string { return "eviction" }

// Params implements Fault.
func (Eviction) Params() map[string]any { return nil }

// Apply implements Fault.
func (Eviction) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.EvictKeys(ctx)
}

// Heal implements Fault.
func (Eviction) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (Eviction) Effect() Effect {
	return Effect{Summary: "the store runs out of memory and evicts what has a time to live", Undone: "the limit of its memory is set back; what is evicted stays so", Store: true, Client: true, Void: true, Instant: true}
}
