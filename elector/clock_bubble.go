package elector

import (
	"strings"
	"time"
)

// bubbleClock is the time of the testing/synctest bubble that its caller is in. Two of one
// bubble agree, as two SystemClocks do.
type bubbleClock struct{}

// bubbleStart is when time begins in every bubble.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (bubbleClock) Now() time.Duration { return time.Since(bubbleStart) }

func (bubbleClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// inBubble reports whether the caller is in a bubble. No clock can tell: a machine may
// be set to the year 2000, and a coarse clock stands still for milliseconds. The
// runtime says it in the trace of the goroutine alone, and only package synctest makes
// bubbles, for a test. So no program is taken for one that is in a bubble.
func inBubble() bool {
	_, state, _ := strings.Cut(goroutineHead(), " [")
	state, _, _ = strings.Cut(state, "]")
	state, _, _ = strings.Cut(state, "{") // labels may say anything
	return strings.Contains(state, ", synctest bubble ")
}

// outside refuses a session in a bubble that would look at the machine's clock: its timers
// would never seem due, and it would never lead.
func (e *Elector) outside() error {
	if e.cfg.Clock == (systemClock{}) && inBubble() {
		return &ConfigError{"Clock", "is the machine's, and the elector runs in a bubble of testing/synctest, where timers know nothing of it: call New in the bubble"}
	}
	return nil
}
