package quorumstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
)

// The pauses before the watch of one node that broke off is begun again.
const (
	minReopen = 100 * time.Millisecond
	maxReopen = 10 * time.Second
)

// Watch is [elector.Store.Watch] on all nodes. A grant is passed on when a
// majority has announced it, a release when a majority is free as far as was
// announced; so attempts that fail wake nobody. A node's watch that breaks off is
// begun again, with pauses; Watch ends when those of a majority have broken off.
// hint is not called after Watch has returned.
func (s *Store) Watch(ctx context.Context, election string, hint func(elector.Hint)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{s: s, election: election, hint: hint, nodes: make([]watched, len(s.nodes)), fail: cancel}
	for n := range s.nodes {
		go w.keep(ctx, n)
	}
	<-ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	return context.Cause(ctx)
}

// watch is one call of Watch.
type watch struct {
	s        *Store
	election string
	fail     context.CancelCauseFunc

	mu    sync.Mutex // held while hint is called, so that there is one at a time
	hint  func(elector.Hint)
	over  bool
	nodes []watched
	free  bool // a majority is, and that was passed on
}

// watched is what one node has announced.
type watched struct {
	broken error // the watch broke off, and none has lasted since
	kind   elector.HintKind
	token  uint64
}

// keep watches one node until ctx is done.
func (w *watch) keep(ctx context.Context, n int) {
	pause := minReopen
	node := w.s.nodes[n]
	for ctx.Err() == nil {
		lasted := time.AfterFunc(pause, func() { w.mended(n) })
		began := w.s.now()
		_, err := guarded(ctx, node.store, func(ctx context.Context, store elector.Store) (struct{}, error) {
			return struct{}{}, store.Watch(ctx, w.election, func(h elector.Hint) { w.heard(n, h) })
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
	w.nodes[n].broken = nil
}

// broke notes that a node's watch broke off.
func (w *watch) broke(n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[n] = watched{broken: fmt.Errorf("%s: %w", w.s.nodes[n].name, err)} // what it said may be out of date
	var all []error
	for _, node := range w.nodes {
		if node.broken != nil {
			all = append(all, node.broken)
		}
	}
	if len(all) > w.s.minority() {
		w.fail(fmt.Errorf("quorumstore: watch %q: no majority of the nodes announces anything: %w", w.election, errors.Join(all...)))
	}
}

// heard takes in what one node announced.
func (w *watch) heard(n int, h elector.Hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	node := &w.nodes[n]
	node.broken = nil
	if w.over || node.kind == h.Kind && node.token == h.Token {
		return
	}
	node.kind, node.token = h.Kind, h.Token
	free, same := 0, 0
	var tokens []uint64
	for _, other := range w.nodes {
		switch {
		case other.kind == elector.HintReleased:
			free++
			tokens = append(tokens, other.token)
		case other.kind == h.Kind && other.token == h.Token:
			same++
		}
	}
	was := w.free
	w.free = free >= w.s.quorum
	switch {
	case h.Kind == elector.HintReleased && w.free && !was:
		// Who was told a larger token would take this for old news.
		h.Token = max(usual(tokens), w.told())
		w.hint(h)
	case h.Kind == elector.HintGranted && same == w.s.quorum:
		w.tell(h.Token)
		w.hint(h)
	}
}

// told is the highest token that a caller was told.
func (w *watch) told() uint64 {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.memory(w.election).told
}

// tell notes that a caller is told a token.
func (w *watch) tell(token uint64) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	m := w.s.memory(w.election)
	m.told = max(m.told, token)
}
