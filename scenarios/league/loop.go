package league

import (
	"errors"
	"fmt"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// loop is an elector in blocking style. Without a bug in its store, and with a
// deadline, it keeps every promise: see Plain.
type loop struct {
	store    func(sim.Host) sim.Store // nil: the production elector's
	nonce    func(h sim.Host, n uint64) string
	deadline func(h sim.Host, sent time.Duration) time.Duration

	unrecorded bool // nothing but its beliefs is recorded
}

// holding is a term of a loop.
type holding struct {
	store.Lease
	until time.Duration // as the loop believes
	stop  func()
}

func (l loop) run(h sim.Host) error {
	store := h.Store()
	if l.store != nil {
		store = l.store(h)
	}
	if !l.unrecorded {
		store = h.Recorded(store)
	}
	number := uint64(0)
	for !h.Stopping() {
		term := l.campaign(h, store, &number)
		if term == nil {
			continue
		}
		why := l.reign(h, store, term, &number)
		h.Deposed(term.Token, why)
		term.stop()
		if why != history.Superseded {
			number++
			term.Request = number
			_ = store.Release(term.Lease, requestTimeout(h)) // it ends by itself if that fails
		}
	}
	return nil
}

func requestTimeout(h sim.Host) time.Duration { return h.Settings().Renew / 2 }

// campaign makes one attempt to get the lease: it repeats it until the outcome
// is known.
func (l loop) campaign(h sim.Host, st sim.Store, number *uint64) *holding {
	set := h.Settings()
	lease := store.Lease{Election: set.Election, ID: set.Node, TTL: set.Lease}
	if l.nonce != nil {
		lease.Nonce = l.nonce(h, *number)
	} else {
		lease.Nonce = fmt.Sprintf("%s-%d-%d", set.Node, h.Now(), *number)
	}
	for !h.Stopping() {
		sent := h.Now()
		*number++
		lease.Request = *number
		grant, err := st.Acquire(store.Attempt{
			Election: lease.Election, ID: lease.ID, Nonce: lease.Nonce, Request: lease.Request, TTL: lease.TTL,
		}, requestTimeout(h))
		var held *elector.HeldError
		switch {
		case errors.As(err, &held):
			h.Sleep(set.Retry)
			return nil
		case err != nil:
			h.Sleep(set.Retry)
		default:
			lease.Token = grant.Token
			term := &holding{Lease: lease, until: l.believed(h, sent)}
			if h.Now() >= term.until {
				return nil // too late to be of use
			}
			h.Elected(lease.Token, term.until)
			term.stop = h.Work(lease.Token)
			return term
		}
	}
	return nil
}

// believed is until when a lease is believed in that was asked for then.
func (l loop) believed(h sim.Host, sent time.Duration) time.Duration {
	if l.deadline != nil {
		return l.deadline(h, sent)
	}
	set := h.Settings()
	return sent + set.Lease - time.Duration(set.Drift*float64(set.Lease)) - 2*time.Millisecond
}

// reign renews the lease for as long as it can, and says why it ended.
func (l loop) reign(h sim.Host, st sim.Store, term *holding, number *uint64) history.Why {
	set := h.Settings()
	next := h.Now() + set.Renew
	for {
		h.Sleep(min(next, term.until) - h.Now())
		sent := h.Now()
		switch {
		case h.Stopping():
			return history.Stopped
		case sent >= term.until:
			return history.Expired
		}
		*number++
		term.Request = *number
		err := st.Renew(term.Lease, min(requestTimeout(h), term.until-sent))
		switch now := h.Now(); {
		case errors.Is(err, store.ErrNotHeld):
			return history.Superseded
		case now >= term.until:
			return history.Expired
		case err != nil:
			next = now + set.Retry
		default:
			next = sent + set.Renew
			term.until = l.believed(h, sent)
			h.Extended(term.Token, term.until)
		}
	}
}

// Plain is the elector in blocking style that the bugs of such electors are
// planted in, without one: it keeps every promise.
func Plain() virtual.Subject { return blocking(loop{}) }

func blocking(l loop) virtual.Subject { return virtual.Subject{Blocking: l.run} }
