// The command gozero is a candidate that leads as long as it holds a RedisLock
// of github.com/zeromicro/go-zero/core/stores/redis, used as its reference has
// it: Acquire, which also renews if the lock is already held, and Release. A lock
// knows no time at which it ends; it is lost when Acquire says so.
//
// Give it leases of whole seconds: SetExpire takes no others, and the lock lasts
// for half a second more.
//
//	chaos run partition-leader --lease 2s --exec bin/gozero
package main

import (
	"context"
	"log"
	"net/url"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/recount-io/recount/examples/candidates/go/internal/candidate"
)

func main() { candidate.Main(lead) }

func lead(ctx context.Context, c *candidate.Candidate) error {
	logx.Disable() // it logs to standard output, where the harness listens
	address, err := url.Parse(c.Redis)
	if err != nil {
		return err
	}
	password, _ := address.User.Password()
	store, err := redis.NewRedis(redis.RedisConf{Host: address.Host, Type: redis.NodeType, User: address.User.Username(), Pass: password, NonBlock: true})
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		lock := redis.NewRedisLock(store, c.Election+":lock") // with an id of its own for each term
		lock.SetExpire(int(c.Lease / time.Second))
		if held, err := lock.AcquireCtx(ctx); err != nil || !held {
			candidate.Rest(ctx, c.Retry)
			continue
		}
		c.Leads(time.Time{})
		c.Lost(hold(ctx, c, lock))
		if _, err := lock.ReleaseCtx(context.WithoutCancel(ctx)); err != nil {
			log.Print("release: ", err)
		}
	}
	return ctx.Err()
}

// hold works and renews until the term is over, and returns why it is.
func hold(ctx context.Context, c *candidate.Candidate, lock *redis.RedisLock) string {
	for due := time.Now().Add(c.Renew); ctx.Err() == nil; {
		if time.Now().Before(due) {
			c.Work(ctx, time.Time{})
			continue
		}
		if held, err := lock.AcquireCtx(ctx); err != nil || !held {
			log.Print("acquire again: ", held, err)
			return "superseded"
		}
		c.Renewed()
		due = time.Now().Add(c.Renew)
	}
	return "resigned"
}
