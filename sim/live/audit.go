package live

import (
	"context"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/stage"
)

// auditor moves what the store itself recorded into the history, in the
// store's own order.
type auditor struct {
	store    *redisstore.Store
	election string
	recorder *history.Recorder

	mu   sync.Mutex
	seen recent
}

// recent remembers the last entries, to tell those that come again: whose removal
// failed, or that a replica or a file still has from which the store goes on. It
// remembers at least remembered entries, and at most twice as many.
type recent struct {
	now, before map[redisstore.AuditEntry]bool
}

// remembered is by far more than what a store writes in a minute, and no store goes
// back by so much.
const remembered = 50_000

// repeats reports whether the entry came before, and remembers it.
func (r *recent) repeats(e redisstore.AuditEntry) bool {
	if r.now[e] || r.before[e] {
		return true
	}
	if r.now == nil || len(r.now) == remembered {
		r.now, r.before = make(map[redisstore.AuditEntry]bool), r.now
	}
	r.now[e] = true
	return false
}

// watch drains the audit every so often until ctx is done, so that little is
// lost with a store that loses its data.
func (a *auditor) watch(ctx context.Context, every time.Duration) {
	for stage.Sleep(ctx, every) {
		a.drain(ctx)
	}
}

// while drains the audit until act has returned: what is lost with a store cannot be
// read later, and it may take a machine its time to kill one.
func (a *auditor) while(ctx context.Context, act func() error) error {
	a.drain(ctx)
	ctx, stop := context.WithCancel(ctx)
	var draining sync.WaitGroup
	draining.Go(func() {
		for stage.Sleep(ctx, drainPause) {
			a.drain(ctx)
		}
	})
	err := act()
	stop()
	draining.Wait()
	return err
}

// drainPause is what little a store does that is lost with it.
const drainPause = 2 * time.Millisecond

// drain records the entries so far. A store that cannot be reached keeps them
// for the next time.
func (a *auditor) drain(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	entries, _ := a.store.DrainAudit(ctx, a.election) // with an error, what came before it
	for _, e := range entries {
		if a.seen.repeats(e) {
			continue
		}
		a.recorder.Stamp(history.Event{
			Kind: history.Audit, Call: history.Call(e.Call), Nonce: e.Nonce, Try: e.Request,
			Token: e.Token, Applied: history.Bool(e.Applied),
		})
	}
}
