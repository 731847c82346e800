package calls_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/processor"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/calls"
)

// BenchmarkThousand measures how many times faster than real time a process lives
// that competes in 1,000 elections on one store, with a lease of 15 s, by
// the processor's time.
func BenchmarkThousand(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := calls.Case{Lease: 15 * time.Second, RoundTrip: 500 * time.Microsecond, Elections: 1000, Databases: 1, Prefixes: 1, Writes: 1, Processes: make([]calls.Behavior, 1)}
	var lived time.Duration
	began := processor.Time()
	for b.Loop() {
		c.Number++
		var h *history.History
		ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
			Name: b.Name(), F: func(t *testing.T) {
				bubbletest.Run(t, c.Number, func(t *testing.T) { h = c.Run(t.Context()).History })
			},
		}})
		if !ok {
			b.Fatal("the run failed")
		}
		lived += h.Events[len(h.Events)-1].At
	}
	b.ReportMetric(float64(lived)/float64(processor.Time()-began), "times-real-time")
	b.ReportMetric(0, "ns/op")
}
