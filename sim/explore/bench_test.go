package explore

import (
	"syscall"
	"testing"
	"time"
)

// BenchmarkStates is new states in a second of one core's time, for every world: up
// to a million of each. They are by the processor's time, as machines are shared.
func BenchmarkStates(b *testing.B) {
	for _, set := range Worlds() {
		b.Run(set.Name, func(b *testing.B) {
			states := 0
			began := processorTime(b)
			for b.Loop() {
				r, err := Search(&set, Options{States: 1_000_000})
				if err != nil || r.Broken != "" {
					b.Fatal(err, r.Broken)
				}
				states += r.States
			}
			b.ReportMetric(float64(states)/(processorTime(b)-began).Seconds(), "states/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// processorTime is what this process has used of the processors so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
