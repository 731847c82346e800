package protocol

import (
	"context"
	"time"
)

// StallShare is the part of a lease for which a process must be held up before
// it is worth a word: one StallShare-th.
const StallShare = 8

// StallPeriod is how often Stalls looks at the clock.
const StallPeriod = 20 * time.Millisecond

// Stalls calls report whenever this process was held up for at least least:
// it sleeps for a moment again and again, and sees how late it wakes up. It
// returns when ctx is done.
func Stalls(ctx context.Context, least time.Duration, report func(lasted time.Duration)) {
	timer := time.NewTimer(StallPeriod)
	defer timer.Stop()
	for last := Monotonic(); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := Monotonic()
		if late := now - last - StallPeriod; late >= least {
			report(late)
		}
		last = now
		timer.Reset(StallPeriod)
	}
}
