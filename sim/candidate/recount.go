package candidate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
)

// Recount is the production elector as a subject.
func Recount(ctx context.Context, h *Host) error {
	return compete(ctx, h, redisstore.Options{})
}

// Unprotected is the production elector without its protection against a store
// that loses data.
func Unprotected(ctx context.Context, h *Host) error {
	return compete(ctx, h, redisstore.Options{Unprotected: true})
}

// compete competes on the store that the environment names, or on a majority of
// those that it names.
func compete(ctx context.Context, h *Host, o redisstore.Options) error {
	store, err := h.openAny(o)
	if err != nil {
		return err
	}
	_, election, _ := CutElection(h.Election)
	e, err := elector.New(store.Store, elector.Config{
		Election: election, ID: h.Node, Lease: h.Lease, Renew: h.Renew, Retry: h.Retry, RequestTimeout: h.RequestTimeout, Drift: h.Drift,
		Clock: h.Watch(), Logger: h.Logger,
		OnStarted: h.Lead,
		OnEvent:   h.transition,
	})
	if err != nil {
		return errors.Join(err, store.close())
	}
	h.handsOver(e)
	// A hot standby has its connections: the first write of a term should not
	// wait for one.
	h.work.read()
	watching, stop := context.WithCancel(ctx)
	var observer sync.WaitGroup
	observer.Go(func() { observe(watching, e, h.Observes, h.out.wait) })
	err = e.Run(ctx)
	stop()
	observer.Wait()
	return errors.Join(err, store.close())
}

// transition records the elector's beliefs.
func (h *Host) transition(e elector.Event) {
	switch e.Kind {
	case event.Elected:
		h.Elected(e.At, e.Token, e.Until)
	case event.Extended:
		h.Extended(e.At, e.Token, e.Until)
	case event.Deposed:
		h.Deposed(e.At, e.Token, history.Why(e.Reason))
	case event.Unreachable:
		if h.alarm != nil {
			h.alarm(e)
		}
	}
}

// observe asks who leads, every so often, as those do who do not compete. It waits
// for the process to be ready before it asks.
func observe(ctx context.Context, e *elector.Elector, every time.Duration, ready func()) {
	pace := time.NewTicker(every)
	defer pace.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
			ready()
			asking, cancel := context.WithTimeout(ctx, every-every/8) // and not until the moment of the next one
			_, _ = e.Leader(asking)                                   // recorded by the store, which is what it is for
			cancel()
		}
	}
}
