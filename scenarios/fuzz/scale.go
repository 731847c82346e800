package fuzz

import (
	"time"

	"github.com/recount-io/recount/faults"
)

// scaleSchedule is the schedule with every time in it changed.
func scaleSchedule(s faults.Schedule, scale func(time.Duration) time.Duration) faults.Schedule {
	scaled := make(faults.Schedule, len(s))
	for i, step := range s {
		step.At, step.For = scale(step.At), scale(step.For)
		switch f := step.Fault.(type) {
		case faults.Latency:
			step.Fault = faults.Latency{Base: scale(f.Base).Round(time.Millisecond), Jitter: scale(f.Jitter).Round(time.Millisecond)}
		case faults.StoreClockJump:
			step.Fault = faults.StoreClockJump{By: scale(f.By).Round(time.Millisecond)}
		case faults.StoreRewind:
			step.Fault = faults.StoreRewind{By: scale(f.By).Round(time.Millisecond)}
		case faults.StoreFailover:
			step.Fault = faults.StoreFailover{Lag: scale(f.Lag).Round(time.Millisecond)}
		case faults.StoreSplit:
			step.Fault = faults.StoreSplit{Lag: scale(f.Lag).Round(time.Millisecond)}
		}
		scaled[i] = step
	}
	return scaled
}
