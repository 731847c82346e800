package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// enter is the client on which the caller may carry an order out by itself, and has to:
// straight gives it back. It is nil if a batch has to. A caller who may be called off must
// not hang in a client, nor must the opening of a connection end with a caller's
// patience; and what others wait for, it goes with.
func (b *batcher) enter(ctx context.Context, o *order) *client {
	if o.confirm || b.store.foreign || ctx.Err() != nil || ctx.Done() != nil && !store.Unhurried(ctx) {
		return nil
	}
	client, err := b.store.use()
	if err != nil {
		return nil
	}
	if !b.occupy(ctx, client) {
		b.store.done(client)
		return nil
	}
	return client
}

// occupy takes a connection for the caller, if one is open and free.
func (b *batcher) occupy(ctx context.Context, client *client) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < 2*time.Duration(client.far.Load()) {
		return false // the connection may be dead: then another one is opened, and is given up at the deadline
	}
	if client.PoolStats().IdleConns == 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.queues[queuePlain].Len() > 0 || client.busy[queuePlain]+client.busy[queueConfirmed] >= b.lanes {
		return false
	}
	client.busy[queuePlain]++
	return true
}

// vacate gives the connection to those who wait for one.
func (b *batcher) vacate(client *client) {
	b.mu.Lock()
	client.busy[queuePlain]--
	b.start(true)
	b.mu.Unlock()
	b.store.done(client)
}

// straight carries an order out on the caller's goroutine. What takes another one costs
// as much time as half of the way to a server nearby.
func (b *batcher) straight(ctx context.Context, client *client, o *order) (done outcome) {
	defer b.vacate(client)
	defer func() {
		if v := recover(); v != nil {
			done = outcome{err: fmt.Errorf("redisstore: the Redis client panicked: %v", v)}
		}
	}()
	began, within := time.Now(), &errand{Context: client.ctx, caller: ctx}
	cmd := o.command(within, false)
	done.err = client.Process(within, cmd)
	b.store.account(ctx, client, began, done.err)
	if redis.HasErrorPrefix(done.err, "NOSCRIPT") {
		cmd = o.command(within, true)
		done.err = client.Process(within, cmd)
		b.store.account(ctx, client, began, done.err)
	}
	done.reply = cmd.Val()
	if done.err != nil && !isReply(done.err) {
		if deadline, ok := ctx.Deadline(); ok && time.Now().After(deadline) {
			done.err = fmt.Errorf("%w: %w", errNoAnswer, errors.Join(context.DeadlineExceeded, done.err))
		}
	}
	return done
}

// errand is the context of what a caller carries out by itself. It is done when the
// client is closed, and has the caller's deadline and values.
type errand struct {
	context.Context
	caller context.Context
}

// Deadline implements context.Context.
func (e *errand) Deadline() (time.Time, bool) { return e.caller.Deadline() }

// Value implements context.Context.
func (e *errand) Value(key any) any { return e.caller.Value(key) }
