//go:build freebsd || openbsd || dragonfly || solaris

package elector

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is CLOCK_MONOTONIC, which all processes of the machine share. On some of
// these systems it stands still while the machine is suspended: do not suspend a
// machine that competes.
func bootTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("elector: CLOCK_MONOTONIC: " + err.Error()) // all of them have it
	}
	return time.Duration(t.Nano())
}
