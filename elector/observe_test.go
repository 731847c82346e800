package elector_test

import (
	"context"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
)

// breaking is a store whose Watches break off after a while.
type breaking struct {
	elector.Store
	lasts time.Duration
	began []time.Time
}

// Watch implements elector.Store.
func (s *breaking) Watch(ctx context.Context, _ string, _ func(store.Hint), ended func(error)) {
	s.began = append(s.began, time.Now())
	go func() {
		select {
		case <-time.After(s.lasts):
		case <-ctx.Done():
		}
		ended(errLost)
	}()
}

// A Watch of an observer that breaks off is begun again well within Retry, since what
// happens meanwhile is seen only by the next question. One that breaks off at once is begun
// once in Retry in the long run.
func TestObserverWatchesAnewSoon(t *testing.T) {
	const retry = time.Second
	for _, c := range []struct {
		name   string
		lasts  time.Duration
		longer time.Duration // at most so long after the end of the one before
		most   int           // Watches in a minute
	}{
		{"after ten seconds", 10 * time.Second, retry / 8, 6},
		{"at once", 0, retry, 66},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
				defer cancel()
				store := &breaking{Store: b.store, lasts: c.lasts}
				for _, err := range elector.Observe(ctx, store, "billing", elector.ObserveOptions{Clock: b.clock, Retry: retry}) {
					if err != nil {
						t.Error(err)
					}
				}
				for i := 1; i < len(store.began); i++ {
					if pause := store.began[i].Sub(store.began[i-1]) - c.lasts; pause > c.longer {
						t.Errorf("Watch %d began %v after the one before had ended", i, pause)
					}
				}
				if n := len(store.began); n < 2 || n > c.most {
					t.Errorf("%d Watches in a minute", n)
				}
			})
		})
	}
}
