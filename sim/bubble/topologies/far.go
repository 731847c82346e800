package topologies

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/space"
)

// distances draws how far apart the servers are, from numbers of its own: whatever
// else was drawn is what it was when there were none. Confirmations have a tenth of a
// second.
func (d *drawer) distances(r *rand.Rand) {
	if d.Replicas > 0 && r.IntN(2) == 0 {
		d.Far = space.Between(r, time.Millisecond, min(40*time.Millisecond, d.Lease/50))
	}
}

// lag is how far away a server is from the others.
func (c Case) lag(server int) time.Duration {
	if c.Servers < 2 {
		return 0
	}
	return c.Far * time.Duration(server) / time.Duration(c.Servers-1)
}

// settle puts the servers of a case where they are.
type settle struct{ Case }

// Name implements faults.Fault.
func (settle) Name() string { return "settle" }

// Params implements faults.Fault.
func (settle) Params() map[string]any { return nil }

// Apply implements faults.Fault.
func (f settle) Apply(_ context.Context, w faults.World, _ []string) (string, error) {
	f.spread(bubble.OperatorsOf(w))
	return "all servers are where they are", nil
}

// Heal implements faults.Fault.
func (settle) Heal(context.Context, faults.World, []string) (string, error) { return "", nil }

// Effect implements faults.Fault.
func (settle) Effect() faults.Effect {
	return faults.Effect{Summary: "the servers of a walk are apart", Store: true, Void: true, Instant: true}
}

// spread makes what is written reach each server as late as it is far away.
func (c Case) spread(o bubble.Operators) {
	for i := range c.Servers {
		if c.Far > 0 {
			o.Lag(i, c.lag(i))
		}
	}
}
