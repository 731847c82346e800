//go:build !linux && !darwin && !windows && !freebsd && !openbsd && !dragonfly && !solaris

package elector

import "time"

var processStart = time.Now()

// bootTime is Go's monotonic clock, and counts from the start of the process. On most
// of these systems it stands still while the machine is suspended: do not suspend a
// machine that competes.
func bootTime() time.Duration { return time.Since(processStart) }
