package faults

import "context"

// Bandwidth limits the way between its targets and the store.
type Bandwidth struct{ Kilobytes int } // a second, in each direction

// Name implements Fault.
func (Bandwidth) Name() string { return "bandwidth" }

// Params implements Fault.
func (b Bandwidth) Params() map[string]any {
	return map[string]any{"kilobytes_per_second": b.Kilobytes}
}

// Apply implements Fault.
func (b Bandwidth) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(targets, func(node string) (string, error) { return w.Throttle(ctx, node, b.Kilobytes) })
}

// Heal implements Fault.
func (Bandwidth) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(targets, silent(func(node string) error { return w.Mend(ctx, node) }))
}

// Effect implements Fault.
func (Bandwidth) Effect() Effect {
	return Effect{Summary: "the way to the store carries only so many kilobytes a second", Immediate: true}
}
