package live

import (
	"context"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
)

// auditor moves what the store itself recorded into the history, in the
// store's own order.
type auditor struct {
	store    *redisstore.Store
	election string
	recorder *history.Recorder

	mu   sync.Mutex
	seen map[redisstore.AuditEntry]bool // a replica has what was drained from its primary
}

// watch drains the audit every so often until ctx is done, so that little is
// lost with a store that loses its data.
func (a *auditor) watch(ctx context.Context, every time.Duration) {
	for sleep(ctx, every) {
		a.drain(ctx)
	}
}

// drain records the entries so far. A store that cannot be reached keeps them
// for the next time.
func (a *auditor) drain(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	entries, err := a.store.DrainAudit(ctx, a.election)
	if err != nil {
		return
	}
	for _, e := range entries {
		if a.seen[e] {
			continue
		}
		a.seen[e] = true
		a.recorder.Stamp(history.Event{
			Kind: history.Audit, Call: history.Call(e.Call), Nonce: e.Nonce, Try: e.Request,
			Token: e.Token, Applied: history.Bool(e.Applied),
		})
	}
}
