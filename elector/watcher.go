package elector

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// watcher keeps a Watch of the store going. Its hints make failovers fast and
// nothing depends on them. It has a goroutine only between one Watch and the
// next.
type watcher struct {
	s    *session
	done chan struct{} // closed when no Watch is under way, and none will be

	mu     sync.Mutex
	ctx    *lean         // of the Watch under way
	hinted uint64        // highest token that a hint named
	at     time.Duration // when that hint came
	seen   uint64        // highest token that a refusal named
	doubt  uint64        // token of a refusal that a hint should have named before; 0: none
	since  time.Duration // when that refusal came
}

// run watches until ctx is done. A Watch that breaks off is begun again, after
// a pause that grows as long as it fails at once.
func (w *watcher) run(ctx context.Context, pause time.Duration) {
	began := w.s.clock.Now()
	w.watch(ctx, func(err error) {
		go w.brokeOff(ctx, w.s.clock.Now()-began, pause, err)
	})
}

// brokeOff begins the Watch again, if there is to be another one.
func (w *watcher) brokeOff(ctx context.Context, lasted, pause time.Duration, err error) {
	cfg := &w.s.e.cfg
	if ctx.Err() == nil {
		w.s.logs(slog.LevelDebug, "the store's announcements broke off", slog.Any("error", err))
		if lasted > cfg.Lease {
			pause = cfg.Retry
		}
		await(w.s.clock, pause, ctx.Done())
	}
	if ctx.Err() != nil {
		close(w.done)
		return
	}
	w.run(ctx, min(2*pause, cfg.Lease))
}

func (w *watcher) watch(session context.Context, ended func(error)) {
	ctx := &lean{}
	w.mu.Lock()
	w.ctx, w.seen, w.doubt = ctx, 0, 0
	w.mu.Unlock()
	if session.Err() != nil {
		ctx.cancel()
	}
	watch(ctx, w.s.e.store, w.s.e.cfg.Election, w.s.heard, func(err error) {
		ctx.cancel()
		ended(err)
	})
}

// watch is Store.Watch of a store that may panic, or report its end twice.
func watch(ctx context.Context, store Store, election string, hint func(store.Hint), ended func(error)) {
	var once sync.Once
	end := func(err error) { once.Do(func() { ended(err) }) }
	defer func() {
		if v := recover(); v != nil {
			end(panicked(v))
		}
	}()
	store.Watch(ctx, election, hint, end)
}

// stop ends the Watch, as the session's end does.
func (w *watcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx != nil {
		w.ctx.cancel()
	}
}

// heard notes that a hint arrived.
func (w *watcher) heard(token uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if token >= w.hinted {
		w.hinted, w.at = token, w.s.clock.Now()
	}
}

// missed begins the Watch again if it hangs: if a lease was granted since it
// began, and so long ago that the hint of it should have arrived. How long ago, a
// refusal before this one tells; what remains of the lease does not, since the
// holder's may last shorter than ours. A hint that came before the refused request was
// sent, and named a later term, was a lie.
func (w *watcher) missed(held *HeldError, sent time.Duration) bool {
	cfg, now := &w.s.e.cfg, w.s.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if held.Token > 0 && w.at < sent {
		w.hinted = min(w.hinted, held.Token)
	}
	if w.ctx == nil || w.seen == 0 || held.Token <= max(w.seen, w.hinted) {
		w.seen = max(w.seen, held.Token)
		return false
	}
	if w.doubt <= w.hinted {
		w.doubt, w.since = held.Token, now
	}
	if now-w.since < cfg.RequestTimeout {
		return false // too fresh to tell
	}
	w.seen = held.Token
	w.ctx.cancel()
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
