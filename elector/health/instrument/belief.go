package instrument

import (
	"cmp"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
)

// Belief knows the latest term of one candidate and how long it lasts. It learns
// of renewals from the store's answers as well as from events, so no callback
// that hangs makes it old. Whether the candidate leads, it does not know:
// Elector.IsLeader does. It is safe for concurrent use.
type Belief struct {
	drift float64

	mu    sync.Mutex
	token uint64
	until time.Duration
}

// NewBelief returns a Belief for an elector with these settings.
func NewBelief(cfg elector.Config) *Belief {
	return &Belief{drift: cmp.Or(cfg.Drift, elector.DefaultDrift)}
}

// Event takes in an event of the elector.
func (b *Belief) Event(ev elector.Event) {
	if ev.Kind == event.Elected || ev.Kind == event.Extended {
		b.lasts(ev.Token, ev.Until)
	}
}

// Answered takes in the answer to a call that began at the time sent.
func (b *Belief) Answered(c Call, a Answer, sent time.Duration) {
	if c.Operation == Renew && a.Outcome == Done {
		usable := c.TTL - time.Duration(float64(c.TTL)*b.drift) - time.Millisecond // see elector.Config
		b.lasts(c.Token, sent+usable)
	}
}

func (b *Belief) lasts(token uint64, until time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case token > b.token:
		b.token, b.until = token, until
	case token == b.token:
		b.until = max(b.until, until)
	}
}

// Last is the token of the candidate's latest term, 0 before the first, and the
// time at which it ends or ended unless it was cut short.
func (b *Belief) Last() (token uint64, until time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.token, b.until
}
