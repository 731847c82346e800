package faults

import (
	"context"
	"time"

	"github.com/recount-io/recount/history"
)

// StoreRewind kills the store; healing starts it again with the data that it
// had By before its death: a snapshot, or an append-only file of which the end
// was not on disk yet. Applying it takes By, in which nothing happens but that
// what is written then will be lost.
type StoreRewind struct{ By time.Duration }

// Name implements Fault.
func (StoreRewind) Name() string { return "store-rewind" }

// Params implements Fault.
func (r StoreRewind) Params() map[string]any { return map[string]any{"by_ms": milliseconds(r.By)} }

func (StoreRewind) with(p *params) Fault { return StoreRewind{By: p.duration("by_ms", 0)} }

// Apply implements Fault.
func (r StoreRewind) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.RewindStore(ctx, r.By)
}

// Heal implements Fault.
func (StoreRewind) Heal(ctx context.Context, w World, _ []string) (string, error) {
	return w.LaunchStore(ctx, []string{history.StoreTarget}, true)
}

// Effect implements Fault.
func (r StoreRewind) Effect() Effect {
	return Effect{Summary: "the store is killed and comes back with older data", Undone: relaunched, Store: true, Older: true, Void: true, Onset: r.By}
}

// Scale implements Timed.
func (r StoreRewind) Scale(scale func(time.Duration) time.Duration) Fault {
	return StoreRewind{By: scale(r.By).Round(time.Millisecond)}
}
