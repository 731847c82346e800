package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// joint is the context of a batch. Until the batch is sent it leaves the time that it
// may take to open a connection, however impatient the callers are: a connection that
// is given up whenever a caller is would never be opened to a server far away. From
// then on its deadline is the latest of those who wait. But an answer is waited for as
// long as it took to open a connection, for the same reason.
type joint struct {
	context.Context                 // until the connection is open
	values          context.Context // the first caller's
	client          *client
	begun           time.Time
	last            time.Time // zero: nothing was sent
	endless         bool      // somebody waits without a deadline
}

// jointKey finds the joint in a context.
type jointKey struct{}

// join makes a batch of calls.
func (b *batcher) join(client *client, calls []*call) *batch {
	now := time.Now()
	limit := now.Add(b.opening)
	for _, c := range calls {
		if at, ok := c.ctx.Deadline(); ok && at.After(limit) {
			limit = at
		}
	}
	ctx, cancel := context.WithDeadline(client.ctx, limit)
	return &batch{calls: calls, ctx: &joint{Context: ctx, values: calls[0].ctx, client: client, begun: now}, cancel: cancel}
}

// admit is asked when a request is written, and reports whether it is to be sent: its
// caller still waits. The goroutine that sends asks.
func (j *joint) admit(caller context.Context) bool {
	if caller.Err() != nil {
		return false
	}
	if j.last.IsZero() {
		j.last = time.Now().Add(time.Duration(j.client.far.Load()))
	}
	at, ok := caller.Deadline()
	j.endless = j.endless || !ok
	if at.After(j.last) {
		j.last = at
	}
	return true
}

// Deadline implements context.Context. If nobody waits any more, what the connection
// is tried with has time as well.
func (j *joint) Deadline() (time.Time, bool) {
	switch {
	case j.last.IsZero():
		return j.Context.Deadline()
	case j.endless:
		return time.Time{}, false
	default:
		return j.last, true
	}
}

// Value implements context.Context.
func (j *joint) Value(key any) any {
	if _, ok := key.(jointKey); ok {
		return j
	}
	if v := j.Context.Value(key); v != nil {
		return v
	}
	return j.values.Value(key)
}

// connected is called when a connection is open. The shortest time that this took
// says how far away the server is.
func connected(also func(context.Context, *redis.Conn) error) func(context.Context, *redis.Conn) error {
	return func(ctx context.Context, conn *redis.Conn) error {
		if j, ok := ctx.Value(jointKey{}).(*joint); ok {
			took, far := time.Since(j.begun), &j.client.far
			if last := far.Load(); last == 0 || int64(took) < last {
				far.Store(int64(took))
			}
		}
		if also == nil {
			return nil
		}
		return also(ctx, conn)
	}
}
