package faults

import (
	"context"
	"time"
)

// StoreFailover loses the store's primary, with its data; healing promotes a
// replica that lacks what the primary confirmed in its last Lag. Applying it
// takes Lag.
type StoreFailover struct{ Lag time.Duration }

// Name implements Fault.
func (StoreFailover) Name() string { return "store-failover" }

// Params implements Fault.
func (f StoreFailover) Params() map[string]any { return map[string]any{"lag_ms": milliseconds(f.Lag)} }

func (StoreFailover) with(p *params) Fault { return StoreFailover{Lag: p.duration("lag_ms", 0)} }

// Apply implements Fault.
func (f StoreFailover) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.LosePrimary(ctx, f.Lag)
}

// Heal implements Fault.
func (StoreFailover) Heal(ctx context.Context, w World, _ []string) (string, error) {
	return w.PromoteReplica(ctx)
}

// Effect implements Fault.
func (f StoreFailover) Effect() Effect {
	return Effect{
		Summary: "the store's primary is lost, and a replica is promoted that lacks its last writes",
		Undone:  "not at all: the replica is the primary from then on",
		Store:   true, Older: true, Void: true, Onset: f.Lag,
	}
}

// Scale implements Timed.
func (f StoreFailover) Scale(scale func(time.Duration) time.Duration) Fault {
	return StoreFailover{Lag: scale(f.Lag).Round(time.Millisecond)}
}

// StoreSplit promotes a replica, which lacks what the primary confirmed in its
// last Lag, while the primary goes on serving the fault's targets: they are on
// its side of a divided network, and everybody else is on the replica's. When
// it is healed the old primary gives up what it was told meanwhile, and the
// new one serves all. Applying it takes Lag.
type StoreSplit struct{ Lag time.Duration }

// Name implements Fault.
func (StoreSplit) Name() string { return "store-split" }

// Params implements Fault.
func (f StoreSplit) Params() map[string]any { return map[string]any{"lag_ms": milliseconds(f.Lag)} }

func (StoreSplit) with(p *params) Fault { return StoreSplit{Lag: p.duration("lag_ms", 0)} }

// Apply implements Fault.
func (f StoreSplit) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return w.SplitStore(ctx, targets, f.Lag)
}

// Heal implements Fault.
func (StoreSplit) Heal(ctx context.Context, w World, _ []string) (string, error) {
	return w.JoinStore(ctx)
}

// Effect implements Fault.
func (s StoreSplit) Effect() Effect {
	return Effect{
		Summary: "an isolated old primary goes on serving some candidates, and a promoted replica the others",
		Undone:  "the old primary is ended, and all are served by the new one",
		Store:   true, Older: true, Divides: true, Void: true, Onset: s.Lag,
	}
}

// Scale implements Timed.
func (s StoreSplit) Scale(scale func(time.Duration) time.Duration) Fault {
	return StoreSplit{Lag: scale(s.Lag).Round(time.Millisecond)}
}
