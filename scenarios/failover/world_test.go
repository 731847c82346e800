package failover

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// world is a world whose histories are fabricated.
type world struct {
	brings func(sim.Plan) int           // failovers of a run; nil: as many as its cause has
	takes  func(sim.Plan) time.Duration // nil: no time
	fails  func(sim.Plan) error         // nil: never

	mu      sync.Mutex
	begun   []sim.Plan // in the order in which they began
	now     int        // runs under way
	most    int        // runs that were under way at one time
	ended   []uint64   // the seeds of the runs, in the order in which they ended
	stopped int        // runs
}

// Run implements scenarios.World.
func (w *world) Run(ctx context.Context, plan sim.Plan, _ string) (*history.History, error) {
	w.mu.Lock()
	w.begun = append(w.begun, plan)
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	if w.takes != nil {
		select {
		case <-time.After(w.takes(plan)):
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	w.now--
	w.ended = append(w.ended, plan.Seed)
	if ctx.Err() != nil {
		w.stopped++
	}
	w.mu.Unlock()
	if w.fails != nil {
		if err := w.fails(plan); err != nil {
			return nil, err
		}
	}
	n := len(plan.Schedule)
	if w.brings != nil {
		n = w.brings(plan)
	}
	return fabricate(plan, n), ctx.Err()
}

// order names whose runs began, in the order in which they began.
func (w *world) order() (names []string) {
	for _, plan := range w.begun {
		names = append(names, plan.Subject)
	}
	return names
}

// fabricate is a history with so many failovers of the plan's cause. In each, one second
// after the other, the leader is hit and its process ends; 600 ms later another one leads.
func fabricate(plan sim.Plan, n int) *history.History {
	h := &history.History{Header: plan.Header("fabricated", "none", 0)}
	h.Header.Version = history.Version
	add := func(at time.Duration, e history.Event) {
		e.At = at
		h.Events = append(h.Events, e)
	}
	const election = "e"
	node := func(i int) string { return h.Header.Nodes[i%len(h.Header.Nodes)] }
	for i := range h.Header.Nodes {
		add(0, history.Event{Kind: history.Start, Node: node(i)})
	}
	add(time.Millisecond, history.Event{Kind: history.Elected, Node: node(0), Election: election, Token: 1})
	for i := range n {
		at := time.Duration(i+1) * time.Second
		id, targets := fmt.Sprintf("f%d", i+1), []string{node(i)}
		add(at, history.Event{Kind: history.Fault, ID: id, Fault: plan.Schedule[0].Fault.Name(), Phase: history.On, Targets: targets})
		add(at, history.Event{Kind: history.Exit, Node: node(i), Why: history.Killed})
		add(at+500*time.Millisecond, history.Event{Kind: history.Fault, ID: id, Fault: plan.Schedule[0].Fault.Name(), Phase: history.Off, Targets: targets, Effective: history.Bool(true)})
		add(at+550*time.Millisecond, history.Event{Kind: history.Start, Node: node(i)})
		add(at+600*time.Millisecond, history.Event{Kind: history.Elected, Node: node(i + 1), Election: election, Token: uint64(i + 2)})
	}
	number(h)
	return h
}

// number puts the events into the order of their times, and numbers them.
func number(h *history.History) {
	slices.SortStableFunc(h.Events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	for i := range h.Events {
		h.Events[i].Seq = int64(i + 1)
	}
}

// one is the cause of that name.
func one(t *testing.T, name string) Cause {
	t.Helper()
	found, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

// measurement measures crashes of these electors in the world, from seed 5 on.
func measurement(t *testing.T, w scenarios.World, electors ...string) *Measurement {
	t.Helper()
	m := &Measurement{
		Causes: []Cause{one(t, "crash")}, Settings: scenarios.Settings{Seed: 5},
		Logs: func(string) (string, error) { return "", nil },
	}
	for _, name := range electors {
		m.Electors = append(m.Electors, Elector{
			Name: name, World: w,
			Repro: func(c Cause, seed uint64) string {
				return fmt.Sprintf("repeat %s of %s with seed %d", c.Name, name, seed)
			},
		})
	}
	return m
}

// run runs the measurement, which must end without an error.
func run(t *testing.T, m *Measurement) []*Cell {
	t.Helper()
	cells, err := m.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// seeds are those of the cell's runs, in their order.
func seeds(c *Cell) (all []uint64) {
	for _, r := range c.Runs {
		all = append(all, r.Seed)
	}
	return all
}

// hits reports whether the step hits the leader, or the store.
func hits(step faults.Step) bool { return step.Target == faults.Leader || step.Target == faults.Store }
