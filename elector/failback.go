package elector

import (
	"context"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// failback looks for a better candidate, if it is time to, and hands over to it.
func (s *session) failback(t machine.Transition) {
	every := s.e.cfg.Failback
	lister, ok := s.e.store.(store.CandidateLister)
	if every == 0 || !ok || t.At < s.look {
		return
	}
	s.look = t.At + every
	go func() {
		ctx, cancel := context.WithTimeout(s.calls, overtime*s.e.cfg.RequestTimeout)
		defer cancel()
		all, err := lister.Candidates(ctx, s.e.cfg.Election)
		if err != nil {
			return // the next time will tell
		}
		if successor := s.better(all); successor != "" {
			s.put(machine.Input{Kind: machine.Resign, Token: t.Token, Holder: successor})
		}
	}()
}

// better is the candidate of the highest priority, if that is higher than this
// one's; of several, the one that was heard of last.
func (s *session) better(all []store.Candidate) string {
	best := store.Candidate{Priority: s.e.cfg.Priority}
	for _, c := range all {
		if s.e.gone(c) || c.ID == s.e.id {
			continue
		}
		if c.Priority > best.Priority || best.ID != "" && c.Priority == best.Priority && c.Seen < best.Seen {
			best = c
		}
	}
	return best.ID
}
