// The command redsync is a candidate that leads as long as it holds a mutex of
// github.com/go-redsync/redsync, as that library's README and reference have it:
// Lock, then Extend now and then, and Unlock. Until says how long the mutex is
// good for.
//
//	chaos run partition-leader --exec bin/redsync
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/recount-io/recount/examples/candidates/go/internal/candidate"
)

func main() { candidate.Main(lead) }

func lead(ctx context.Context, c *candidate.Candidate) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // the process ends
	pools := redsync.New(goredis.NewPool(client))
	for ctx.Err() == nil {
		// Everything but the expiry is the default.
		mutex := pools.NewMutex(c.Election+":mutex", redsync.WithExpiry(c.Lease))
		if err := mutex.LockContext(ctx); err != nil {
			log.Print("lock: ", err)
			continue // Lock waits between its own 32 tries
		}
		c.Leads(mutex.Until())
		c.Lost(hold(ctx, c, mutex))
		if ok, err := mutex.UnlockContext(context.WithoutCancel(ctx)); !ok || err != nil {
			log.Print("unlock: ", ok, err)
		}
	}
	return ctx.Err()
}

// hold works and extends until the term is over, and returns why it is.
func hold(ctx context.Context, c *candidate.Candidate, mutex *redsync.Mutex) string {
	for due := time.Now().Add(c.Renew); ; {
		switch now := time.Now(); {
		case ctx.Err() != nil:
			return "resigned"
		case !now.Before(mutex.Until()):
			return "expired"
		case now.Before(due):
			c.Work(ctx, mutex.Until())
			continue
		}
		ok, err := mutex.ExtendContext(ctx)
		if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) {
			return "superseded"
		}
		due = time.Now().Add(c.Retry)
		if ok && err == nil {
			due = time.Now().Add(c.Renew)
			c.Leads(mutex.Until())
		}
	}
}
