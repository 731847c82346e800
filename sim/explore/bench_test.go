package explore

import (
	"testing"

	"github.com/recount-io/recount/internal/processor"
)

// BenchmarkStates is new states in a second of one core's time, for every world: up
// to a million of each. They are by the processor's time, as machines are shared.
func BenchmarkStates(b *testing.B) {
	for _, set := range Worlds() {
		b.Run(set.Name, func(b *testing.B) {
			states := 0
			began := processor.Time()
			for b.Loop() {
				r, err := Search(&set, Options{States: 1_000_000})
				if err != nil || r.Broken != "" {
					b.Fatal(err, r.Broken)
				}
				states += r.States
			}
			b.ReportMetric(float64(states)/(processor.Time()-began).Seconds(), "states/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
