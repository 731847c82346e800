//go:build unix

// Package processor tells what work takes of the processor: where machines are
// shared, the clock tells of other people's work, too.
package processor

import (
	"syscall"
	"time"
)

// Time is what this process has used of the processors so far.
func Time() time.Duration { return used(syscall.RUSAGE_SELF) }

// WithChildren is Time, and what the children have used that have ended and were waited for.
func WithChildren() time.Duration { return Time() + used(syscall.RUSAGE_CHILDREN) }

func used(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic("processor: " + err.Error()) // it fails for wrong arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
