package instrument

import (
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
)

// Pulse knows how long a store has owed an answer. It goes by the same rule as
// the elector's alarm (event.Unreachable): silence begins with a request,
// and only an answer ends it. A store that nobody asks is not silent. Unlike the
// event, it needs no goroutine to get through: it is computed when it is asked
// for. The zero value is ready; it is safe for concurrent use.
type Pulse struct {
	mu       sync.Mutex
	owed     bool
	since    time.Duration // owed: of the first request without an answer
	answered bool
	last     time.Duration // of the last answer
	lease    time.Duration // as the last request named it
}

// Asked notes a request at the time now. Questions about who leads are given up
// for their callers' own reasons: that they remain without an answer means
// nothing.
func (p *Pulse) Asked(c Call, now time.Duration) {
	if c.Operation == Leader {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.TTL > 0 {
		p.lease = c.TTL
	}
	if !p.owed {
		p.owed, p.since = true, now
	}
}

// Answered notes what a request came to.
func (p *Pulse) Answered(o Outcome, now time.Duration) {
	if !o.Definite() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owed, p.answered = false, true
	p.last = max(p.last, now)
}

// Event takes in an event of the elector. Its own alarm is at least as good: the
// elector counts from its decision to ask, which comes a moment before the
// request. One that has stopped asks no more, so nobody owes it an answer.
func (p *Pulse) Event(ev elector.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ev.Kind == event.StateChanged && ev.State == event.StateStopped:
		p.owed = false
	case ev.Kind == event.Unreachable && p.owed && p.since <= ev.At: // else it is news of yesterday
		p.since = min(p.since, ev.At-p.lease)
	}
}

// Last is the time of the last answer; false if there was none.
func (p *Pulse) Last() (at time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.answered
}

// Lease is the lease that the requests named; 0 before the first.
func (p *Pulse) Lease() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lease
}

// Silent is how long the store has owed an answer; 0 if it owes none.
func (p *Pulse) Silent(now time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent(now)
}

func (p *Pulse) silent(now time.Duration) time.Duration {
	if !p.owed {
		return 0
	}
	return max(0, now-p.since)
}

// Unreachable reports whether the store has owed an answer for a lease or longer:
// whatever was known of who leads may have ended meanwhile.
func (p *Pulse) Unreachable(now time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owed && p.silent(now) >= p.lease
}
