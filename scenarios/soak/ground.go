package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/stage"
)

const actTime = 10 * time.Second

// ground is the world of a group's faults: those of them that are drawn.
type ground struct {
	faults.World // nil: nobody calls the others
	*group
}

func (g *ground) way(node string) *network.Link { return g.member(node).way() }

// Each implements faults.World.
func (g *ground) Each(n int, act func(i int)) { stage.Each(n, act) }

// Cut implements faults.World.
func (g *ground) Cut(ctx context.Context, node string, how faults.Cut) (string, error) {
	if err := g.way(node).Cut(network.Cut(how)); err != nil {
		return "", err
	}
	probing, cancel := context.WithTimeout(ctx, sim.ProbeTime)
	defer cancel()
	if took, err := g.way(node).Probe(probing); err == nil {
		return "", faults.NoEffect("a PING through the proxy of %s was answered in %v", node, took)
	}
	return "no PING passes the proxy of " + node, nil
}

// Delay implements faults.World.
func (g *ground) Delay(_ context.Context, node string, latency, jitter time.Duration) (string, error) {
	return "toxiproxy delays " + node, g.way(node).Delay(latency, jitter)
}

// Throttle implements faults.World.
func (g *ground) Throttle(_ context.Context, node string, kilobytes int) (string, error) {
	return "toxiproxy throttles " + node, g.way(node).Bandwidth(kilobytes)
}

// Mend implements faults.World.
func (g *ground) Mend(_ context.Context, node string) error { return g.way(node).Heal() }

// Stop implements faults.World.
func (g *ground) Stop(ctx context.Context, node string) (string, error) {
	r, err := g.member(node).present()
	if err != nil {
		return "", err
	}
	return "every thread of " + node + " stands still", r.system.Pause(ctx)
}

// Continue implements faults.World.
func (g *ground) Continue(ctx context.Context, node string) error {
	r, err := g.member(node).present()
	if err != nil {
		return err
	}
	return r.system.Resume(ctx)
}

// Kill implements faults.World.
func (g *ground) Kill(ctx context.Context, node string) (string, error) {
	return node + " is gone", g.member(node).end(ctx, syscall.SIGKILL, history.Killed)
}

// Dismiss implements faults.World.
func (g *ground) Dismiss(ctx context.Context, node string) (string, error) {
	return node + " has ended", g.member(node).end(ctx, syscall.SIGTERM, history.Dismissed)
}

// Launch implements faults.World.
func (g *ground) Launch(_ context.Context, node string) error { return g.member(node).start() }

// StopStore implements faults.World.
func (g *ground) StopStore(ctx context.Context, _ []string) (string, error) {
	return "redis-server stands still", g.server.Pause(ctx)
}

// ContinueStore implements faults.World.
func (g *ground) ContinueStore(ctx context.Context, _ []string) error { return g.server.Resume(ctx) }

// CrashStore implements faults.World.
func (g *ground) CrashStore(ctx context.Context, _ []string) (string, error) {
	return "redis-server is gone", g.server.Crash(ctx)
}

// LaunchStore implements faults.World.
func (g *ground) LaunchStore(ctx context.Context, _ []string, keepData bool) (string, error) {
	return "it answers again", g.server.Restart(ctx, keepData)
}

// FlushScripts implements faults.World.
func (g *ground) FlushScripts(ctx context.Context) (string, error) {
	return "SCRIPT FLUSH was answered", g.direct.ScriptFlush(ctx).Err()
}

// FlushStore implements faults.World.
func (g *ground) FlushStore(ctx context.Context) (string, error) {
	return "FLUSHALL was answered", g.direct.FlushAll(ctx).Err()
}

// DeleteLeases implements faults.World.
func (g *ground) DeleteLeases(ctx context.Context) (string, error) { return g.deleteKeys(ctx, "lease") }

// DeleteCounters implements faults.World.
func (g *ground) DeleteCounters(ctx context.Context) (string, error) {
	return g.deleteKeys(ctx, "token")
}

// deleteKeys deletes the keys of that name of all elections of the group.
func (g *ground) deleteKeys(ctx context.Context, name string) (string, error) {
	var keys []string
	for _, election := range g.names {
		for _, key := range g.store.Keys(election) {
			if strings.HasSuffix(key, ":"+name) {
				keys = append(keys, key)
			}
		}
	}
	for within := g.soak.now() + actTime; ; {
		n, err := g.direct.Del(ctx, keys...).Result()
		if n > 0 || err != nil {
			return fmt.Sprintf("%d keys were deleted", n), err
		}
		// The fault before may have left none.
		if g.soak.now() > within || !stage.Sleep(ctx, beatEvery) {
			return "", faults.NoEffect("there was no key to delete")
		}
	}
}

// clientPause makes the server answer nobody for so long, by CLIENT PAUSE.
type clientPause struct {
	*group
	long time.Duration
}

func (clientPause) Name() string             { return "client-pause" }
func (p clientPause) Params() map[string]any { return map[string]any{"ms": p.long.Milliseconds()} }
func (p clientPause) Effect() faults.Effect  { return faults.Effect{Store: true, Holds: true} }
func (p clientPause) Apply(ctx context.Context, _ faults.World, _ []string) (string, error) {
	return "CLIENT PAUSE was answered", p.direct.ClientPause(ctx, p.long).Err()
}

func (p clientPause) Heal(ctx context.Context, _ faults.World, _ []string) (string, error) {
	return "CLIENT UNPAUSE was answered", p.direct.ClientUnpause(ctx).Err()
}

// clientsKilled makes the server close all connections of others.
type clientsKilled struct{ *group }

func (clientsKilled) Name() string           { return "clients-killed" }
func (clientsKilled) Params() map[string]any { return nil }
func (clientsKilled) Effect() faults.Effect  { return faults.Effect{Store: true, Instant: true} }
func (k clientsKilled) Apply(ctx context.Context, _ faults.World, _ []string) (string, error) {
	killed := int64(0)
	var errs []error
	for _, kind := range []string{"normal", "pubsub"} {
		n, err := k.direct.ClientKillByFilter(ctx, "TYPE", kind, "SKIPME", "yes").Result()
		killed += n
		errs = append(errs, err)
	}
	return fmt.Sprintf("%d connections were closed", killed), errors.Join(errs...)
}

func (clientsKilled) Heal(context.Context, faults.World, []string) (string, error) { return "", nil }

// rewritten makes the server rewrite its file, which keeps it short.
type rewritten struct{ *group }

func (rewritten) Name() string           { return "file-rewritten" }
func (rewritten) Params() map[string]any { return nil }
func (rewritten) Effect() faults.Effect  { return faults.Effect{Store: true, Instant: true} }
func (r rewritten) Apply(ctx context.Context, _ faults.World, _ []string) (string, error) {
	return "BGREWRITEAOF was answered", r.direct.BgRewriteAOF(ctx).Err()
}

func (rewritten) Heal(context.Context, faults.World, []string) (string, error) { return "", nil }
