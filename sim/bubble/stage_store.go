package bubble

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/stage"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/tamper"
)

// StopStore implements faults.World.
func (w *world) StopStore(context.Context, []string) (string, error) {
	if !w.store.server.Freeze() {
		return "", errDown
	}
	return "the store answers nothing", nil
}

// ContinueStore implements faults.World.
func (w *world) ContinueStore(context.Context, []string) error {
	w.store.server.Thaw()
	return nil
}

// CrashStore implements faults.World.
func (w *world) CrashStore(context.Context, []string) (string, error) {
	if !w.store.crash() {
		return "", errDown
	}
	return "the store is gone: connections are refused", nil
}

// LaunchStore implements faults.World.
func (w *world) LaunchStore(_ context.Context, _ []string, keepData bool) (string, error) {
	w.store.server.Restart(keepData)
	w.store.lead()
	return "", nil
}

// RewindStore implements faults.World.
func (w *world) RewindStore(ctx context.Context, by time.Duration) (string, error) {
	return w.forget(ctx, by, "the store was killed")
}

// LosePrimary implements faults.World.
func (w *world) LosePrimary(ctx context.Context, lag time.Duration) (string, error) {
	return w.forget(ctx, lag, "the primary is gone")
}

// forget ends the store so that it will go on from what it is now, and has
// forgotten what it does until then.
func (w *world) forget(ctx context.Context, span time.Duration, what string) (string, error) {
	s := w.store
	if !s.server.Open() {
		return "", errDown
	}
	older := s.fork()
	stage.Sleep(ctx, span)
	if !s.server.Open() {
		return "", errDown
	}
	lost := s.content(s.server).Lacks(s.content(older))
	s.crash()
	s.server = older
	if lost == "" {
		return "", faults.NoEffect("%s, but had written nothing of the election for %v", what, span)
	}
	return what + ": " + lost, nil
}

// PromoteReplica implements faults.World.
func (w *world) PromoteReplica(context.Context) (string, error) {
	if w.store.server.Open() {
		return "", faults.NoEffect("the primary serves already")
	}
	w.store.server.Promote()
	w.store.lead()
	return "a replica is the primary", nil
}

// SplitStore implements faults.World.
func (w *world) SplitStore(ctx context.Context, nodes []string, lag time.Duration) (string, error) {
	s := w.store
	if !s.server.Open() {
		return "", errDown
	}
	replica := s.fork()
	stage.Sleep(ctx, lag)
	switch {
	case !s.server.Open():
		return "", errDown
	case s.old != nil:
		return "", faults.NoEffect("the store is split already")
	}
	lost := s.content(s.server).Lacks(s.content(replica))
	s.old, s.server = s.server, replica
	s.before = s.content(s.old)
	replica.Promote()
	for _, n := range w.nodes {
		s.aside[n.name] = slices.Contains(nodes, n.name)
		if !s.aside[n.name] {
			n.link.Break()
		}
	}
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
	old.Crash()
	s.old = nil
	s.lead()
	for _, n := range w.nodes {
		if s.aside[n.name] {
			n.link.Break()
		}
	}
	if lost == "" {
		return "", faults.NoEffect("the old primary wrote nothing of the election while it was isolated")
	}
	return "the old primary gives up what it wrote", nil
}

// ShortenLeases implements faults.World.
func (w *world) ShortenLeases(_ context.Context, by time.Duration) (string, error) {
	return w.store.tampers(func(e tamper.Election) (string, error) { return e.Shorten(by) })
}

// PersistLeases implements faults.World.
func (w *world) PersistLeases(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Persist)
}

// DeleteLeases implements faults.World.
func (w *world) DeleteLeases(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Delete)
}

// OverwriteLeases implements faults.World.
func (w *world) OverwriteLeases(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Overwrite)
}

// DeleteCounters implements faults.World.
func (w *world) DeleteCounters(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.DeleteCounter)
}

// FlushStore implements faults.World.
func (w *world) FlushStore(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Flush)
}

// EvictKeys implements faults.World.
func (w *world) EvictKeys(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Evict)
}

// FlushScripts implements faults.World.
func (w *world) FlushScripts(context.Context) (evidence string, err error) {
	if !w.store.server.Open() {
		return "", errDown
	}
	w.store.server.With(func(dbs []*redismodel.Server, now time.Duration) {
		witness := dbs[0].Do(now, "SCRIPT", "LOAD", "return 'witness'").Text
		dbs[0].Do(now, "SCRIPT", "FLUSH")
		known := dbs[0].Do(now, "SCRIPT", "EXISTS", witness)
		if evidence = "the store knows none of its scripts any more"; known.Items[0].Int == 1 {
			evidence, err = "", faults.NoEffect("the store still knows its scripts")
		}
	})
	return evidence, err
}
