package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/stage"
)

// flushStore deletes all keys but KEYS[1], which is the harness's own record, and
// KEYS[3], by which a server's owner allows it. It returns whether KEYS[2] was among them.
var flushStore = redis.NewScript(`
local there = redis.call('EXISTS', KEYS[2])
for _, key in ipairs(redis.call('KEYS', '*')) do
  if key ~= KEYS[1] and key ~= KEYS[3] then redis.call('DEL', key) end
end
return there`)

// dropVolatile deletes what has a time to live, and returns how many keys had.
var dropVolatile = redis.NewScript(`
local n = 0
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) >= 0 then n = n + redis.call('DEL', key) end
end
return n`)

// FlushStore implements faults.World.
func (w *world) FlushStore(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	there, err := flushStore.Run(ctx, w.direct, []string{w.key("audit"), w.key("lease"), w.marker}).Int()
	switch {
	case err != nil:
		return "", fmt.Errorf("live: flush the store: %w", err)
	case there == 0:
		return "", faults.NoEffect("there was no lease to delete")
	default:
		return "every key was deleted, the lease's among them", nil
	}
}

// EvictKeys implements faults.World. The embedded Redis does not evict: there the
// same keys are deleted.
func (w *world) EvictKeys(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	if n, err := w.direct.Exists(ctx, w.key("lease")).Result(); err != nil || n == 0 {
		return "", errors.Join(err, faults.NoEffect("there was no lease to evict"))
	}
	before, err := w.direct.ConfigGet(ctx, "maxmemory*").Result()
	if redis.HasErrorPrefix(err, "unknown command") {
		n, err := dropVolatile.Run(ctx, w.direct, nil).Int()
		return fmt.Sprintf("%d keys with a time to live were deleted, as eviction does", n), err
	}
	if err != nil {
		return "", fmt.Errorf("live: read the limit of the store's memory: %w", err)
	}
	w.audit.drain(ctx) // where everything has a time to live, it is evicted, too
	if err := w.starve(ctx, before); err != nil {
		return "", fmt.Errorf("live: make the store evict: %w", err)
	}
	return "the store ran out of memory and evicted the lease", nil
}

// starve takes the store's memory away, again and again, until the lease is gone. The
// key of the harness's own record has no time to live in a private store, so it stays.
//
// Settings go back to what they were in the same packet that changes them: the server
// executes it to its end, whatever becomes of the harness. Each command in between makes
// the server evict for some of a millisecond.
func (w *world) starve(ctx context.Context, before map[string]string) error {
	const looks = 8
	for {
		var left *redis.IntCmd
		_, err := w.direct.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.ConfigSet(ctx, "maxmemory-policy", "volatile-lru")
			p.ConfigSet(ctx, "maxmemory", "1")
			for range looks {
				left = p.Exists(ctx, w.key("lease"))
			}
			p.ConfigSet(ctx, "maxmemory", before["maxmemory"])
			p.ConfigSet(ctx, "maxmemory-policy", before["maxmemory-policy"])
			return nil
		})
		if err != nil || left.Val() == 0 {
			return err
		}
		if !stage.Sleep(ctx, time.Millisecond) {
			return ctx.Err()
		}
	}
}
