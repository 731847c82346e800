package faults

import (
	"context"
	"time"
)

// Latency delays whatever passes between its targets and the store by Base, and
// by up to Jitter more or less, in each direction. Held for a moment only, it
// is a spike.
type Latency struct{ Base, Jitter time.Duration }

// Name implements Fault.
func (Latency) Name() string { return "latency" }

// Params implements Fault.
func (l Latency) Params() map[string]any {
	return map[string]any{"base_ms": milliseconds(l.Base), "jitter_ms": milliseconds(l.Jitter)}
}

func (Latency) with(p *params) Fault {
	l := Latency{Base: p.duration("base_ms", 0), Jitter: p.duration("jitter_ms", 0)}
	if l.Jitter > l.Base {
		p.fail("jitter_ms is %v and base_ms only %v: give a jitter that does not go below zero", p.values["jitter_ms"], p.values["base_ms"])
	}
	return l
}

// Apply implements Fault.
func (l Latency) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.Delay(ctx, node, l.Base, l.Jitter) })
}

// Heal implements Fault.
func (Latency) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, silent(func(node string) error { return w.Mend(ctx, node) }))
}

// Effect implements Fault.
func (l Latency) Effect() Effect {
	return Effect{
		Summary: "the way to the store is slow by a constant, with jitter, in each direction", Undone: unshaped,
		Immediate: true, Fair: true, Delay: l.Base + l.Jitter,
	}
}

// Scale implements Timed.
func (l Latency) Scale(scale func(time.Duration) time.Duration) Fault {
	return Latency{Base: scale(l.Base).Round(time.Millisecond), Jitter: scale(l.Jitter).Round(time.Millisecond)}
}
