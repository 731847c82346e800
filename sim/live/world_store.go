package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/faults"
)

// StopStore implements faults.World.
func (w *world) StopStore(ctx context.Context) (string, error) {
	if err := w.server.Pause(ctx); err != nil {
		return "", err
	}
	if w.reachable(ctx) {
		return "", faults.NoEffect("the store still answers")
	}
	return fmt.Sprintf("the store answered nothing for %v", probeTime), ctx.Err()
}

// ContinueStore implements faults.World.
func (w *world) ContinueStore(ctx context.Context) error { return w.server.Resume(ctx) }

// CrashStore implements faults.World.
func (w *world) CrashStore(ctx context.Context) (string, error) {
	w.audit.drain(ctx) // what is lost with the store cannot be read later
	if err := w.server.Crash(ctx); err != nil {
		return "", err
	}
	if w.reachable(ctx) {
		return "", faults.NoEffect("the store still answers")
	}
	return "the store is gone: connections are refused", ctx.Err()
}

// LaunchStore implements faults.World.
func (w *world) LaunchStore(ctx context.Context, keepData bool) error {
	return w.server.Restart(ctx, keepData)
}

// shortenLease takes ARGV[1] milliseconds off the time to live of KEYS[1] and
// returns what it was, or -2 if there is no such key.
var shortenLease = redis.NewScript(`
local left = redis.call('PTTL', KEYS[1])
if left >= 0 then
  redis.call('PEXPIRE', KEYS[1], math.max(left - tonumber(ARGV[1]), 0))
end
return left`)

// ShortenLeases implements faults.World.
func (w *world) ShortenLeases(ctx context.Context, by time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	left, err := shortenLease.Run(ctx, w.direct, []string{w.leaseKey()}, by.Milliseconds()).Int64()
	if err != nil {
		return "", fmt.Errorf("live: shorten the lease: %w", err)
	}
	if left < 0 {
		return "", faults.NoEffect("there was no lease to shorten")
	}
	return fmt.Sprintf("the lease had %d ms to live and lost %d", left, min(left, by.Milliseconds())), nil
}

// DeleteLeases implements faults.World.
func (w *world) DeleteLeases(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	deleted, err := w.direct.Del(ctx, w.leaseKey()).Result()
	if err != nil {
		return "", fmt.Errorf("live: delete the lease: %w", err)
	}
	if deleted == 0 {
		return "", faults.NoEffect("there was no lease to delete")
	}
	return "the lease's key was deleted", nil
}

// FlushScripts implements faults.World.
func (w *world) FlushScripts(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	// The harness's own script is the witness: it must be there before, and
	// gone after.
	sha, err := w.direct.ScriptLoad(ctx, "return 'witness'").Result()
	if err != nil {
		return "", fmt.Errorf("live: load a script: %w", err)
	}
	if err := w.direct.ScriptFlush(ctx).Err(); err != nil {
		return "", fmt.Errorf("live: flush the scripts: %w", err)
	}
	known, err := w.direct.ScriptExists(ctx, sha).Result()
	if err != nil {
		return "", fmt.Errorf("live: look for a script: %w", err)
	}
	if len(known) == 1 && known[0] {
		return "", faults.NoEffect("the store still knows its scripts")
	}
	return "the store knows none of its scripts any more", nil
}

func (w *world) leaseKey() string {
	for _, key := range w.store.Keys(w.election) {
		if strings.HasSuffix(key, ":lease") {
			return key
		}
	}
	panic("live: the store names no key for the lease")
}
