package quorumstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/quorum"
)

// The pauses before the watch of one node that broke off is begun again.
const (
	minReopen = 100 * time.Millisecond
	maxReopen = 10 * time.Second
)

// Watch is [store.Store.Watch] on all nodes. A grant is passed on when a
// majority has announced it, a release when a majority is free as far as was
// announced; so attempts that fail wake nobody. A node's watch that breaks off is
// begun again, with pauses; it ends when those of a majority have broken off.
//
// Who waits counts once for each node (Hint.Waiters and its like).
func (s *Store) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{s: s, election: election, hint: hint, broken: make([]error, len(s.nodes)), nodes: quorum.NewAnnounced(len(s.nodes)), fail: cancel}
	for n := range s.nodes {
		go w.keep(ctx, n)
	}
	context.AfterFunc(ctx, func() {
		w.end()
		ended(context.Cause(ctx))
	})
}

// watch is one call of Watch.
type watch struct {
	s        *Store
	election string
	fail     context.CancelCauseFunc

	mu     sync.Mutex // held while hint is called, so that there is one at a time
	hint   func(store.Hint)
	over   bool
	broken []error // by node: its watch broke off, and none has lasted since
	nodes  quorum.Announced
}

// end makes the last hint the last one.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// keep watches one node until ctx is done.
func (w *watch) keep(ctx context.Context, n int) {
	pause := minReopen
	node := w.s.nodes[n]
	for ctx.Err() == nil {
		lasted := time.AfterFunc(pause, func() { w.mended(n) })
		began := w.s.now()
		_, err := guarded(ctx, node.store, func(ctx context.Context, st store.Store) (struct{}, error) {
			ended := make(chan error, 1)
			st.Watch(ctx, w.election, func(h store.Hint) { w.heard(n, h) }, func(err error) { ended <- err })
			return struct{}{}, <-ended
		})
		lasted.Stop()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("the watch ended without an error")
		}
		node.tell("watch", err)
		w.broke(n, err)
		if w.s.now()-began > pause {
			pause = minReopen
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, maxReopen)
	}
}

// mended notes that a node's watch has lasted for a while.
func (w *watch) mended(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken[n] = nil
}

// broke notes that a node's watch broke off.
func (w *watch) broke(n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken[n] = fmt.Errorf("%s: %w", w.s.nodes[n].name, err)
	w.nodes.Forget(n)
	all := slices.DeleteFunc(slices.Clone(w.broken), func(err error) bool { return err == nil })
	if len(all) > w.s.minority() {
		w.fail(fmt.Errorf("quorumstore: watch %q: no majority of the nodes announces anything: %w", w.election, joined(all)))
	}
}

// heard takes in what one node announced.
func (w *watch) heard(n int, h store.Hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken[n] = nil
	if w.over {
		return
	}
	h.Waiters = w.nodes.Waiters(h.Waiters)
	h.Nonce = "" // one node has granted it
	news := false
	switch h.Kind {
	case store.HintReleased:
		h.Token, news = w.released(n, h.Token)
	case store.HintGranted:
		news = w.granted(n, h.Token)
	case store.HintListening:
		news = w.nodes.Listening(n)
	case store.HintPublished:
		news = true // of any node: a majority has it when the last of them announces it
	}
	if news {
		w.hint(h)
	}
}

func (w *watch) released(n int, token uint64) (usual uint64, news bool) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.forget()
	return w.s.election(w.election).machine.Released(&w.nodes, n, token)
}

func (w *watch) granted(n int, token uint64) (news bool) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.forget()
	return w.s.election(w.election).machine.Granted(&w.nodes, n, token)
}
