package virtual

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// A coroutine that is left behind is a goroutine that is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// quick is a plan with round numbers: messages take 10 ms.
func quick(nodes int) sim.Plan {
	return sim.Plan{
		Subject: "recount", Nodes: nodes, Drift: 0.01, Seed: 1,
		Timings: sim.Timings{Lease: 3 * time.Second, Renew: time.Second, Retry: 200 * ms},
		Quiet:   time.Second, Writes: time.Second, Observes: time.Hour, Network: sim.Network{Latency: 10 * ms},
	}
}

// rig is a run whose faults the test itself puts on.
type rig struct {
	*testing.T
	*stage
}

// launch begins a run, whose candidates have just started.
func launch(t *testing.T, plan sim.Plan, subject Subject) rig {
	r := (&World{}).newRun(plan, subject, how{})
	for _, n := range r.nodes {
		n.launch(0)
	}
	t.Cleanup(r.end)
	return rig{t, &stage{run: r}}
}

// to lets the world go on to the time at.
func (r rig) to(at time.Duration) {
	for r.next(at) {
		continue
	}
}

// did counts the events of a kind, and call if that is not empty, of a node.
func (r rig) did(node string, kind history.Kind, call history.Call) int {
	n := 0
	for _, e := range r.events {
		if e.Node == node && e.Kind == kind && (call == "" || e.Call == call) {
			n++
		}
	}
	return n
}

// must fails the test for an error of a stage.
func (r rig) must(_ string, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// whole are the targets of a fault on the whole store.
var whole = []string{history.StoreTarget}
