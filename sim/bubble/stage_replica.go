package bubble

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/stage"
)

// RewindStore implements faults.World.
func (w *world) RewindStore(ctx context.Context, by time.Duration) (string, error) {
	s := w.store
	older, lost, err := w.outlive(ctx, by)
	if err != nil {
		return "", err
	}
	s.crash()
	s.dismiss(s.server)
	older.Crash()
	s.server = older
	return forgotten(lost, "the store was killed", by)
}

// LosePrimary implements faults.World.
func (w *world) LosePrimary(ctx context.Context, lag time.Duration) (string, error) {
	successor, lost, err := w.outlive(ctx, lag)
	if err != nil {
		return "", err
	}
	w.store.successor = successor
	w.store.crash()
	return forgotten(lost, "the primary is gone", lag)
}

// outlive lets time pass in which the store's replicas get nothing. It returns the
// one that will take its place, and what that lacks.
func (w *world) outlive(ctx context.Context, span time.Duration) (successor Server, lost string, err error) {
	s := w.store
	if !s.server.Open() {
		return nil, "", errDown
	}
	successor = s.replica()
	stage.Sleep(ctx, span)
	if !s.server.Open() {
		return nil, "", errDown
	}
	return successor, s.content(s.server).Lacks(s.content(successor)), nil
}

func forgotten(lost, what string, span time.Duration) (string, error) {
	if lost == "" {
		return "", faults.NoEffect("%s, but had written nothing of the election for %v", what, span)
	}
	return what + ": " + lost, nil
}

// PromoteReplica implements faults.World.
func (w *world) PromoteReplica(context.Context) (string, error) {
	s := w.store
	successor, gone := s.successor, s.server
	if successor == nil {
		return "", faults.NoEffect("the primary serves already")
	}
	s.successor = nil
	s.succeed(successor)
	s.lead()
	if !s.keeps {
		s.dismiss(gone)
	} else if gone.Restart(false) {
		gone.Follow(successor)
	}
	return "a replica is the primary", nil
}

// SplitStore implements faults.World.
func (w *world) SplitStore(ctx context.Context, nodes []string, lag time.Duration) (string, error) {
	s := w.store
	successor, lost, err := w.outlive(ctx, lag)
	if err != nil {
		return "", err
	}
	if s.old != nil {
		return "", faults.NoEffect("the store is split already")
	}
	s.old = s.server
	s.before = s.content(s.old)
	s.succeed(successor)
	for _, n := range w.nodes {
		s.aside[n.name] = slices.Contains(nodes, n.name)
	}
	s.breakWays(func(node string) bool { return !s.aside[node] })
	s.lead()
	evidence := "the old primary serves " + strings.Join(nodes, ", ") + ", a replica serves the others"
	if lost != "" {
		evidence += ": there, " + lost
	}
	return evidence, nil
}

// JoinStore implements faults.World.
func (w *world) JoinStore(context.Context) (string, error) {
	s := w.store
	old := s.old
	if old == nil {
		return "", faults.NoEffect("the store is not split")
	}
	lost := s.content(old).Lacks(s.before)
	s.old = nil
	if s.keeps {
		old.Follow(s.server)
	} else {
		old.Crash()
		s.dismiss(old)
	}
	s.lead()
	s.breakWays(func(node string) bool { return s.aside[node] })
	if lost == "" {
		return "", faults.NoEffect("the old primary wrote nothing of the election while it was isolated")
	}
	return "the old primary gives up what it wrote", nil
}
