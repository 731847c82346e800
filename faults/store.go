package faults

import (
	"context"
	"math"
	"time"
)

// StorePause freezes the store's process: it neither answers nor refuses, and
// its leases run on.
type StorePause struct{}

// Name implements Fault.
func (StorePause) Name() string { return "store-pause" }

// Params implements Fault.
func (StorePause) Params() map[string]any { return nil }

// Apply implements Fault.
func (StorePause) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return w.StopStore(ctx, targets)
}

// Heal implements Fault.
func (StorePause) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return "", w.ContinueStore(ctx, targets)
}

// Effect implements Fault. It does not cut: its targets are servers, which request
// nothing, and a majority of several may go on.
func (StorePause) Effect() Effect {
	return Effect{Summary: "the store's process is frozen", Undone: "the server is let go on", Store: true, Servers: true, Immediate: true, Holds: true, Bearable: true, Fair: true}
}

// relaunched is how the end of a server is undone.
const relaunched = "the server is started again"

// StoreCrash kills the store; healing starts it again, with or without the
// data that it had.
type StoreCrash struct{ KeepData bool }

// Name implements Fault.
func (c StoreCrash) Name() string {
	if c.KeepData {
		return "store-crash"
	}
	return "store-loss"
}

// Params implements Fault.
func (c StoreCrash) Params() map[string]any { return map[string]any{"keep_data": c.KeepData} }

func (c StoreCrash) with(p *params) Fault {
	p.implied("keep_data", c.KeepData)
	return c
}

// Apply implements Fault.
func (StoreCrash) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return w.CrashStore(ctx, targets)
}

// Heal implements Fault.
func (c StoreCrash) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return w.LaunchStore(ctx, targets, c.KeepData)
}

// Effect implements Fault.
func (c StoreCrash) Effect() Effect {
	if c.KeepData {
		return Effect{Summary: "the store is killed and comes back with its data", Undone: relaunched, Store: true, Servers: true, Bearable: true, Fair: true, Withholds: true}
	}
	return Effect{Summary: "the store is killed and comes back without its data", Undone: relaunched, Store: true, Servers: true, Void: true}
}

// StoreClockJump makes the store's clock jump by By. Forward: every lease of the
// run loses so much of its time to live at once. Back, with a By below 0: every
// lease gains so much, a dead leader's too, which keeps the others out.
type StoreClockJump struct{ By time.Duration }

// Name implements Fault.
func (StoreClockJump) Name() string { return "store-clock-jump" }

// Params implements Fault.
func (j StoreClockJump) Params() map[string]any {
	return map[string]any{"by_ms": milliseconds(j.By)}
}

func (StoreClockJump) with(p *params) Fault {
	return StoreClockJump{By: p.duration("by_ms", math.MinInt64)}
}

// Apply implements Fault.
func (j StoreClockJump) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.ShortenLeases(ctx, j.By)
}

// Heal implements Fault.
func (StoreClockJump) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (j StoreClockJump) Effect() Effect {
	return Effect{
		Summary: "the store's clock jumps: every lease loses so much of its time to live at once, or gains it if the jump is back",
		Undone:  "not at all: the next renewal sets it right",
		Store:   true, Client: true, Own: true, Shorten: j.By, Instant: true, Skews: true, Harmless: j.By <= 0,
	}
}

// Scale implements Timed.
func (j StoreClockJump) Scale(scale func(time.Duration) time.Duration) Fault {
	return StoreClockJump{By: scale(j.By).Round(time.Millisecond)}
}

// ScriptsFlushed makes the store forget its cached scripts.
type ScriptsFlushed struct{}

// Name implements Fault.
func (ScriptsFlushed) Name() string { return "scripts-flushed" }

// Params implements Fault.
func (ScriptsFlushed) Params() map[string]any { return nil }

// Apply implements Fault.
func (ScriptsFlushed) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.FlushScripts(ctx)
}

// Heal implements Fault.
func (ScriptsFlushed) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (ScriptsFlushed) Effect() Effect {
	return Effect{Summary: "the store forgets its cached scripts", Undone: "not at all: clients send their scripts again", Store: true, Client: true, Instant: true, Simple: true, Harmless: true, Fair: true}
}
