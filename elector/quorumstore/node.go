package quorumstore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/quorum"
)

// errBusy is the outcome of a request that was never sent.
var errBusy = errors.New("too many requests hang there without an answer")

// node is one of the stores.
type node struct {
	store   store.Store
	name    string
	slots   chan struct{} // one for each request under way
	onError func(node, call string, err error)
}

// event is the end of a request to a node: its answer, or none in time.
type nodeEvent[V any] struct {
	node   int
	value  V
	err    error
	silent bool // none in time
}

// request is one request to one node.
type request[V any] struct {
	what string // for messages
	node int
	do   func(ctx context.Context, store store.Store) (V, error)
	done func(nodeEvent[V]) // called once, in time; must not block
	late func(nodeEvent[V]) // called with an answer that came after its time; nil: nobody is
}

// send makes the request on a goroutine of its own. It outlives the call that
// it is part of, so that what a node granted too late is known and given back.
// After patience nobody waits for it, but it goes on for as long as the call has,
// and for the Store's time-out at the least: a client that is given up closes its
// connection, and where that takes longer to open than nodes are waited for, none
// would ever answer. It ends then, unless the node ignores its context.
func send[V any](ctx context.Context, s *Store, patience time.Duration, r request[V]) {
	n := s.nodes[r.node]
	select {
	case n.slots <- struct{}{}:
	default:
		go func() { // the caller may hold the Store's lock
			n.tell(r.what, errBusy)
			r.done(nodeEvent[V]{node: r.node, err: errBusy})
		}()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.life(ctx))
	var ended atomic.Bool
	end := func(e nodeEvent[V]) (first bool) {
		if first = ended.CompareAndSwap(false, true); first {
			n.tell(r.what, e.err)
			r.done(e)
		}
		return first
	}
	silence := time.AfterFunc(patience, func() { end(nodeEvent[V]{node: r.node, err: context.DeadlineExceeded, silent: true}) })
	go func() {
		defer func() { <-n.slots }()
		defer cancel()
		v, err := guarded(ctx, n.store, r.do)
		silence.Stop()
		if e := (nodeEvent[V]{node: r.node, value: v, err: err}); !end(e) && r.late != nil {
			r.late(e)
		}
	}()
}

// guarded turns a panic of the node's store into an error: it has a goroutine of
// its own here, where nobody else could.
func guarded[V any](ctx context.Context, store store.Store, do func(context.Context, store.Store) (V, error)) (v V, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", event.ErrPanic, p, debug.Stack())
		}
	}()
	return do(ctx, store)
}

// tell reports what failed.
func (n *node) tell(call string, err error) {
	if n.onError != nil && verdictOf(err) >= quorum.Silent && !errors.Is(err, store.ErrUnsupported) {
		n.onError(n.name, call, err)
	}
}

func verdictOf(err error) quorum.Verdict {
	var held *store.HeldError
	var fatal *store.FatalError
	switch {
	case err == nil:
		return quorum.Yes
	case errors.As(err, &fatal):
		return quorum.Hopeless
	case errors.As(err, &held), errors.Is(err, store.ErrNotHeld):
		return quorum.No
	default:
		return quorum.Silent
	}
}
