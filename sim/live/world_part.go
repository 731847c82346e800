package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// part is one of the independent Redis that the store is made of. Mostly it is
// one only.
type part struct {
	name   string // for evidence
	server redisserver.Server
	store  *redisstore.Store // the harness's own way to it: no proxy, no fault
	direct redis.UniversalClient

	leftovers *leftovers

	alone bool   // it is the whole store
	lost  string // the lease that it had when it was killed
}

// openParts makes the harness's ways to the servers. What it returns closes them.
func openParts(servers []redisserver.Server, prefix string) (parts []*part, undo []func() error, err error) {
	for i, server := range servers {
		p := &part{name: "the store", server: server, direct: redis.NewUniversalClient(universal(server)), alone: len(servers) == 1}
		if !p.alone {
			p.name = faults.StoreNode(i + 1).String()
		}
		undo = append(undo, p.direct.Close)
		if p.store, err = redisstore.New(universal(server), redisstore.Options{Prefix: prefix, Audit: p.alone, Expire: expiry(server)}); err != nil {
			return nil, undo, err
		}
		undo = append(undo, p.store.Close)
		p.leftovers = newLeftovers(p.direct, prefix, append(p.store.Keys("e1"), p.store.Witness())...)
		parts = append(parts, p)
	}
	return parts, undo, nil
}

// expiry is for how long keys outlive their last use: for good where the server, and
// all that it holds, is the run's own.
func expiry(server redisserver.Server) time.Duration {
	if server.Private() {
		return 0
	}
	return leftoverTime
}

// reachable reports whether the server itself answers.
func (p *part) reachable(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, sim.ProbeTime)
	defer cancel()
	return p.direct.Ping(ctx).Err() == nil
}

// lease is the value of the lease that the server has; "" if it has none.
func (p *part) lease(ctx context.Context, key string) (string, error) {
	value, err := p.direct.Get(ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("live: ask %s for its lease: %w", p.name, err)
	}
	return value, nil
}

// meant calls act for each part that the targets mean, and joins the evidence.
func (w *world) meant(targets []string, act func(*part) (string, error)) (evidence string, err error) {
	which, err := faults.StoreNodes(targets, len(w.parts))
	for _, i := range which {
		seen, failed := act(w.parts[i])
		if evidence != "" && seen != "" {
			evidence += "; "
		}
		evidence, err = evidence+seen, errors.Join(err, failed)
	}
	return evidence, err
}

// StopStore implements faults.World.
func (w *world) StopStore(ctx context.Context, targets []string) (string, error) {
	return w.meant(targets, func(p *part) (string, error) {
		if err := p.server.Pause(ctx); err != nil {
			return "", err
		}
		if p.reachable(ctx) {
			return "", faults.NoEffect("%s still answers", p.name)
		}
		return fmt.Sprintf("%s answered nothing for %v", p.name, sim.ProbeTime), ctx.Err()
	})
}

// ContinueStore implements faults.World.
func (w *world) ContinueStore(ctx context.Context, targets []string) error {
	_, err := w.meant(targets, func(p *part) (string, error) { return "", p.server.Resume(ctx) })
	return err
}

// CrashStore implements faults.World.
func (w *world) CrashStore(ctx context.Context, targets []string) (string, error) {
	return w.meant(targets, func(p *part) (_ string, err error) {
		if !p.alone {
			if p.lost, err = p.lease(ctx, w.key("lease")); err != nil {
				return "", err
			}
		}
		if err := w.audit.while(ctx, func() error { return p.server.Crash(ctx) }); err != nil {
			return "", err
		}
		if p.reachable(ctx) {
			return "", faults.NoEffect("%s still answers", p.name)
		}
		return p.name + " is gone: connections are refused", ctx.Err()
	})
}

// LaunchStore implements faults.World.
func (w *world) LaunchStore(ctx context.Context, targets []string, keepData bool) (string, error) {
	return w.meant(targets, func(p *part) (string, error) {
		if p.reachable(ctx) {
			return "", nil // it was never killed
		}
		if err := p.server.Restart(ctx, keepData); err != nil || p.alone {
			return "", err
		}
		return p.remembers(ctx, w.key("lease"), keepData)
	})
}

// remembers tells of one of several servers that it has the lease still that it
// had when it was killed, or has lost it.
func (p *part) remembers(ctx context.Context, key string, should bool) (string, error) {
	now, err := p.lease(ctx, key)
	switch {
	case err != nil:
		return "", err
	case should:
		return p.name + " is back", nil
	case p.lost == "":
		return "", faults.NoEffect("%s had no lease to forget", p.name)
	case p.lost == now:
		return "", faults.NoEffect("%s has not forgotten the lease %s", p.name, p.lost)
	default:
		return fmt.Sprintf("%s is back and has forgotten the lease %s", p.name, p.lost), nil
	}
}
