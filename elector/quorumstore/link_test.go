package quorumstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// link is one candidate's way to one node. Requests and replies take their time
// and get lost; a request arrives although nobody waits for it any more.
type link struct {
	*node
	w      *world
	mu     sync.Mutex
	random *rand.Rand
}

// trip is the time that a message takes; false if it is lost.
func (l *link) trip() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := time.Duration(0)
	if l.w.Delay > 0 {
		d = time.Duration(l.random.Int64N(int64(l.w.Delay)))
	}
	select {
	case <-l.w.healing:
		return min(d, 30*time.Millisecond), true
	default:
	}
	if l.random.IntN(1000) < l.w.Late {
		d = time.Duration(l.random.Int64N(int64(2 * worldLease)))
	}
	return d, l.random.IntN(100) >= l.w.Lost
}

// travel makes a request.
func travel[V any](ctx context.Context, l *link, do func(context.Context) (V, error)) (V, error) {
	type answer struct {
		value V
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		d, arrives := l.trip()
		time.Sleep(d)
		if !arrives {
			return
		}
		// The node's own time-out: what hangs there ends some day.
		inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*worldLease)
		defer cancel()
		v, err := do(inner)
		d, arrives = l.trip()
		time.Sleep(d)
		if arrives {
			answers <- answer{v, err}
		}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var zero V
		return zero, errors.Join(errors.New("lost"), ctx.Err())
	}
}

func (l *link) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	return travel(ctx, l, func(ctx context.Context) (store.Grant, error) { return l.node.Acquire(ctx, a) })
}

func (l *link) Renew(ctx context.Context, lease store.Lease) error {
	_, err := travel(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.node.Renew(ctx, lease) })
	return err
}

func (l *link) Release(ctx context.Context, lease store.Lease) error {
	_, err := travel(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.node.Release(ctx, lease) })
	return err
}
