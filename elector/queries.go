package elector

import (
	"context"

	"github.com/recount-io/recount/elector/store"
)

// Candidates lists the live candidates of the elector's election, itself
// included while it competes. The error is store.ErrUnsupported if the store is no
// CandidateLister.
func (e *Elector) Candidates(ctx context.Context) ([]store.Candidate, error) {
	r, ok := e.store.(store.CandidateLister)
	if !ok {
		return nil, store.ErrUnsupported
	}
	return r.Candidates(ctx, e.cfg.Election)
}

// History returns the last n terms of the elector's election, the latest
// first. The error is store.ErrUnsupported if the store is no TermLister.
func (e *Elector) History(ctx context.Context, n int) ([]store.PastTerm, error) {
	c, ok := e.store.(store.TermLister)
	if !ok {
		return nil, store.ErrUnsupported
	}
	return c.History(ctx, e.cfg.Election, n)
}

// Preflight says what the elector's guarantee is worth on the store's servers
// as they are. The error is store.ErrUnsupported if the store is no Preflighter.
func (e *Elector) Preflight(ctx context.Context) (store.Preflight, error) {
	i, ok := e.store.(store.Preflighter)
	if !ok {
		return store.Preflight{}, store.ErrUnsupported
	}
	return i.Preflight(ctx)
}
