package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/stage"
)

// agreeTime is how long servers may take to promote one of themselves.
const agreeTime = 20 * time.Second

// arranged is the run's store, if it is several servers that promote one of
// themselves when their primary is lost.
func (w *world) arranged() redisserver.Arranged {
	a, _ := w.server.(redisserver.Arranged)
	return a
}

// sever lets the replicas lag by lag, and tells how many bytes they lack.
func (w *world) sever(ctx context.Context, a redisserver.Arranged, lag time.Duration) (lacks int64, err error) {
	if err := a.Sever(ctx, w.key("lease")); err != nil {
		return 0, err
	}
	stage.Sleep(ctx, lag)
	return a.Lacks(ctx)
}

// loseOne is LosePrimary where there are several servers.
func (w *world) loseOne(ctx context.Context, a redisserver.Arranged, lag time.Duration) (string, error) {
	var lacks int64
	var err error
	if lag > 0 {
		if lacks, err = w.sever(ctx, a, lag); err != nil {
			return "", err
		}
	}
	if err := w.audit.while(ctx, func() error { return a.Lose(ctx, w.key("lease")) }); err != nil {
		return "", err
	}
	if lag > 0 && lacks == 0 {
		return "", faults.NoEffect("the primary is gone, but had written nothing for %v", lag)
	}
	return fmt.Sprintf("the primary is gone: its replicas lack the last %d bytes that it wrote", lacks), ctx.Err()
}

// promoted is PromoteReplica where there are several servers: they do it by
// themselves.
func (w *world) promoted(ctx context.Context, a redisserver.Arranged) (string, error) {
	addr, err := a.Promoted(ctx)
	if errors.Is(err, redisserver.ErrNoneLost) {
		return "", nil // Apply has said why
	}
	if err != nil {
		return "", err
	}
	return "the replica at " + addr + " was promoted", a.Rejoin(ctx)
}

// isolate is SplitStore where there are several servers: the nodes reach the
// old primary only, the others everything but that.
func (w *world) isolate(ctx context.Context, a redisserver.Arranged, nodes []string, lag time.Duration) (string, error) {
	lacks, err := w.sever(ctx, a, lag)
	if err != nil {
		return "", err
	}
	old, err := a.Isolate(ctx, w.key("lease"))
	if err != nil {
		return "", err
	}
	servers, all := a.Nodes(), slices.Sorted(maps.Keys(w.links))
	errs := make([]error, len(all)*len(servers))
	stage.Each(len(errs), func(k int) {
		node, i := all[k/len(servers)], k%len(servers)
		if slices.Contains(nodes, node) != (servers[i] == old) {
			errs[k] = w.links[node][i].Cut(network.Both)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	if w.alone, err = a.Lacks(ctx); err != nil {
		return "", err
	}
	waiting, cancel := context.WithTimeout(ctx, agreeTime)
	defer cancel()
	addr, err := a.Promoted(waiting)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the old primary serves %s, the replica at %s, which lacks the last %d bytes, was promoted for the others",
		strings.Join(nodes, ", "), addr, lacks), ctx.Err()
}

// rejoin is JoinStore where there are several servers.
func (w *world) rejoin(ctx context.Context, a redisserver.Arranged) (string, error) {
	lacks, err := a.Lacks(ctx)
	if err != nil {
		return "", nil //nolint:nilerr // nothing was split: Apply has said why
	}
	if err := a.Rejoin(ctx); err != nil {
		return "", err
	}
	ways := slices.Collect(maps.Values(w.links)) // in any order: all are healed
	errs := make([]error, len(ways))
	stage.Each(len(ways), func(i int) { errs[i] = ways[i].Heal() })
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	if lacks == w.alone {
		return "", faults.NoEffect("the old primary wrote nothing while it was isolated")
	}
	return fmt.Sprintf("the old primary gives up %d bytes that it wrote", lacks-w.alone), nil
}
