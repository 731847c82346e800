package faults

import "context"

// restarted is how the end of a process is undone.
const restarted = "the process is started again"

// Crash kills its targets' processes without warning; healing starts them
// again.
type Crash struct{}

// Name implements Fault.
func (Crash) Name() string { return "crash" }

// Params implements Fault.
func (Crash) Params() map[string]any { return nil }

// Apply implements Fault.
func (Crash) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.Kill(ctx, node) })
}

// Heal implements Fault.
func (Crash) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, silent(func(node string) error { return w.Launch(ctx, node) }))
}

// Effect implements Fault.
func (Crash) Effect() Effect {
	return Effect{Summary: "a candidate's process is killed, and started again later", Undone: restarted, Simple: true, Fair: true, Gone: true}
}

// Resign asks its targets to resign and exit, as a deployment does; healing
// starts them again.
type Resign struct{}

// Name implements Fault.
func (Resign) Name() string { return "resign" }

// Params implements Fault.
func (Resign) Params() map[string]any { return nil }

// Apply implements Fault.
func (Resign) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.Dismiss(ctx, node) })
}

// Heal implements Fault.
func (Resign) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return Crash{}.Heal(ctx, w, targets)
}

// Effect implements Fault.
func (Resign) Effect() Effect {
	return Effect{Summary: "a candidate is asked to resign and exit, and is started again later", Undone: restarted, Simple: true, Fair: true, Gone: true}
}
