package stage

import (
	"time"

	"github.com/recount-io/recount/history"
)

// Uninjected returns the two events of a fault that nobody injected, and that what says of:
// see [history.Uninjected]. The fault took effect from one time to the other.
func Uninjected(id, fault string, targets []string, from, to time.Duration, effect history.Effect, what string) [2]history.Event {
	on := history.Event{
		Kind: history.Fault, ID: id, Fault: fault, Phase: history.On, At: from, Targets: targets,
		Params: map[string]any{"lasted_ms": (to - from).Milliseconds()},
	}
	off := on
	on.Effect = &effect
	off.At, off.Phase, off.Effective, off.Evidence = to, history.Off, history.Bool(true), "not injected: "+what
	return [2]history.Event{on, off}
}
