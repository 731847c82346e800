package sim

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
)

// Bids are the attempts that a store may have kept as bids, for who records what a
// store does: such an attempt was refused, and may be granted all the same. The zero
// value is empty. It may be used by several goroutines.
type Bids struct {
	mu  sync.Mutex
	all map[string][]bid // by the candidate's ID, the last ones
}

// bid is one request of an attempt.
type bid struct {
	nonce   string
	request uint64
	ttl     time.Duration
	sent    time.Duration // on the run's clock
	over    bool          // it was refused for good
}

// Stands notes that an attempt is sent at that time, and may be kept as a bid.
func (b *Bids) Stands(a store.Attempt, now time.Duration) {
	if !a.Stands {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[string][]bid{}
	}
	list := b.all[a.ID]
	if len(list) == MaxBids {
		list = slices.Delete(list, 0, 1)
	}
	b.all[a.ID] = append(list, bid{nonce: a.Nonce, request: a.Request, ttl: a.TTL, sent: now})
}

// Answered notes the answer to an attempt. It is over if it was refused and does not stand,
// and if it failed for good, for then it took no effect.
func (b *Bids) Answered(a store.Attempt, err error) {
	held, fatal := new(elector.HeldError), new(elector.FatalError)
	if !errors.As(err, &fatal) && (!errors.As(err, &held) || held.Stands) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, one := range b.all[a.ID] {
		if one.nonce == a.Nonce && one.request == a.Request {
			b.all[a.ID][i].over = true
		}
	}
}

// Reporting wraps a receiver of hints. If a hint announces that a bid was granted, tell
// gets the acquisition first: its invocation, without node and election, and its token.
func (b *Bids) Reporting(hint func(store.Hint), tell func(e history.Event, token uint64)) func(store.Hint) {
	return func(h store.Hint) {
		if h.Kind == store.HintGranted && h.Nonce != "" {
			b.take(h.To, h.Token, tell, func(p bid) bool { return p.nonce == h.Nonce && p.request == h.Request })
		}
		hint(h)
	}
}

// Withdraw takes a bid back. If the answer names an acquisition, tell gets it, as with
// Reporting.
func (b *Bids) Withdraw(ctx context.Context, store elector.Store, l store.Lease, tell func(e history.Event, token uint64)) error {
	err := store.Release(ctx, l)
	if held := new(elector.HeldError); errors.As(err, &held) {
		b.take(l.ID, held.Token, tell, func(p bid) bool { return p.nonce == l.Nonce })
	}
	return err
}

// take tells the last acquisition that is meant, once: what is refused later takes its
// place, unless it was refused for good, and one attempt is granted once.
func (b *Bids) take(id string, token uint64, tell func(e history.Event, token uint64), is func(bid) bool) {
	if p := b.remove(id, is); p.nonce != "" {
		tell(history.Event{Call: history.Acquire, Nonce: p.nonce, Try: p.request, TTL: p.ttl, Since: history.At(p.sent)}, token)
	}
}

// remove forgets the attempt that is meant, and returns its request; it has no nonce if there
// is none.
func (b *Bids) remove(id string, is func(bid) bool) (p bid) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.all[id] {
		if is(one) && (p.nonce == "" || p.over || !one.over) {
			p = one
		}
	}
	if p.nonce != "" {
		b.all[id] = slices.DeleteFunc(b.all[id], func(other bid) bool { return other.nonce == p.nonce })
	}
	return p
}
