package elector

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is CLOCK_BOOTTIME. Go's own monotonic clock stands still while the
// machine is suspended; the store's clock does not. A system call for every
// answer would be most of what IsLeader costs, so most are told from two clocks
// that the process can read by itself.
func bootTime() time.Duration {
	if r, ok := (kernelClocks{}).read(); ok {
		if now, ok := machineClock.at(r); ok {
			return now
		}
	}
	return machineClock.ask(kernelClocks{})
}

var (
	began        = time.Now()
	machineClock = newBootClock(kernelClocks{})
)

// kernelClocks are the machine's.
type kernelClocks struct{}

func (kernelClocks) read() (reading, bool) {
	now := time.Now()
	seconds := now.Unix()
	r := reading{wall: seconds*int64(time.Second) + int64(now.Nanosecond()), mono: int64(now.Sub(began))}
	return r, uint64(seconds-firstMonotonic)>>33 == 0
}

// firstMonotonic is the beginning of 1885. From then on, for 2^33 s, package
// time keeps a monotonic reading beside the wall clock's.
const firstMonotonic = -2682288000

func (kernelClocks) boot() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("elector: CLOCK_BOOTTIME: " + err.Error()) // Linux has it since 2.6.39
	}
	return t.Nano()
}
