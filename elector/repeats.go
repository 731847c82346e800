package elector

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector/event"
)

// What goes wrong again and again is logged at once, after firstPause, and then after
// pauses that are twice as long each time, up to lastPause.
const (
	firstPause = 10 * time.Second
	lastPause  = 10 * time.Minute
)

// repeats remembers what the log was told to warn of. A store that refuses fails some ten
// requests a second in each election, and none of these lines says more than the first.
// It is safe for concurrent use.
type repeats struct {
	open atomic.Int32 // how many go on that are in the log

	mu sync.Mutex
	of map[string]*repeat // by what is logged
}

// repeat is something that goes wrong, perhaps again and again.
type repeat struct {
	first, said, last time.Duration // the first time, that of the last line, and the last time
	pause             time.Duration // after the last line
	unsaid            int           // times since the last line
	times             int           // since the first time
	logged            bool          // since then
	err               error         // the last one
}

// again notes that something has gone wrong once more. It returns how often it has since
// the last line about it, or 0 if it is too early for another line.
func (r *repeats) again(what string, err error, now time.Duration) (times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.of[what]
	if one == nil {
		one = &repeat{said: now, last: now, pause: -1}
		if r.of == nil {
			r.of = map[string]*repeat{}
		}
		r.of[what] = one
	}
	if one.times == 0 {
		one.first = now
	}
	calm := now-one.last > one.pause
	one.times, one.unsaid, one.last, one.err = one.times+1, one.unsaid+1, now, err
	if now-one.said <= one.pause {
		return 0
	}
	if calm {
		one.pause = 0
	}
	one.pause = min(max(2*one.pause, firstPause), lastPause)
	times, one.unsaid, one.said = one.unsaid, 0, now
	if !one.logged {
		one.logged = true
		r.open.Add(1)
	}
	return times
}

// over calls f for each thing that is in the log and that has not gone wrong for so
// long, if it did more than once.
func (r *repeats) over(now, calm time.Duration, f func(what string, one repeat)) {
	if r.open.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, one := range r.of {
		if !one.logged || now-one.last < calm {
			continue
		}
		if one.times > 1 {
			f(what, *one)
		}
		one.logged, one.times, one.unsaid, one.err = false, 0, 0, nil
		r.open.Add(-1)
	}
}

// kinds are the troubles that are told apart in the log. All others are requests that failed.
var kinds = []error{
	event.ErrTimeout, event.ErrTooMany, event.ErrTokenSeen, event.ErrTooLate, event.ErrStray, event.ErrDrainCapped, event.ErrCallbackHangs, event.ErrCrowded, event.ErrSameID, ErrWithheld, event.ErrNoHints, event.ErrPanic,
}

// troubleOf is what the log says of a trouble, and by which it is told apart.
func troubleOf(err error) string {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return strings.TrimPrefix(kind.Error(), "elector: ")
		}
	}
	return troubleText
}

// warns is what the event warns of, and empty if that is nothing which goes wrong again
// and again.
func (e *Elector) warns(ev Event) string {
	switch {
	case ev.Kind == event.Trouble:
		return troubleOf(ev.Err)
	case ev.Kind == event.StateChanged && ev.Err != nil:
		return fatalOf(ev.Err)
	case ev.Kind == event.Extended && e.overdue(ev):
		return lateText
	}
	return ""
}

// settled tells the log what has not gone wrong any more for a lease.
func (s *session) settled() {
	e := s.e
	if e.repeats.open.Load() == 0 {
		return
	}
	e.repeats.over(s.clock.Now(), e.cfg.Lease, func(what string, one repeat) {
		s.logs(slog.LevelInfo, "it has not gone wrong again for a lease",
			slog.String("what", what), slog.Int("times", one.times), slog.Duration("for", one.last-one.first), slog.Any("error", one.err))
	})
}
