package candidate

import (
	"testing"
	"time"

	"github.com/recount-io/recount/sim/protocol"
)

// A candidate that competes tells by itself what it consumes.
func TestMainTellsItsUsage(t *testing.T) {
	c := start(t, "idle", nil)
	silent := time.AfterFunc(30*time.Second, func() { _ = c.cmd.Process.Kill() }) // next then fails
	defer silent.Stop()
	c.say(t, `{"command":"go"}`)
	l := c.next(t)
	for l.Name != protocol.EventUsage {
		l = c.next(t)
	}
	if l.Goroutines < 2 || l.HeapBytes < 0 {
		t.Errorf("it tells %+v", l)
	}
}
