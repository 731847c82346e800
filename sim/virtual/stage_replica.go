package virtual

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/tamper"
)

// fork is a replica of the primary that gets nothing any more from now on.
func (s *serverStore) fork() *server {
	v := s.newServer()
	v.model.Follow(s.model, 0)
	v.model.Sever()
	return v
}

func (s *serverStore) content(v *server) tamper.Content {
	e := s.election()
	e.Do = func(args ...string) redismodel.Reply { return v.model.Do(s.now(), args...) }
	return e.Content()
}

// RewindStore implements faults.World.
func (s *stage) RewindStore(ctx context.Context, by time.Duration) (string, error) {
	return s.forget(ctx, by, "the store was killed")
}

// LosePrimary implements faults.World.
func (s *stage) LosePrimary(ctx context.Context, lag time.Duration) (string, error) {
	return s.forget(ctx, lag, "the primary is gone")
}

// forget ends the store so that it will go on from what it is now, and has
// forgotten what it does until then.
func (s *stage) forget(ctx context.Context, span time.Duration, what string) (string, error) {
	if s.store.down {
		return "", errDown
	}
	older := s.store.fork()
	s.behind(ctx, span)
	if s.store.down {
		return "", errDown
	}
	lost := s.store.content(s.store.server).Lacks(s.store.content(older))
	s.store.crash()
	s.store.server = older
	if lost == "" {
		return "", faults.NoEffect("%s, but had written nothing of the election for %v", what, span)
	}
	return what + ": " + lost, nil
}

// behind lets time pass in which the replica that was forked gets nothing.
func (s *stage) behind(ctx context.Context, span time.Duration) {
	s.store.lags = true
	s.Sleep(ctx, span)
	s.store.lags = false
}

// PromoteReplica implements faults.World.
func (s *stage) PromoteReplica(ctx context.Context) (string, error) {
	if !s.store.down {
		return "", faults.NoEffect("the primary serves already")
	}
	s.store.down = false
	s.store.model.Promote()
	return "a replica is the primary", nil
}

// SplitStore implements faults.World.
func (s *stage) SplitStore(ctx context.Context, nodes []string, lag time.Duration) (string, error) {
	if s.store.down {
		return "", errDown
	}
	replica := s.store.fork()
	s.behind(ctx, lag)
	switch {
	case s.store.down:
		return "", errDown
	case s.store.old != nil:
		return "", faults.NoEffect("the store is split already")
	}
	lost := s.store.content(s.store.server).Lacks(s.store.content(replica))
	s.store.old, s.store.server = s.store.server, replica
	s.store.before = s.store.content(s.store.old)
	replica.model.Promote()
	s.store.aside = make([]bool, len(s.nodes))
	for i, n := range s.nodes {
		s.store.aside[i] = slices.Contains(nodes, n.name)
		if !s.store.aside[i] {
			n.closeConnections()
		}
	}
	evidence := "the old primary serves " + strings.Join(nodes, ", ") + ", a replica serves the others"
	if lost != "" {
		evidence += ": there, " + lost
	}
	return evidence, nil
}

// JoinStore implements faults.World.
func (s *stage) JoinStore(context.Context) (string, error) {
	old := s.store.old
	if old == nil {
		return "", faults.NoEffect("the store is not split")
	}
	lost := s.store.content(old).Lacks(s.store.before)
	for i, n := range s.nodes {
		if s.store.aside[i] {
			n.closeConnections()
		}
	}
	s.store.old = nil
	if lost == "" {
		return "", faults.NoEffect("the old primary wrote nothing of the election while it was isolated")
	}
	return "the old primary gives up what it wrote", nil
}
