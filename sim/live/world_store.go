package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/faults"
)

// overlong is longer than any lease, and than any run in a server that others use.
const overlong = time.Hour

// shortenLease takes ARGV[1] milliseconds off the time to live of KEYS[1] and
// returns what it was, or -2 if there is no such key. A clock that jumps does so
// for the times that the elector's scripts wrote in KEYS[2] and KEYS[3], too.
var shortenLease = redis.NewScript(`
local left = redis.call('PTTL', KEYS[1])
if left >= 0 then
  local rest = math.max(left - tonumber(ARGV[1]), 0)
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', rest))
  for _, of in ipairs({{KEYS[2], 'unsure'}, {KEYS[3], 'of ' .. KEYS[2]}, {KEYS[3], 'since'}}) do
    local at = tonumber(redis.call('HGET', of[1], of[2]) or 0)
    if at > 0 then redis.call('HSET', of[1], of[2], string.format('%.0f', at - left + rest)) end
  end
end
return left`)

// ShortenLeases implements faults.World.
func (w *world) ShortenLeases(ctx context.Context, by time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	left, err := shortenLease.Run(ctx, w.direct, []string{w.key("lease"), w.key("guard"), w.witness()}, by.Milliseconds()).Int64()
	if err != nil {
		return "", fmt.Errorf("live: shorten the lease: %w", err)
	}
	switch {
	case left < 0:
		return "", faults.NoEffect("there was no lease to shorten")
	case by < 0:
		return fmt.Sprintf("the lease had %d ms to live and gained %d", left, -by.Milliseconds()), nil
	default:
		return fmt.Sprintf("the lease had %d ms to live and lost %d", left, min(left, by.Milliseconds())), nil
	}
}

// PersistLeases implements faults.World. In a server that others use nothing may stay
// for good, so there the lease gets by far more time than any lease has, which is the
// same to an elector.
func (w *world) PersistLeases(ctx context.Context) (string, error) {
	if !w.server.Private() {
		return w.wants(ctx, "lease with a time to live", fmt.Sprintf("the lease has %v to live", overlong), "PEXPIRE", w.key("lease"), overlong.Milliseconds())
	}
	return w.wants(ctx, "lease with a time to live", "the lease has no time to live any more", "PERSIST", w.key("lease"))
}

// DeleteLeases implements faults.World.
func (w *world) DeleteLeases(ctx context.Context) (string, error) {
	return w.wants(ctx, "lease to delete", "the lease's key was deleted", "DEL", w.key("lease"))
}

// OverwriteLeases implements faults.World.
func (w *world) OverwriteLeases(ctx context.Context) (string, error) {
	command := []any{"SET", w.key("lease"), faults.ForeignValue, "XX"}
	if !w.server.Private() { // as above
		command = append(command, "PX", overlong.Milliseconds())
	}
	return w.wants(ctx, "lease to overwrite", "the lease's key was overwritten", command...)
}

// DeleteCounters implements faults.World.
func (w *world) DeleteCounters(ctx context.Context) (string, error) {
	return w.wants(ctx, "counter to delete", "the counter's key was deleted", "DEL", w.key("token"))
}

// wants carries out a command that changes a key, if there is one.
func (w *world) wants(ctx context.Context, key, done string, command ...any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	changed, err := w.direct.Do(ctx, command...).Result()
	switch {
	case errors.Is(err, redis.Nil) || err == nil && changed == int64(0):
		return "", faults.NoEffect("there was no %s", key)
	case err != nil:
		return "", fmt.Errorf("live: %s a key of the election: %w", command[0], err)
	default:
		return done, nil
	}
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

// witness is the key that has the ends of leases.
func (w *world) witness() string {
	if witness := w.store.Witness(); witness != "" {
		return witness
	}
	return w.key("guard") // which takes its place
}

// key is the key of the election that is called so. The lease of a program that
// knows nothing of our keys is its lock, once that is known.
func (w *world) key(name string) string {
	if lock := w.taps.lockKey(); lock != "" && name == "lease" {
		return lock
	}
	for _, key := range w.store.Keys(w.election) {
		if strings.HasSuffix(key, ":"+name) {
			return key
		}
	}
	panic("live: the store names no key for the " + name)
}
