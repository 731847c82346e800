package faults

import "context"

// ConnectionsClosed has the store close every connection of a candidate. New ones are
// served as ever.
type ConnectionsClosed struct{}

// Name implements Fault.
func (ConnectionsClosed) Name() string { return "connections-closed" }

// Params implements Fault.
func (ConnectionsClosed) Params() map[string]any { return nil }

// Apply implements Fault.
func (ConnectionsClosed) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.CloseConnections(ctx)
}

// Heal implements Fault.
func (ConnectionsClosed) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (ConnectionsClosed) Effect() Effect {
	return Effect{
		Summary: "the store closes every connection of a candidate", Undone: "not at all: candidates connect again",
		Store: true, Attended: true, Instant: true,
	}
}
