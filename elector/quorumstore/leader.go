package quorumstore

import (
	"context"
	"slices"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/quorum"
)

// Leader is [store.Store.Leader]: whom a majority of the nodes names. The
// token is the term's own unless most nodes have lost their data since it began;
// then it is a larger one. The value is the latest that one of these nodes has: that
// which a Publish that has returned has published, or a later one. One that is on its
// way to the nodes may be told, and then the one before once more.
func (s *Store) Leader(ctx context.Context, election string) (store.Leader, error) {
	var leader store.Leader
	p, err := poll(ctx, s, "leader", func(ctx context.Context, store store.Store) (store.Leader, error) {
		return store.Leader(ctx, election)
	}, func(p *polled[store.Leader]) bool {
		var most int
		leader, most = p.majority(s.quorum)
		t := quorum.Count(p.verdicts)
		return leader.ID != "" || most+len(s.nodes)-t[quorum.Yes] < s.quorum
	})
	t := quorum.Count(p.verdicts)
	switch {
	case err != nil:
		return store.Leader{}, err
	case p.decided:
	case t[quorum.Hopeless] > s.minority():
		return store.Leader{}, s.hopeless("observe", election, p.errs)
	default:
		return store.Leader{}, s.undecided("observe", election, p.verdicts, p.errs)
	}
	if leader.ID != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget()
		s.election(election).machine.Tell(leader.Token)
	}
	return leader, nil
}

// polled is what the nodes answered to one question.
type polled[V any] struct {
	values   []V
	verdicts []quorum.Verdict
	errs     []error
	decided  bool
}

// poll asks every node, until enough is known or all have answered.
func poll[V any](ctx context.Context, s *Store, what string, do func(context.Context, store.Store) (V, error), enough func(*polled[V]) bool) (*polled[V], error) {
	n := len(s.nodes)
	p := &polled[V]{values: make([]V, n), verdicts: make([]quorum.Verdict, n), errs: make([]error, n)}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	events := make(chan nodeEvent[V], n)
	patience := s.patience(ctx)
	for i := range s.nodes {
		send(ctx, s, patience, request[V]{what: what, node: i, do: do, done: func(e nodeEvent[V]) { events <- e }})
	}
	for range s.nodes {
		select {
		case e := <-events:
			p.values[e.node], p.verdicts[e.node], p.errs[e.node] = e.value, verdictOf(e.err), e.err
		case <-ctx.Done():
			return p, ctx.Err()
		}
		if enough(p) {
			p.decided = true
			break
		}
	}
	return p, nil
}

// majority is the leader that so many nodes name, if there is one, and how many
// nodes name the one that most name.
func (p *polled[V]) majority(size int) (leader store.Leader, most int) {
	ids := make(map[string][]store.Leader, 1)
	for n, v := range p.verdicts {
		if l, ok := any(p.values[n]).(store.Leader); ok && v == quorum.Yes && l.ID != "" {
			ids[l.ID] = append(ids[l.ID], l)
		}
	}
	for id, all := range ids {
		most = max(most, len(all))
		if len(all) < size {
			continue
		}
		var tokens []uint64
		var left []time.Duration
		for _, l := range all {
			tokens, left = append(tokens, l.Token), append(left, l.Remaining)
		}
		token := quorum.Usual(tokens)
		slices.Sort(left) // a majority holds it until the size-th of the longest ends
		leader = store.Leader{ID: id, Token: token, Remaining: left[len(left)-size]}
		for _, l := range all {
			if l.Token == token && l.Version > leader.Version {
				leader.Value, leader.Version = l.Value, l.Version
			}
		}
	}
	return leader, most
}
