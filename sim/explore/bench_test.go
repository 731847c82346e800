package explore

import "testing"

// BenchmarkStates is one new state of the world with losses and a crash.
func BenchmarkStates(b *testing.B) {
	set := Find("crash")
	states := 0
	for b.Loop() {
		r, err := Search(set, Options{States: 500_000})
		if err != nil || r.Broken != "" {
			b.Fatal(err, r.Broken)
		}
		states += r.States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
}
