package main

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/stage"
)

// controlPeriod is how often the control looks at the machine.
const controlPeriod = 25 * time.Millisecond

// watchMachine lets a timer run, and asks a server that no fault hits, until what it returns
// is called, which tells what they saw: how far the machine, and the runs beside each other,
// held everything up. Nil where the machine has no part in what is measured.
func (m *measuring) watchMachine(ctx context.Context) (end func() *reports.FailoverControl) {
	if m.simulated() {
		return func() *reports.FailoverControl { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	g := m.groups
	var watching sync.WaitGroup
	watching.Go(func() {
		ping, done := m.undisturbed(ctx)
		defer done()
		for {
			began := time.Now()
			if !stage.Sleep(ctx, controlPeriod) {
				return
			}
			late := time.Since(began) - controlPeriod
			began = time.Now()
			if ping(ctx) == nil {
				g.saw(late, time.Since(began))
			} else {
				g.saw(late)
			}
		}
	})
	return func() *reports.FailoverControl {
		cancel()
		watching.Wait()
		return g.report()
	}
}

// undisturbed asks a server that no fault hits: one of its own, or the Redis of a URL, which
// no fault of this command hits.
func (m *measuring) undisturbed(ctx context.Context) (ping func(context.Context) error, done func()) {
	provider := m.redis
	if m.world != liveWorld {
		provider = "embedded"
	}
	server, err := redisserver.Open(ctx, provider, redisserver.Options{})
	if err != nil {
		return func(context.Context) error { return err }, func() {}
	}
	client := redis.NewClient(server.Options())
	return func(ctx context.Context) error { return client.Ping(ctx).Err() }, func() { _ = client.Close(); _ = server.Close() }
}
