// Command getset is an elector with the lock that Redis's documentation once
// described, SETNX and GETSET with the end of the lease as its value. Its bug: it
// takes a lock that is over without a look at what GETSET returned.
package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/cmd/chaos/testdata/electors/go/term"
)

type elector struct {
	term.Settings
	client *redis.Client
	lock   string
	ends   time.Time
}

func main() {
	s := term.Environment()
	s.Live(&elector{Settings: s, client: s.Client(), lock: s.Election + ":lock"})
}

func stamp(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// Take implements term.Elector.
func (e *elector) Take(ctx context.Context) (bool, error) {
	ends := time.Now().Add(e.Lease)
	if took, err := e.client.SetNX(ctx, e.lock, stamp(ends), 0).Result(); took || err != nil {
		e.ends = ends
		return took, err
	}
	held, err := e.client.Get(ctx, e.lock).Int64()
	if err != nil || !time.Now().After(time.UnixMilli(held)) {
		return false, err
	}
	time.Sleep(20 * time.Millisecond) // on a way that is slower than loopback
	ends = time.Now().Add(e.Lease)
	if err := e.client.GetSet(ctx, e.lock, stamp(ends)).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	e.ends = ends
	return true, nil
}

// Keep implements term.Elector.
func (e *elector) Keep(ctx context.Context) (bool, error) {
	ends := time.Now().Add(e.Lease)
	if err := e.client.GetSet(ctx, e.lock, stamp(ends)).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	if !time.Now().Before(e.ends) {
		return false, nil
	}
	e.ends = ends
	return true, nil
}

// Give implements term.Elector.
func (e *elector) Give(ctx context.Context) {
	if time.Until(e.ends) > e.Lease/10 {
		_ = e.client.Set(ctx, e.lock, stamp(time.Now().Add(-time.Second)), 0).Err() // it is over sooner or later
	}
}
