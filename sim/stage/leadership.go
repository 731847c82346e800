package stage

import (
	"context"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Leadership is a run's sim.Leadership for several goroutines, some of which
// wait for it to change.
type Leadership struct {
	mu      sync.Mutex
	seen    *sim.Leadership
	changed chan struct{} // closed and replaced at every change
}

// NewLeadership returns the leadership of a run that has not begun.
func NewLeadership(nodes []string) *Leadership {
	return &Leadership{seen: sim.NewLeadership(nodes), changed: make(chan struct{})}
}

// See takes in one recorded event.
func (l *Leadership) See(e history.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen.See(&e) {
		l.change()
	}
}

// Disturb marks nodes as hit by a fault, or that fault as over.
func (l *Leadership) Disturb(nodes []string, disturbed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Disturb(nodes, disturbed)
	l.change()
}

func (l *Leadership) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// View is who runs undisturbed, and who of them leads and is at work.
func (l *Leadership) View() (faults.View, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.View(), l.changed
}

// Await waits until somebody leads and is at work, or until patience ends.
func (l *Leadership) Await(ctx context.Context, patience time.Duration) (faults.View, bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		view, changed := l.View()
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
