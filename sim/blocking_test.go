package sim_test

import (
	"errors"
	"testing"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Of what a majority answers only what is certain is recorded: who holds the
// lease at a certain moment is not.
func TestOfMajority(t *testing.T) {
	held := &elector.HeldError{Holder: "n2/x", Token: 7}
	for _, test := range []struct {
		call history.Call
		err  error
		want history.Event
	}{
		{history.Acquire, nil, history.Event{Kind: history.Ok, Token: 5}},
		{history.Acquire, held, history.Event{Kind: history.Fail, Error: sim.Withheld}},
		{history.Acquire, &elector.FatalError{Err: errors.New("no")}, history.Event{Kind: history.Fail, Token: 5, Error: "elector: no; "}},
		{history.Acquire, errors.New("lost"), history.Event{Kind: history.Info, Token: 5, Error: "lost"}},
		{history.Renew, nil, history.Event{Kind: history.Ok, Token: 5}},
		{history.Renew, store.ErrNotHeld, history.Event{Kind: history.Fail, Token: 5}},
		{history.Release, nil, history.Event{Kind: history.Ok, Token: 5}},
		{history.Release, store.ErrNotHeld, history.Event{
			Kind: history.Info, Token: 5, Error: "the lease is over, maybe by this release: other servers may have released it before these denied it",
		}},
		{history.Release, &elector.FatalError{Err: errors.New("no")}, history.Event{Kind: history.Info, Token: 5, Error: "elector: no; "}},
		{history.Observe, nil, history.Event{Kind: history.Info, Error: "the servers answered at several moments"}},
	} {
		got := sim.OfMajority(sim.Completion(history.Event{Call: test.call, Token: 5, Holder: ""}, test.err))
		if got.Kind != test.want.Kind || got.Token != test.want.Token || got.Holder != "" || got.Error != test.want.Error {
			t.Errorf("%s, %v: %+v; want %+v", test.call, test.err, got, test.want)
		}
	}
}
