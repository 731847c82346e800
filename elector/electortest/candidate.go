package electortest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
)

// Candidate is an elector that a test runs, and stops at its end.
type Candidate struct {
	*elector.Elector

	t     testing.TB
	stop  context.CancelFunc
	ended chan struct{} // closed when Run has returned
	err   error         // what it returned

	mu    sync.Mutex
	term  *elector.Term // the last one
	begun chan struct{} // closed when the next one begins
}

// Start runs an elector with the Config until the test ends. A Config without a Logger
// logs to the test. Start ends the test if elector.New refuses the Config. A panic of
// OnStarted fails it.
func Start(t testing.TB, store elector.Store, cfg elector.Config) *Candidate {
	t.Helper()
	c := &Candidate{t: t, ended: make(chan struct{}), begun: make(chan struct{})}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	work := cfg.OnStarted
	if work == nil {
		work = func(ctx context.Context, _ *elector.Term) { <-ctx.Done() }
	}
	cfg.OnStarted = func(ctx context.Context, term *elector.Term) {
		c.begin(term)
		work(ctx, term)
	}
	e, err := elector.New(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c.Elector, c.stop = e, stop
	go func() {
		defer close(c.ended)
		c.err = e.Run(ctx)
	}()
	t.Cleanup(func() {
		var panicked *elector.PanicError
		if err := c.Stop(); errors.As(err, &panicked) {
			t.Error(err)
		}
	})
	return c
}

// Lead is Start, and waits until the candidate leads.
func Lead(t testing.TB, store elector.Store, cfg elector.Config) *Candidate {
	t.Helper()
	c := Start(t, store, cfg)
	c.Term()
	return c
}

func (c *Candidate) begin(term *elector.Term) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term = term
	close(c.begun)
	c.begun = make(chan struct{})
}

// Term returns the term in which the candidate leads. It waits for one if the candidate
// does not lead, and ends the test if the elector stops meanwhile, or after two minutes.
// Like Fatal it must be called on the test's own goroutine.
//
// OnStarted has been called by then, but may not have done anything yet: in a bubble, call
// synctest.Wait.
func (c *Candidate) Term() *elector.Term {
	c.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		c.mu.Lock()
		term, begun := c.term, c.begun
		c.mu.Unlock()
		if term != nil && term.Context().Err() == nil {
			return term
		}
		select {
		case <-begun:
		case <-c.ended:
			c.t.Fatalf("the candidate %s competes no more: %v", c.ID(), c.err)
		case <-limit.C:
			c.t.Fatalf("the candidate %s has not led for %v", c.ID(), patience)
		}
	}
}

// Stop ends the candidate as the end of its program does, and returns what Run returned.
// It fails the test if Run has not returned after two minutes, because of work that does
// not end with its context, say.
func (c *Candidate) Stop() error {
	c.t.Helper()
	c.stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-c.ended:
		return c.err
	case <-limit.C:
		c.t.Errorf("the candidate %s was stopped %v ago, and a callback of its has not returned: the work must end when its context is done", c.ID(), patience)
		return nil
	}
}
