//go:build !unix

package protocol

import "time"

var start = time.Now()

// Monotonic reads a monotonic clock. Here it is this process's own: the live
// world, whose processes must share one, does not run on this system.
func Monotonic() time.Duration { return time.Since(start) }
