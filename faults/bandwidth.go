package faults

import (
	"context"
	"math"
)

// Bandwidth limits the way between its targets and the store.
type Bandwidth struct{ Kilobytes int } // a second, in each direction

// Name implements Fault.
func (Bandwidth) Name() string { return "bandwidth" }

// Params implements Fault.
func (b Bandwidth) Params() map[string]any {
	return map[string]any{"kilobytes_per_second": b.Kilobytes}
}

func (Bandwidth) with(p *params) Fault {
	const key, such, most = "kilobytes_per_second", "a whole number from 1 to a billion", 1e9
	n := p.number(key, such)
	if n < 1 || n > most || n != math.Trunc(n) {
		p.fail("%s is %v: give %s", key, n, such)
	}
	return Bandwidth{Kilobytes: int(n)}
}

// Apply implements Fault.
func (b Bandwidth) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.Throttle(ctx, node, b.Kilobytes) })
}

// Heal implements Fault.
func (Bandwidth) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, silent(func(node string) error { return w.Mend(ctx, node) }))
}

// Effect implements Fault.
func (b Bandwidth) Effect() Effect {
	return Effect{
		Summary: "the way to the store carries only so many kilobytes a second", Undone: unshaped,
		Immediate: true, Fair: true, Carries: 1000 * max(b.Kilobytes, 1),
	}
}
