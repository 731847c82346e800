package protocol

import (
	"context"
	"runtime/metrics"
	"time"
)

// UsagePeriod is how often it is looked at what a process consumes: often
// enough for the processes of a scenario that keeps killing them, and seldom
// enough to cost nothing.
const UsagePeriod = time.Second

// Usages calls report with what this process consumes, every UsagePeriod until
// ctx is done.
func Usages(ctx context.Context, report func(goroutines, heap int64)) {
	ticker := time.NewTicker(UsagePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			report(OwnUsage())
		}
	}
}

// OwnUsage is how many goroutines this process has, and how many bytes its
// last garbage collection left alive: 0 before the first one.
func OwnUsage() (goroutines, heap int64) {
	samples := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()), int64(samples[1].Value.Uint64())
}
