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

// Stalls calls report whenever this process was held up for at least least: in one
// go, or on and off. It sleeps for a moment again and again, and sees how late it
// wakes up. What wakes up late by turns has lost little each time, but an answer that
// is passed on from one to the next a dozen times has lost it a dozen times: the
// delays of a stretch of time count as one, as long as they make up more than a
// quarter of it. Stalls returns when ctx is done.
func Stalls(ctx context.Context, least time.Duration, report func(lasted time.Duration)) {
	timer := time.NewTimer(StallPeriod)
	defer timer.Stop()
	l := lateness{least: least, last: Monotonic()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if lasted := l.woke(Monotonic()); lasted > 0 {
			report(lasted)
		}
		timer.Reset(StallPeriod)
	}
}

// lateness adds up how late something woke up that sleeps for StallPeriod again and
// again.
type lateness struct {
	least time.Duration
	last  time.Duration // when it woke up
	since time.Duration // when the stretch began that is late all in all
	lost  time.Duration // in that stretch, beyond a quarter of it
}

// woke tells how long the process was held up until now, if it is worth a word, or else 0.
func (l *lateness) woke(now time.Duration) time.Duration {
	slept := now - l.last
	late := slept - StallPeriod
	if l.lost == 0 {
		l.since = l.last + StallPeriod
	}
	l.lost = max(0, l.lost+late-slept/4)
	l.last = now
	switch {
	case late >= l.least:
		l.lost = 0
		return late
	case l.lost >= l.least:
		l.lost = 0
		return now - l.since
	}
	return 0
}
