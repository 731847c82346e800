package live

import (
	"context"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// leadership is a run's sim.Leadership for several goroutines, some of which
// wait for it to change.
type leadership struct {
	mu      sync.Mutex
	seen    *sim.Leadership
	changed chan struct{} // closed and replaced at every change
}

func newLeadership(nodes []string) *leadership {
	return &leadership{seen: sim.NewLeadership(nodes), changed: make(chan struct{})}
}

// see takes in one recorded event.
func (l *leadership) see(e history.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen.See(&e) {
		l.change()
	}
}

// disturb marks nodes as hit by a fault, or that fault as over.
func (l *leadership) disturb(nodes []string, disturbed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Disturb(nodes, disturbed)
	l.change()
}

func (l *leadership) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// view is who runs undisturbed, and who of them leads and is at work.
func (l *leadership) view() (faults.View, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.View(), l.changed
}

// await waits until somebody leads and is at work, or until patience ends.
func (l *leadership) await(ctx context.Context, patience time.Duration) (faults.View, bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		view, changed := l.view()
		if view.Leader != "" {
			return view, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return view, false
		}
	}
}
