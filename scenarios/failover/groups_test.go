package failover

import (
	"testing"
	"time"

	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// TestFewerGroupsGoOn shows that no run begins while as many are under way as may be by now.
func TestFewerGroupsGoOn(t *testing.T) {
	w := &world{takes: func(sim.Plan) time.Duration { return time.Millisecond }}
	m := measurement(t, w, "recount")
	groups, ended := 3, 0
	m.Parallel, m.Count, m.Groups = 3, 200, func() int { return groups }
	m.Done = func(_ *Cell, _ *Run, _ scenarios.Outcome) error {
		groups = 1
		w.mu.Lock()
		defer w.mu.Unlock()
		if ended++; ended == 3 { // nobody is left of those that began beside each other
			w.most = 0
		}
		return nil
	}
	run(t, m)
	if w.most != 1 || len(w.begun) != 20 {
		t.Errorf("%d runs, %d at once; want 20, and 1", len(w.begun), w.most)
	}
}
