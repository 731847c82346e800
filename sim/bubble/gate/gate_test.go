package gate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/sim/bubble/gate"
)

// A caller that comes while the gate is closed goes on when it opens. To close it twice is
// to close it once. What began while it was closed differs from what began before and after.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate.Gate
		g.Wait() // it is open
		began := time.Now()
		before := g.Stood()
		g.Close()
		g.Close()
		closed := g.Stood()
		time.AfterFunc(time.Second, g.Open)
		if g.Wait(); time.Since(began) != time.Second {
			t.Errorf("the gate kept who waited for %v", time.Since(began))
		}
		after := g.Stood()
		if g.Open(); before == closed || closed == after || before == after || after != g.Stood() {
			t.Errorf("%d before it was closed, %d then, %d after, and %d in the end", before, closed, after, g.Stood())
		}
	})
}
