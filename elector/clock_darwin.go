package elector

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime reads CLOCK_MONOTONIC, which goes on during sleep on macOS.
func bootTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("elector: CLOCK_MONOTONIC: " + err.Error())
	}
	return time.Duration(t.Nano())
}
