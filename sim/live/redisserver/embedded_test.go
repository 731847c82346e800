package redisserver

import (
	"context"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// The embedded server crashes while others ask it what it counts, and nothing panics.
func TestEmbeddedIsAskedAsItCrashes(t *testing.T) {
	s, err := openEmbedded(t.Context(), "the test wants it")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			client := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1})
			defer func() { _ = client.Close() }() // nothing is left to say
			for ctx.Err() == nil {
				_ = client.Info(ctx, "stats").Err() // it may be down
			}
		})
	}
	for range 50 {
		if err := s.Crash(ctx); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(ctx, true); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	asking.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// An embedded server that cannot be awaited, since its caller has stopped, is not left listening.
func TestEmbeddedIsClosedIfItCannotBeAwaited(t *testing.T) {
	before := goleak.IgnoreCurrent()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if s, err := openEmbedded(ctx, "the test wants it"); err == nil || s != nil {
		t.Errorf("opened %v, error %v; want nothing, and an error", s, err)
	}
	goleak.VerifyNone(t, before)
}
