package health_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/internal/topology"
)

// A Redis server that is stopped for longer than a lease, as a real process:
// the candidate cannot tell, is alive, and leads again when the server goes on.
func TestRedisFreezes(t *testing.T) {
	ctx, launcher := topology.For(t, topology.ServerProgram)
	server := topology.Must[*topology.Server](t)(launcher.Server(ctx, topology.Config{}))
	store := topology.Must[*redisstore.Store](t)(redisstore.New(
		&redis.UniversalOptions{Addrs: []string{server.Client().Options().Addr}, Password: server.Client().Options().Password},
		redisstore.Options{Unprotected: true}, // what was lost is not the matter here, and a new server would be waited for
	))
	defer func() { _ = store.Close() }() // the test is over
	monitor := topology.Must[*health.Monitor](t)(health.New(health.Options{}))
	events := make(chan elector.Event, 1000)
	cfg := elector.Config{Election: "billing", ID: "a", Lease: time.Second, Logger: slog.New(slog.DiscardHandler)}
	cfg.OnEvent = func(ev elector.Event) { events <- ev }
	e := topology.Must[*elector.Elector](t)(instrument.New(store, cfg, monitor))

	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(running) }()
	await := func(kind event.Kind) {
		t.Helper()
		for {
			select {
			case ev := <-events:
				if ev.Kind == kind {
					return
				}
			case <-ctx.Done():
				t.Fatalf("no event %s", kind)
			}
		}
	}
	is := func(want health.Status) {
		t.Helper()
		if r := monitor.Report(); r.Status != want {
			t.Errorf("%+v, want %s", r, want)
		}
		if err := monitor.Live(); err != nil {
			t.Error(err)
		}
	}
	await(event.Extended)
	is(health.Healthy)
	if err := server.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	await(event.Unreachable)
	is(health.Unhealthy)
	if err := server.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	await(event.Elected)
	is(health.Healthy)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
