package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/stage"
)

// forgetful is the run's server, if it can be made to forget.
func (w *world) forgetful() (redisserver.Forgetful, error) {
	server, why := redisserver.Explain(w.server)
	if server == nil {
		return nil, faults.NoEffect("%s", why)
	}
	return server, nil
}

// drained are the keys that an older copy of the store must not bring back:
// what they held is in the history already.
func (w *world) drained() []string { return []string{w.key("audit")} }

// RewindStore implements faults.World.
func (w *world) RewindStore(ctx context.Context, by time.Duration) (string, error) {
	server, err := w.forgetful()
	if err != nil {
		return "", err
	}
	if err := server.Mark(ctx); err != nil {
		return "", err
	}
	stage.Sleep(ctx, by)
	w.audit.drain(ctx)
	lost, err := server.CrashBack(ctx, w.drained()...)
	switch {
	case err != nil:
		return "", err
	case w.reachable(ctx):
		return "", faults.NoEffect("the store still answers")
	case lost == 0:
		return "", faults.NoEffect("the store was killed, but had written nothing for %v", by)
	}
	return fmt.Sprintf("the store was killed: it will lack the last %d bytes that it wrote", lost), ctx.Err()
}

// replicate makes a replica that lags by lag, and tells where it is and how
// many bytes it lacks.
func (w *world) replicate(ctx context.Context, server redisserver.Forgetful, lag time.Duration) (addr string, lacks int64, err error) {
	w.audit.drain(ctx)
	if addr, err = server.Replicate(ctx, w.drained()...); err != nil {
		return "", 0, err
	}
	stage.Sleep(ctx, lag)
	lacks, err = server.Lacks(ctx)
	return addr, lacks, err
}

// LosePrimary implements faults.World.
func (w *world) LosePrimary(ctx context.Context, lag time.Duration) (string, error) {
	if a := w.arranged(); a != nil {
		return w.loseOne(ctx, a, lag)
	}
	server, err := w.forgetful()
	if err != nil {
		return "", err
	}
	_, lacks, err := w.replicate(ctx, server, lag)
	if err != nil {
		return "", err
	}
	w.audit.drain(ctx)
	if err := server.Crash(ctx); err != nil {
		return "", err
	}
	if lacks == 0 {
		return "", faults.NoEffect("the primary is gone, but had written nothing for %v", lag)
	}
	return fmt.Sprintf("the primary is gone: its replica lacks the last %d bytes that it wrote", lacks), ctx.Err()
}

// PromoteReplica implements faults.World.
func (w *world) PromoteReplica(ctx context.Context) (string, error) {
	if a := w.arranged(); a != nil {
		return w.promoted(ctx, a)
	}
	server, err := w.forgetful()
	if err != nil {
		return "", nil // Apply has said so
	}
	if err := server.Promote(ctx); err != nil {
		return "", err
	}
	return "a replica is the primary", nil
}

// SplitStore implements faults.World.
func (w *world) SplitStore(ctx context.Context, nodes []string, lag time.Duration) (string, error) {
	if a := w.arranged(); a != nil {
		return w.isolate(ctx, a, nodes, lag)
	}
	server, err := w.forgetful()
	if err != nil {
		return "", err
	}
	addr, lacks, err := w.replicate(ctx, server, lag)
	if err != nil {
		return "", err
	}
	for node, link := range w.links {
		if !slices.Contains(nodes, node) {
			err = errors.Join(err, link.Lead(addr))
		}
	}
	if err != nil {
		return "", err
	}
	if w.alone, err = server.Lacks(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("the old primary serves %s, a replica that lacks the last %d bytes serves the others", strings.Join(nodes, ", "), lacks), ctx.Err()
}

// JoinStore implements faults.World.
func (w *world) JoinStore(ctx context.Context) (string, error) {
	if a := w.arranged(); a != nil {
		return w.rejoin(ctx, a)
	}
	server, err := w.forgetful()
	if err != nil {
		return "", nil // Apply has said so
	}
	w.audit.drain(ctx)
	lacks, err := server.Lacks(ctx)
	if err != nil {
		return "", err
	}
	if err := server.Promote(ctx); err != nil {
		return "", err
	}
	for _, link := range w.links {
		err = errors.Join(err, link.Lead(server.Addr()))
	}
	if err != nil {
		return "", err
	}
	if lacks == w.alone {
		return "", faults.NoEffect("the old primary wrote nothing while it was isolated")
	}
	return fmt.Sprintf("the old primary gives up %d bytes that it wrote", lacks-w.alone), nil
}
