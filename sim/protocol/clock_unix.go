//go:build unix

package protocol

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic reads the machine's CLOCK_MONOTONIC: the one clock on which the
// harness and all candidates stamp their events, and which no fault touches.
func Monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("protocol: no CLOCK_MONOTONIC: " + err.Error())
	}
	return time.Duration(t.Nano())
}
