package topologies

import (
	"context"
	"fmt"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/bubble"
)

// step is the act as a step of a schedule.
func (a Act) step(nodes []string, lag time.Duration) faults.Step {
	step := faults.Step{At: a.At, For: a.For, Target: faults.Store}
	switch {
	case a.node() && a.Node < 0:
		step.Target = faults.PresentLeader
	case a.node():
		step.Target = faults.Node(nodes[a.Node])
	}
	switch a.Kind {
	case Kill:
		step.Fault = faults.Crash{}
	case Pause:
		step.Fault = faults.Pause{}
	case Cut:
		step.Fault = faults.Partition{How: faults.CutBoth}
	case Resign:
		step.Fault = faults.Resign{}
	default:
		step.Fault = arranged{a, nodes, lag}
	}
	return step
}

// arranged is an act on servers, or on who knows which of them, as a fault. Only the
// bubble has what it takes.
type arranged struct {
	Act
	nodes []string
	lag   time.Duration // of the server, where nothing makes it longer
}

var _ faults.Fault = arranged{}

// Name implements faults.Fault.
func (f arranged) Name() string { return f.Kind.String() }

// Params implements faults.Fault.
func (f arranged) Params() map[string]any { return map[string]any{"act": f.Act.String()} }

// Apply implements faults.Fault.
func (f arranged) Apply(_ context.Context, w faults.World, _ []string) (string, error) {
	o := bubble.OperatorsOf(w)
	switch f.Kind {
	case Freeze:
		return o.Freeze(f.Server, true)
	case Restart:
		return o.Crash(f.Server)
	case Promote:
		return o.Promote(f.Server, f.among(f.Stay), f.among(f.Silent), f.among(f.Linger))
	case Follow:
		return o.Follow(f.Server)
	case Lead:
		return o.Lead(f.nodes[f.Node])
	case Sever:
		o.Sever(f.Server, true)
	case Forget:
		o.Forget(f.Server)
	case Lag:
		o.Lag(f.Server, f.lag+f.By)
	case CutOne:
		o.Cut(f.nodes[f.Node], f.Server, faults.CutBoth)
	case Slow:
		o.Slow(f.Server, f.By)
	case Step:
		o.StepClock(f.Server, f.By)
	case Refuse:
		return o.Refuse(f.Server, f.How)
	}
	return "done", nil
}

// Heal implements faults.Fault.
func (f arranged) Heal(_ context.Context, w faults.World, _ []string) (string, error) {
	o := bubble.OperatorsOf(w)
	switch f.Kind {
	case Freeze:
		return o.Freeze(f.Server, false)
	case Restart:
		return o.Restart(f.Server, f.Keep)
	case Sever:
		o.Sever(f.Server, false)
	case Lag:
		o.Lag(f.Server, f.lag)
	case CutOne:
		o.Mend(f.nodes[f.Node], f.Server)
	case Slow:
		o.Slow(f.Server, 0)
	}
	return "", nil
}

// Effect implements faults.Fault.
func (f arranged) Effect() faults.Effect {
	return faults.Effect{Summary: "an act of a walk", Store: true, Void: true, Instant: f.For == 0}
}

// among are the candidates that the bits mean.
func (f arranged) among(bits uint) (names []string) {
	for i, name := range f.nodes {
		if bits&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// gather is the end of a walk: all servers run and know their places.
type gather struct{ Case }

// Name implements faults.Fault.
func (gather) Name() string { return "gather" }

// Params implements faults.Fault.
func (gather) Params() map[string]any { return nil }

// Apply implements faults.Fault.
func (f gather) Apply(_ context.Context, w faults.World, _ []string) (string, error) {
	o := bubble.OperatorsOf(w)
	o.Gather()
	f.spread(o)
	return "all servers run, and follow the primary", nil
}

// Heal implements faults.Fault.
func (gather) Heal(context.Context, faults.World, []string) (string, error) { return "", nil }

// Effect implements faults.Fault.
func (gather) Effect() faults.Effect {
	return faults.Effect{Summary: "the end of a walk", Store: true, Void: true, Instant: true}
}

// ends is when the last act of the case is over.
func (c Case) ends() time.Duration {
	var end time.Duration
	for _, a := range c.Acts {
		end = max(end, a.At+a.For)
	}
	return end
}

func (c Case) String() string {
	text := fmt.Sprintf("%s of %d, %d confirm, %d candidates, lease %v, latency %v", c.Topology, c.Servers, c.Replicas, c.Nodes, c.Lease, c.Latency)
	if c.Far > 0 {
		text += fmt.Sprintf(", the farthest replica %v behind", c.Far)
	}
	if c.Releases != nil {
		text += fmt.Sprintf(", releases %+v", c.Releases)
	}
	for _, a := range c.Acts {
		text += "\n   " + a.String()
	}
	return text
}
