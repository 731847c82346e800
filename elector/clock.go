package elector

import "time"

// Clock is the elector's only source of time. Now must go on while the machine
// is suspended: the store's clock does, and a lease does not wait.
type Clock interface {
	// Now is the time since a fixed point of the clock's own choice. It never
	// goes back.
	Now() time.Duration
	// AfterFunc calls f on its own goroutine once d has passed on this clock.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending AfterFunc.
type Timer interface {
	// Stop prevents the call if it has not begun, and reports whether it did.
	Stop() bool
}

// SystemClock is the machine's time since it was booted, suspensions included
// (CLOCK_BOOTTIME on Linux, its like on macOS and Windows). On Linux an answer
// is up to 40 µs old, never ahead, and most cost no system call. Its timers are Go's,
// which stand still during a suspension and are late by as much: the elector
// never relies on a single one while it leads.
//
// Called in a bubble of testing/synctest, it returns the bubble's time: its timers are
// fake, and would not fit the machine's.
func SystemClock() Clock {
	if inBubble() {
		return bubbleClock{}
	}
	return systemClock{}
}

type systemClock struct{}

func (systemClock) Now() time.Duration { return bootTime() }

func (systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
