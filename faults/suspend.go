package faults

import "context"

// Suspend puts its targets' machines to sleep, as a laptop's lid or a cloud's
// hypervisor does: the process stands still and so does its monotonic clock, the
// one that Go's own timers follow. Boot time goes on, and the store's time does.
type Suspend struct{}

// Name implements Fault.
func (Suspend) Name() string { return "suspend" }

// Params implements Fault.
func (Suspend) Params() map[string]any { return nil }

// Apply implements Fault.
func (Suspend) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.Suspend(ctx, node) })
}

// Heal implements Fault.
func (Suspend) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.Awaken(ctx, node) })
}

// Effect implements Fault.
func (Suspend) Effect() Effect {
	return Effect{
		Summary:   "a candidate's machine is suspended: its process stands still, and its monotonic clock too",
		Undone:    continued + ", and its clock with it",
		Immediate: true, Cuts: true, Holds: true, Skews: true, Simple: true, Bearable: true, Gone: true,
	}
}
