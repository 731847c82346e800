package gate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/sim/bubble/gate"
)

// Whoever comes while the gate is closed goes on when it opens; it is counted as
// once that it was closed twice.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate.Gate
		g.Wait() // it is open
		began := time.Now()
		g.Close()
		g.Close()
		time.AfterFunc(time.Second, g.Open)
		if g.Wait(); time.Since(began) != time.Second {
			t.Errorf("the gate kept who waited for %v", time.Since(began))
		}
		if g.Open(); g.Stood() != 1 {
			t.Errorf("it was closed %d times", g.Stood())
		}
	})
}
