package elector

import (
	"context"
	"errors"
	"sync"
	"time"
)

// watcher keeps a Watch of the store going. Its hints make failovers fast and
// nothing depends on them.
type watcher struct {
	s    *session
	done chan struct{}

	mu     sync.Mutex
	cancel context.CancelFunc // of the Watch under way
	hinted uint64             // highest token that a hint named
	seen   uint64             // highest token that a refusal named
}

func newWatcher(s *session) *watcher { return &watcher{s: s, done: make(chan struct{})} }

// run watches until ctx is done. A Watch that breaks off is begun again, after
// a pause that grows as long as it fails at once.
func (w *watcher) run(ctx context.Context) {
	defer close(w.done)
	cfg := &w.s.e.cfg
	pause := cfg.Retry
	for ctx.Err() == nil {
		began := w.s.clock.Now()
		err := w.watch(ctx)
		if ctx.Err() != nil {
			return
		}
		cfg.Logger.Debug("the store's announcements broke off", "election", cfg.Election, "id", w.s.e.id, "error", err)
		if w.s.clock.Now()-began > cfg.Lease {
			pause = cfg.Retry
		}
		await(w.s.clock, pause, ctx.Done())
		pause = min(2*pause, cfg.Lease)
	}
}

func (w *watcher) watch(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	w.cancel, w.seen = cancel, 0
	w.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	err = w.s.e.store.Watch(ctx, w.s.e.cfg.Election, func(h Hint) {
		select {
		case w.s.hints <- h:
		default: // the loop is busy; a hint may be lost
		}
	})
	if err == nil {
		err = errors.New("elector: the store's Watch returned without an error")
	}
	return err
}

// heard notes that a hint arrived.
func (w *watcher) heard(token uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hinted = max(w.hinted, token)
}

// missed begins the Watch again if it hangs: if a lease was granted since it
// began, and so long ago that the hint of it should have arrived.
func (w *watcher) missed(held *HeldError) bool {
	cfg := &w.s.e.cfg
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel == nil || w.seen == 0 || held.Token <= max(w.seen, w.hinted) {
		w.seen = max(w.seen, held.Token)
		return false
	}
	if held.Remaining > cfg.Lease-cfg.RequestTimeout {
		return false // too fresh to tell
	}
	w.seen = held.Token
	w.cancel()
	return true
}

// await waits for an event, at most for d.
func await(clock Clock, d time.Duration, event <-chan struct{}) {
	over := make(chan struct{})
	timer := clock.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
	case <-event:
	}
}
