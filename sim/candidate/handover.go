package candidate

import (
	"context"
	"errors"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/protocol"
)

var (
	errKeeps  = errors.New("the elector cannot hand its lease over")
	errNobody = errors.New("the store has heard of no other candidate")
)

// handsOver makes HandOver ask this elector.
func (h *Host) handsOver(e *elector.Elector) {
	handOver := func(ctx context.Context) (string, error) {
		all, err := e.Candidates(ctx)
		if err != nil {
			return "", err
		}
		var successor store.Candidate // the one that was heard of last
		for _, c := range all {
			if c.ID != e.ID() && (successor.ID == "" || c.Seen < successor.Seen) {
				successor = c
			}
		}
		if successor.ID == "" {
			return "", errNobody
		}
		return sim.NodeOf(successor.ID), e.Transfer(ctx, successor.ID)
	}
	h.successors.Store(&handOver)
}

// HandOver has the elector hand its lease over to another candidate, and returns
// who leads then.
func (h *Host) HandOver(ctx context.Context) (to string, err error) {
	handOver := h.successors.Load()
	if handOver == nil {
		return "", errKeeps
	}
	return (*handOver)(ctx)
}

// answerTransfer carries out a CommandTransfer.
func (h *Host) answerTransfer() {
	to, err := h.HandOver(context.Background()) // the elector bounds it
	said := history.Event{Holder: to}
	if err != nil {
		said = history.Event{Error: err.Error()}
	}
	h.out.line(protocol.Line{Name: protocol.EventTransfer, Event: said})
}

var _ interface {
	store.CandidateLister
	store.TermLister
} = (*recordedStore)(nil)

// Candidates implements store.CandidateLister where the store does. Histories have none of
// it.
func (s *recordedStore) Candidates(ctx context.Context, election string) ([]store.Candidate, error) {
	r, is := s.Store.(store.CandidateLister)
	if !is {
		return nil, store.ErrUnsupported
	}
	return r.Candidates(ctx, election)
}

// History implements store.TermLister where the store does.
func (s *recordedStore) History(ctx context.Context, election string, n int) ([]store.PastTerm, error) {
	c, is := s.Store.(store.TermLister)
	if !is {
		return nil, store.ErrUnsupported
	}
	return c.History(ctx, election, n)
}
