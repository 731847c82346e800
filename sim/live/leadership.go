package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// leadership follows a run's events to tell who leads and who runs just now:
// what a schedule needs in order to hit the leader, and a progress line to
// show one.
type leadership struct {
	mu      sync.Mutex
	nodes   []string
	leader  string
	token   uint64
	wrote   bool           // the leader's term has an accepted write: it is at work
	down    map[string]int // how many faults hit a node
	changed chan struct{}  // closed and replaced at every change
}

func newLeadership(nodes []string) *leadership {
	return &leadership{nodes: nodes, down: map[string]int{}, changed: make(chan struct{})}
}

// see takes in one recorded event.
func (l *leadership) see(e history.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case e.Kind == history.Elected && (e.Token >= l.token || l.leader == ""): // a store that lost its data may count again from 1
		l.leader, l.token, l.wrote = e.Node, e.Token, false
	case e.Kind == history.Deposed && e.Node == l.leader && e.Token == l.token,
		e.Kind == history.Exit && e.Node == l.leader:
		l.leader, l.wrote = "", false
	case e.Kind == history.Ok && e.Call == history.Write && e.Node == l.leader:
		if l.wrote {
			return
		}
		l.wrote = true
	default:
		return
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// disturb marks nodes as hit by a fault, or that fault as over: a second fault
// that looks for a follower, say, looks elsewhere.
func (l *leadership) disturb(nodes []string, disturbed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range nodes {
		if disturbed {
			l.down[n]++
		} else {
			l.down[n]--
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// view is who runs undisturbed, and who of them leads and is at work.
func (l *leadership) view() (faults.View, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := faults.View{Running: slices.DeleteFunc(slices.Clone(l.nodes), func(n string) bool { return l.down[n] > 0 })}
	if l.wrote && l.down[l.leader] == 0 {
		v.Leader = l.leader
	}
	return v, l.changed
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
