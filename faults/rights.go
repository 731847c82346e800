package faults

import "context"

// RightsWithdrawn takes from the candidates' user the right to run scripts. Connections
// stay open; healing gives the right back.
type RightsWithdrawn struct{}

// Name implements Fault.
func (RightsWithdrawn) Name() string { return "rights-withdrawn" }

// Params implements Fault.
func (RightsWithdrawn) Params() map[string]any { return nil }

// Apply implements Fault.
func (RightsWithdrawn) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.WithdrawRights(ctx)
}

// Heal implements Fault.
func (RightsWithdrawn) Heal(ctx context.Context, w World, _ []string) (string, error) {
	return w.RestoreRights(ctx)
}

// Effect implements Fault.
func (RightsWithdrawn) Effect() Effect {
	return Effect{Summary: "the candidates' user may run no scripts", Undone: "the user gets the right back", Store: true, Attended: true, User: true}
}
