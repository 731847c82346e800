package sim_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// granted is a store in which the lease was passed on to every bid.
type granted struct{ elector.Store }

func (granted) Release(context.Context, store.Lease) error { return &elector.HeldError{Token: 3} }

// The grant of a bid is reported once: for the request that the announcement names, or
// for the last one, if the answer to Withdraw comes first.
func TestGrantedBidIsReportedOnce(t *testing.T) {
	for _, announced := range []bool{true, false} {
		var b sim.Bids
		var reported []history.Event
		tell := func(e history.Event, _ uint64) { reported = append(reported, e) }
		for request := range uint64(2) {
			b.Stands(store.Attempt{ID: "p0/x", Nonce: "nonce", Request: 1 + request, Stands: true}, time.Duration(request))
		}
		hear := b.Reporting(func(store.Hint) {}, tell)
		hint := store.Hint{Kind: store.HintGranted, Token: 3, To: "p0/x", Nonce: "nonce", Request: 2}
		if announced {
			hear(hint)
		}
		if err := b.Withdraw(t.Context(), granted{}, store.Lease{ID: "p0/x", Nonce: "nonce"}, tell); err == nil {
			t.Error("the store's answer was lost")
		}
		hear(hint)
		if len(reported) != 1 || reported[0].Try != 2 {
			t.Errorf("announced first %v: reported %+v", announced, reported)
		}
	}
}

// Of two requests of one attempt, the one that was granted is the one whose answer was lost,
// and not the later one, which was refused for good by a server that did not know of it, or
// failed for good.
func TestBidsRefusedForGood(t *testing.T) {
	for _, refusal := range []error{&elector.HeldError{Remaining: time.Second}, &elector.FatalError{Err: errors.New("WRONGTYPE")}} {
		var b sim.Bids
		var reported []uint64
		for request := range uint64(2) {
			a := store.Attempt{ID: "p0/x", Nonce: "nonce", Request: 1 + request, Stands: true}
			b.Stands(a, time.Duration(request))
			if request == 1 {
				b.Answered(a, refusal)
			}
		}
		tell := func(e history.Event, _ uint64) { reported = append(reported, e.Try) }
		_ = b.Withdraw(t.Context(), granted{}, store.Lease{ID: "p0/x", Nonce: "nonce"}, tell)
		if !slices.Equal(reported, []uint64{1}) {
			t.Errorf("refused with %v: reported requests %v", refusal, reported)
		}
	}
}

// A lease that is announced to a node whose attempts never stood is not reported.
func TestBidsOfNobody(t *testing.T) {
	var b sim.Bids
	hear := b.Reporting(func(store.Hint) {}, func(e history.Event, _ uint64) { t.Errorf("reported %+v", e) })
	hear(store.Hint{Kind: store.HintGranted, Token: 3, To: "p0/x", Nonce: "nonce", Request: 2})
	b.Answered(store.Attempt{ID: "p0/x", Nonce: "nonce", Request: 2}, &elector.HeldError{})
}
