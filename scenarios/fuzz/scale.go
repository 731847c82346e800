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
		if timed, ok := step.Fault.(faults.Timed); ok {
			step.Fault = timed.Scale(scale)
		}
		scaled[i] = step
	}
	return scaled
}
