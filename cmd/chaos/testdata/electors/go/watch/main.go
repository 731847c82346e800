// Command watch is an elector whose requests are transactions: it watches the
// lock, looks at it, and writes it if nobody did meanwhile.
package main

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/cmd/chaos/testdata/electors/go/term"
)

type elector struct {
	term.Settings
	client *redis.Client
	lock   string
	owner  string
}

func main() {
	s := term.Environment()
	s.Live(&elector{Settings: s, client: s.Client(), lock: s.Election + ":lock", owner: s.Node + "-" + rand.Text()})
}

// change carries out act if the lock is the candidate's, or nobody's if that may
// be.
func (e *elector) change(ctx context.Context, free bool, act func(redis.Pipeliner)) (bool, error) {
	ours := false
	err := e.client.Watch(ctx, func(tx *redis.Tx) error {
		held, err := tx.Get(ctx, e.lock).Result()
		switch {
		case errors.Is(err, redis.Nil) && free, err == nil && held == e.owner:
		case err == nil || errors.Is(err, redis.Nil):
			return nil
		default:
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			act(p)
			return nil
		})
		ours = err == nil
		return err
	}, e.lock)
	if errors.Is(err, redis.TxFailedErr) {
		return false, nil
	}
	return ours, err
}

// Take implements term.Elector.
func (e *elector) Take(ctx context.Context) (bool, error) {
	return e.change(ctx, true, func(p redis.Pipeliner) { p.Set(ctx, e.lock, e.owner, e.Lease) })
}

// Keep implements term.Elector.
func (e *elector) Keep(ctx context.Context) (bool, error) {
	return e.change(ctx, false, func(p redis.Pipeliner) { p.PExpire(ctx, e.lock, e.Lease) })
}

// Give implements term.Elector.
func (e *elector) Give(ctx context.Context) {
	_, _ = e.change(ctx, false, func(p redis.Pipeliner) { p.Del(ctx, e.lock) }) // it is over sooner or later
}
