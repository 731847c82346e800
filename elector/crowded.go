package elector

import (
	"errors"
	"fmt"
	"time"

	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// took notes how long a request has taken that was answered at this moment. What remains
// is about the time of a round trip: some requests need not wait for a connection.
func (a *alarm) took(d, now time.Duration) {
	last := time.Duration(a.trip.Load())
	switch {
	case last == 0:
		a.since.Store(int64(now))
	case d > last:
		d = last + (d-last)/256
	}
	a.trip.Store(int64(d)) // that another one is lost does no harm
}

// sessions is how many have the alarm in common.
func (a *alarm) sessions() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.looks)
}

// crowded tells, once for all that have the store in common, that they are too many for
// it, if a renewal was given up and that is why. In the first two leases connections are
// opened, which takes several round trips.
func (s *session) crowded(t machine.Transition) {
	trip, since := time.Duration(s.alarm.trip.Load()), time.Duration(s.alarm.since.Load())
	if t.Call != machine.Renew || !errors.Is(t.Err, event.ErrTimeout) || s.alarm.notified.Load() || trip == 0 || t.At-since < 2*s.e.cfg.Lease {
		return
	}
	c, ok := store.As[store.Carrier](s.e.store)
	if !ok {
		return
	}
	n, within := s.alarm.sessions(), s.e.cfg.RequestTimeout
	most := c.Carries(within, trip)
	if n > most && s.alarm.notified.CompareAndSwap(false, true) {
		s.troubled(fmt.Errorf("%w: %d compete, and with a round trip of %v and a RequestTimeout of %v its connections are enough for %d: choose a longer Lease, a larger PoolSize, or several processes",
			event.ErrCrowded, n, trip.Round(time.Millisecond), within, most))
	}
}
