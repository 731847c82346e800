package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
)

// Bubble carries out plans in bubbles of fake time, with the code that ships. Each plan has
// a worker process for its time. It is safe for concurrent use. The program must call
// [Main] first.
type Bubble struct {
	mu   sync.Mutex
	idle []*worker
}

// Run carries out a plan and returns its history. The electors' logs go to the folder
// logs, nowhere if it is empty. A plan that does not end, or a candidate that panics, is
// an error that says where.
func (b *Bubble) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	w := b.take()
	defer b.give(w)
	a, err := w.ask(ctx, request{Plan: &plan, Logs: logs})
	switch {
	case err != nil:
		return nil, err
	case a.Refused != "":
		return nil, errors.New(a.Refused)
	case len(a.Findings) > 0:
		return nil, fmt.Errorf("%s is broken: %s", a.Findings[0].Obligation, a.Findings[0].Details)
	}
	return history.Load(bytes.NewReader(a.History))
}

func (b *Bubble) take() *worker {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.idle) == 0 {
		return &worker{}
	}
	w := b.idle[len(b.idle)-1]
	b.idle = b.idle[:len(b.idle)-1]
	return w
}

func (b *Bubble) give(w *worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, w)
}

// Close ends the workers. No run may be under way.
func (b *Bubble) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.idle {
		w.close()
	}
	b.idle = nil
	return nil
}

// plan carries out the plan of a request, in the worker.
func (r *request) plan(t *testing.T) (a answer, err error) {
	var h *history.History
	var failed error
	if stuck := inBubble(t, r.Plan.Seed, func(t *testing.T) { h, failed = (&bubble.World{}).Run(t.Context(), *r.Plan, r.Logs) }); stuck != nil {
		a.Left, a.Refused = true, fmt.Sprint(stuck)
	}
	if failed != nil {
		a.Refused = failed.Error()
	}
	if h != nil {
		a.History, err = historyText(h)
	}
	return a, err
}

// historyText is a history as history.Load reads it.
func historyText(h *history.History) ([]byte, error) {
	var b bytes.Buffer
	err := h.Write(&b)
	return b.Bytes(), err
}

// inBubble calls f in a bubble, and returns what ended the bubble if f came to no end.
func inBubble(t *testing.T, seed uint64, f func(t *testing.T)) (stuck any) {
	t.Helper()
	defer func() { stuck = recover() }()
	bubbletest.Run(t, seed, f)
	return nil
}
