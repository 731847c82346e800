package faults

import "context"

// continued is how a suspension is undone.
const continued = "the process is let go on"

// Pause suspends its targets' processes, as a long garbage collection, a
// debugger or a frozen virtual machine does.
type Pause struct{}

// Name implements Fault.
func (Pause) Name() string { return "pause" }

// Params implements Fault.
func (Pause) Params() map[string]any { return nil }

// Apply implements Fault.
func (Pause) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.Stop(ctx, node) })
}

// Heal implements Fault.
func (Pause) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, silent(func(node string) error { return w.Continue(ctx, node) }))
}

// Effect implements Fault.
func (Pause) Effect() Effect {
	return Effect{Summary: "a candidate's process is suspended", Undone: continued, Immediate: true, Cuts: true, Holds: true, Simple: true, Bearable: true, Fair: true, Gone: true}
}

// PauseBeforeWrite suspends its target between the check of its leadership and
// the arrival of the write that follows: the moment that only a fence at the
// resource can close.
type PauseBeforeWrite struct{}

// Name implements Fault.
func (PauseBeforeWrite) Name() string { return "pause-before-write" }

// Params implements Fault.
func (PauseBeforeWrite) Params() map[string]any { return nil }

// Apply implements Fault.
func (PauseBeforeWrite) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.StopBeforeWrite(ctx, node) })
}

// Heal implements Fault.
func (PauseBeforeWrite) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.ContinueWrite(ctx, node) })
}

// Effect implements Fault. Requests go through until there is a write to hold, so
// it does not cut.
func (PauseBeforeWrite) Effect() Effect {
	return Effect{Summary: "the leader is suspended between its check and the write that follows", Undone: continued, Immediate: true, Holds: true}
}
