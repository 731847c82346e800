package joblock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/redisstore"
)

// A least time that the store cannot keep is refused before anything runs, by Run and
// where a Lock is used by itself. The error names both times.
func TestLeastTimeThatDoesNotSuitIsRefused(t *testing.T) {
	expires := func(d time.Duration) elector.Store {
		s, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, redisstore.Options{Expire: d})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	for name, c := range map[string]struct {
		store elector.Store
		least time.Duration
		says  []string
	}{
		"keys end before the lock": {expires(time.Minute), 5 * time.Minute, []string{"AtLeast is 5m0s", "Expire of redisstore is 1m0s", "Expire to 10m0s"}},
		"wrapped":                  {wrapped{expires(time.Minute)}, 31 * time.Second, []string{"AtLeast is 31s", "Expire of redisstore is 1m0s"}},
		"leases of sessions":       {ending{memstore.New(memstore.Options{})}, time.Minute, []string{"AtLeast is 1m0s", "TakeOverDeadSessions"}},
		"negative":                 {memstore.New(memstore.Options{}), -time.Minute, []string{"AtLeast is -", "negative"}},
	} {
		cfg := elector.Config{Election: "nightly", ID: "a", Logger: quiet}
		err := joblock.Run(t.Context(), c.store, cfg, joblock.Options{AtLeast: c.least}, func(context.Context, *elector.Term) error {
			t.Errorf("%s: the job runs", name)
			return nil
		})
		_, err2 := elector.New(joblock.New(c.store, c.least, 0, nil), cfg)
		for _, err := range []error{err, err2} {
			for _, part := range c.says {
				if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: got %v, want one line with %q", name, err, part)
				}
			}
		}
	}
	if _, err := elector.New(joblock.New(expires(10*time.Minute), 5*time.Minute, 0, nil), elector.Config{Election: "nightly"}); err != nil {
		t.Errorf("keys that outlive the lock: %v", err)
	}
}
