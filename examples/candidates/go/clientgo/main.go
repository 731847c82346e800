package main

import (
	"context"
	"flag"
	"time"

	"github.com/redis/go-redis/v9"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"github.com/recount-io/recount/examples/candidates/go/internal/candidate"
)

func main() {
	release := flag.Bool("release", true, "give the lease up when this candidate stops (ReleaseOnCancel, as in the package's example)")
	klog.InitFlags(nil)
	flag.Parse()
	candidate.Main(func(ctx context.Context, c *candidate.Candidate) error { return lead(ctx, c, *release) })
}

func lead(ctx context.Context, c *candidate.Candidate, release bool) error {
	options, err := redis.ParseURL(c.Redis)
	if err != nil {
		return err
	}
	// As Kubernetes' own client: a request ends when its context does, and is
	// not repeated. client-go gives it half of RenewDeadline.
	options.ContextTimeoutEnabled, options.MaxRetries = true, -1
	renewDeadline := c.Lease * 10 / 15
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = renewDeadline/2, renewDeadline/2, renewDeadline/2
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }() // the process ends
	lock := &redisLock{client: client, key: c.Election + ":lease", id: c.Node, renewed: c.Renewed}
	for ctx.Err() == nil {
		// The core clients' 15 s, 10 s and 2 s, as shares of the lease.
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: c.Lease, RenewDeadline: renewDeadline, RetryPeriod: c.Lease * 2 / 15, ReleaseOnCancel: release,
			Callbacks: callbacks(c),
		})
		if err != nil {
			return err
		}
		elector.Run(ctx) // until it leads no more: then it competes again
	}
	return ctx.Err()
}

// callbacks lead while the elector does. Leading ends before the elector gives
// the lease up, as ReleaseOnCancel demands.
func callbacks(c *candidate.Candidate) leaderelection.LeaderCallbacks {
	return leaderelection.LeaderCallbacks{
		OnStartedLeading: func(ctx context.Context) {
			c.Leads(time.Time{})
			for ctx.Err() == nil {
				c.Work(ctx, time.Time{})
			}
			c.Lost("superseded")
		},
		OnStoppedLeading: func() { c.Lost("superseded") },
	}
}
