package fence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// The writes that everybody needs. Lua unpacks only some thousand values at
// once, so what can be long goes in pieces: it is one step all the same.
var (
	hsetWrite = NewWrite(`
		local added = 0
		for i = 1, #ARGV, 1000 do
		  added = added + redis.call('HSET', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV)))
		end
		return added`)
	delWrite = NewWrite(`
		local deleted = 0
		for i = 1, #KEYS do deleted = deleted + redis.call('DEL', KEYS[i]) end
		return deleted`)
	expireWrite = NewWrite(`
		if ARGV[1] ~= '0' then return redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
		redis.call('PERSIST', KEYS[1])
		return redis.call('EXISTS', KEYS[1])`)
	highestScript = redis.NewScript(`return redis.call('GET', KEYS[1])`)
)

// HSet sets fields of the hash at the key, and returns how many of them are
// new. Repeating it does no harm. Its errors are those of Set; of a key that
// holds no hash, Redis's own.
func (g *RedisGuard) HSet(ctx context.Context, token uint64, key string, fields map[string]string) (added int64, err error) {
	if len(fields) == 0 {
		return 0, fmt.Errorf("fence: no field of hash %q is given: name at least one, or use Check to make the token known", key)
	}
	args := make([]any, 0, 2*len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		args = append(args, name, fields[name])
	}
	return g.count(ctx, token, hsetWrite, []string{key}, args...)
}

// Del deletes the keys, which must belong to one resource, and returns how
// many there were. The fence stays. Its errors are those of Set.
func (g *RedisGuard) Del(ctx context.Context, token uint64, keys ...string) (deleted int64, err error) {
	return g.count(ctx, token, delWrite, keys)
}

// Expire makes the key last ttl from now on, in whole milliseconds; 0 is for
// ever. It returns false if there is no such key. Its errors are those of Set.
func (g *RedisGuard) Expire(ctx context.Context, token uint64, key string, ttl time.Duration) (exists bool, err error) {
	if err := checkTTL(key, ttl); err != nil {
		return false, err
	}
	n, err := g.count(ctx, token, expireWrite, []string{key}, ttl.Milliseconds())
	return n == 1, err
}

// Highest is the largest token that the resource of the key has seen, as its
// master knows it; 0 before the first one. It is for people and tests: a
// larger one may have come since.
func (g *RedisGuard) Highest(ctx context.Context, key string) (uint64, error) {
	keys, err := withFence([]string{key})
	if err != nil {
		return 0, err
	}
	// A script and not GET, because clients may send that to a replica.
	reply, err := highestScript.Run(ctx, g.client, keys).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("fence: the fence of key %q could not be read: %w", key, err)
	}
	text, _ := reply.(string)
	token, err := ParseToken(text)
	if err != nil {
		return 0, fmt.Errorf("fence: the key %q holds no token, but %.50q: somebody else writes to it; put it right by hand", keys[0], text)
	}
	return token, nil
}

// count does a write that returns a number.
func (g *RedisGuard) count(ctx context.Context, token uint64, w *Write, keys []string, args ...any) (int64, error) {
	result, err := g.Do(ctx, token, w, keys, args...)
	if err != nil {
		return 0, err
	}
	n, ok := result.(int64)
	if !ok {
		return 0, errors.New("fence: Redis did not answer with a number, though it was asked to count")
	}
	return n, nil
}
