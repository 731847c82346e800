package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/wire"
)

// Silent programs whose terms lapse without a release lead again as soon as they are
// granted the lock again: a fault that is meant for the leader finds it.
func TestLapsedLeaderLeadsAgain(t *testing.T) {
	now := time.Duration(0)
	lock := wire.NewLock(wire.Options{})
	leaders := sim.NewLeadership([]string{"n1", "n2"})
	reading := wire.NewReading(lock, history.NewRecorder(func() time.Duration { return now }), func(e history.Event) { leaders.See(&e) })
	conns := map[string]*wire.Conn{"n1": reading.Conn("n1"), "n2": reading.Conn("n2")}
	for i, step := range []struct {
		after  time.Duration
		node   string
		line   string
		reply  wire.Value
		leader string
	}{
		{0, "n1", "SET lock a NX PX 1000", okay, "n1"},
		{300 * ms, "n2", "SET lock b NX PX 1000", nothing, "n1"},
		{900 * ms, "n2", "SET lock b NX PX 1000", okay, "n2"}, // n1 stands still
		{500 * ms, "n1", "SET lock a NX PX 1000", nothing, "n2"},
		{900 * ms, "n1", "SET lock a NX PX 1000", okay, "n1"}, // n2 stands still
	} {
		now += step.after
		x := conns[step.node].Send(strings.Fields(step.line))
		now += ms
		x.Answer(step.reply)
		if got := leaders.View().Leader; got != step.leader {
			t.Errorf("after step %d (%s %s) the leader is %q, want %q", i+1, step.node, step.line, got, step.leader)
		}
	}
}
