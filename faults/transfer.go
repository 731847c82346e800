package faults

import "context"

// Transfer has its target hand its lease over to another candidate, as an
// operator does before work on a host. The target goes on competing.
type Transfer struct{}

// Name implements Fault.
func (Transfer) Name() string { return "transfer" }

// Params implements Fault.
func (Transfer) Params() map[string]any { return nil }

// Apply implements Fault.
func (Transfer) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.HandOver(ctx, node) })
}

// Heal implements Fault.
func (Transfer) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (Transfer) Effect() Effect {
	return Effect{Summary: "the leader hands its lease over to another candidate, and goes on competing", Undone: "not at all: another candidate leads", Instant: true}
}
