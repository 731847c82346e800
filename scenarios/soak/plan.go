package soak

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
)

// draw draws the faults of a round: two to five of them, no two of which hit one
// process, one way or the store at one time.
func (g *group) draw(round int) faults.Schedule {
	random := rand.New(rand.NewPCG(g.soak.Seed, uint64(g.place)<<32|uint64(round)))
	var plan faults.Schedule
	if round%20 == 10 {
		plan = append(plan, faults.Step{Fault: rewritten{g}, Target: faults.Store})
	}
	busy := map[string]time.Duration{} // until when there is a fault
	for range 2 + random.IntN(4) {
		at := time.Duration(random.Int64N(int64(window)))
		long := g.soak.Lease/10 + time.Duration(random.Int64N(int64(4*g.soak.Lease)))
		target, place, fault := g.drawFault(random, long)
		step := faults.Step{At: max(at, busy[place]), For: long, Fault: alone{fault, g.turn(place), g}, Target: target}
		busy[place] = step.At + long + g.soak.Lease/2
		plan = append(plan, step)
	}
	return plan
}

// alone is a fault that waits until the one before, in the same place, is over: on a
// busy machine it may take long to take one off.
type alone struct {
	faults.Fault
	turn  *sync.Mutex
	group *group
}

// Apply implements faults.Fault.
func (a alone) Apply(ctx context.Context, w faults.World, targets []string) (string, error) {
	a.turn.Lock()
	if a.Effect().Store {
		a.group.awaitServer(ctx)
	}
	return a.Fault.Apply(ctx, w, targets)
}

// Heal implements faults.Fault. It is called after every Apply.
func (a alone) Heal(ctx context.Context, w faults.World, targets []string) (string, error) {
	defer a.turn.Unlock()
	return a.Fault.Heal(ctx, w, targets)
}

// turn is whose turn it is in a place.
func (g *group) turn(place string) *sync.Mutex {
	if g.turns[place] == nil {
		g.turns[place] = &sync.Mutex{}
	}
	return g.turns[place]
}

// drawFault draws a fault, whom it hits, and what of that is busy with it.
func (g *group) drawFault(random *rand.Rand, long time.Duration) (faults.Target, string, faults.Fault) {
	node := g.members[random.IntN(len(g.members))].name
	milliseconds := func(least, most int) time.Duration {
		return time.Duration(least+random.IntN(most-least)) * time.Millisecond
	}
	switch kind := random.IntN(20); {
	case kind < 5:
		return faults.Node(node), "way of " + node, faults.Partition{How: faults.Cuts[kind]}
	case kind < 7:
		return faults.Node(node), "way of " + node, faults.Latency{Base: milliseconds(10, 150)}
	case kind < 8:
		base := milliseconds(10, 150)
		return faults.Node(node), "way of " + node, faults.Latency{Base: base, Jitter: base * 9 / 10}
	case kind < 9:
		return faults.Node(node), "way of " + node, faults.Bandwidth{Kilobytes: 20 + random.IntN(200)}
	case kind < 11:
		return faults.Node(node), node, faults.Pause{}
	case kind < 13:
		// The first one lives as long as the soak, to show what it takes.
		node = g.members[1+random.IntN(len(g.members)-1)].name
		if kind == 11 {
			return faults.Node(node), node, faults.Resign{}
		}
		return faults.Node(node), node, faults.Crash{}
	}
	onStore := []faults.Fault{
		faults.StorePause{}, clientPause{g, long}, faults.StoreCrash{KeepData: true}, faults.StoreCrash{},
		faults.ScriptsFlushed{}, clientsKilled{g}, faults.KeyDeleted{}, faults.StoreFlush{}, faults.CounterDeleted{},
	}
	return faults.Store, "the store", onStore[random.IntN(len(onStore))]
}
