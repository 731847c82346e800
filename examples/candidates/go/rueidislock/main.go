// The command rueidislock is a candidate that leads as long as a context of
// github.com/redis/rueidis/rueidislock is not done, as that library's README
// has it: WithContext takes the lock, renews it by itself, and cancels the
// context when the lock is lost.
//
//	chaos run partition-leader --exec bin/rueidislock
package main

import (
	"context"
	"log"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/recount-io/recount/examples/candidates/go/internal/candidate"
)

func main() { candidate.Main(lead) }

func lead(ctx context.Context, c *candidate.Candidate) error {
	options, err := rueidis.ParseURL(c.Redis)
	if err != nil {
		return err
	}
	// As in the README for a single Redis. Everything but the validity is the
	// default: the lock is extended at half of it.
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: options, KeyPrefix: c.Election, KeyMajority: 1, NoLoopTracking: true, KeyValidity: c.Lease,
	})
	if err != nil {
		return err
	}
	defer locker.Close()
	for ctx.Err() == nil {
		held, release, err := locker.WithContext(ctx, "leader")
		if err != nil {
			log.Print("lock: ", err)
			continue
		}
		c.Leads(untilFurtherNotice)
		// As soon as the library says so, and not after the present write.
		stop := context.AfterFunc(held, func() { c.Lost(why(ctx)) })
		for held.Err() == nil {
			c.Work(held, untilFurtherNotice)
		}
		stop()
		c.Lost(why(ctx))
		release()
	}
	return ctx.Err()
}

// untilFurtherNotice is the deadline of a context that has none.
var untilFurtherNotice time.Time

func why(asked context.Context) string {
	if asked.Err() != nil {
		return "resigned"
	}
	return "superseded"
}
