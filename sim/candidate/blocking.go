package candidate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Blocking is an elector in blocking style as a subject of the live world.
func Blocking(e sim.Elector) Subject {
	return func(ctx context.Context, h *Host) error {
		store, err := h.Open()
		if err != nil {
			return err
		}
		host := &blockingHost{Host: h, stopping: ctx, store: store}
		return errors.Join(e(host), host.close())
	}
}

// blockingHost is a Host as an elector in blocking style sees it.
type blockingHost struct {
	*Host
	stopping context.Context
	store    *redisstore.Store
	stands   bool          // Now shows the monotonic clock
	direct   *redis.Client // opened by the first bare command
	rows     *rows         // nil until the elector wants PostgreSQL
}

var _ sim.Host = (*blockingHost)(nil)

func (h *blockingHost) close() error {
	err := h.store.Close()
	if h.direct != nil {
		err = errors.Join(err, h.direct.Close())
	}
	if h.rows != nil {
		h.rows.close()
	}
	return err
}

func (h *blockingHost) Settings() sim.Settings {
	_, election, _ := CutElection(h.Election)
	return sim.Settings{
		Election: election, Node: h.Node, Lease: h.Lease, Renew: h.Renew, Retry: h.Retry, Drift: h.Drift,
	}
}

func (h *blockingHost) Now() time.Duration {
	if h.stands {
		return h.monotonic()
	}
	return h.Clock.Now()
}

func (h *blockingHost) Monotonic() {
	h.stands = true
	h.stand()
}

func (h *blockingHost) Wall() time.Duration { return h.wallClock() }

func (h *blockingHost) Random(n int) int {
	if n <= 0 {
		return 0
	}
	return rand.IntN(n)
}

func (h *blockingHost) Sleep(d time.Duration) {
	// Once is enough, unless the clock stood still meanwhile.
	for end := h.Now() + d; h.Now() < end && !h.Stopping(); {
		over := make(chan struct{})
		timer := h.Clock.AfterFunc(end-h.Now(), func() { close(over) })
		select {
		case <-over:
		case <-h.stopping.Done():
		}
		timer.Stop()
	}
}

func (h *blockingHost) Stopping() bool { return h.stopping.Err() != nil }

func (h *blockingHost) Store() sim.Store { return blockingStore{h.store} }

func (h *blockingHost) Recorded(s sim.Store) sim.Store {
	return sim.Recorder{Store: s, Tell: h.out.stamp, Next: h.out.nextOp, Node: h.Node}
}

func (h *blockingHost) LeaseKey() string {
	keys := h.store.Keys(h.Settings().Election)
	i := slices.IndexFunc(keys, func(key string) bool { return strings.HasSuffix(key, ":lease") })
	if i < 0 {
		panic("candidate: the store names no key for the lease")
	}
	return keys[i]
}

func (h *blockingHost) Do(timeout time.Duration, args ...string) (any, error) {
	if h.direct == nil {
		options, err := redis.ParseURL(h.RedisURL)
		if err != nil {
			return nil, fmt.Errorf("candidate: %w", err)
		}
		options.ContextTimeoutEnabled, options.MaxRetries = true, -1
		options.ReadTimeout, options.WriteTimeout = -1, -1 // the elector's own time-out is the only one
		h.direct = redis.NewClient(options)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	command := make([]any, len(args))
	for i, arg := range args {
		command[i] = arg
	}
	reply, err := h.direct.Do(ctx, command...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil //nolint:nilnil // nil is an answer of Redis
	}
	return reply, err
}

func (h *blockingHost) Elected(token uint64, until time.Duration) {
	h.Host.Elected(h.Clock.Now(), token, until)
}

func (h *blockingHost) Extended(token uint64, until time.Duration) {
	h.Host.Extended(h.Clock.Now(), token, until)
}

func (h *blockingHost) Deposed(token uint64, why history.Why) {
	h.Host.Deposed(h.Clock.Now(), token, why)
}

func (h *blockingHost) Work(token uint64) (stop func()) {
	working, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; working.Err() == nil && h.Write(token, n); n++ {
			select {
			case <-working.Done():
			case <-time.After(h.Writes):
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// blockingStore is the production elector's store in blocking style.
type blockingStore struct{ store *redisstore.Store }

func (s blockingStore) Acquire(a store.Attempt, timeout time.Duration) (store.Grant, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.store.Acquire(ctx, a)
}

func (s blockingStore) Renew(l store.Lease, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.store.Renew(ctx, l)
}

func (s blockingStore) Release(l store.Lease, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.store.Release(ctx, l)
}
