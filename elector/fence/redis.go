package fence

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed guarded.lua
var guardedText string

// RedisGuard guards keys in Redis. It is safe for concurrent use, and all
// guards on the same data, in whatever process, are one.
//
// The guard keeps the largest token in a key of its own, "fence:{TAG}", which
// has no time to live and must neither be deleted nor evicted. TAG is the
// key's hash tag (what stands in its first braces), or the whole key if it has
// none: keys of one hash tag are one resource with one fence, and a cluster
// keeps them, and the fence, on one node.
//
// A Redis that loses data (a restart without persistence, a failover to a
// replica that lagged behind) may lose the newest token together with the
// newest writes: until the leader's next write the former leader's are admitted
// again.
type RedisGuard struct {
	client redis.Scripter
	check  *Write
	set    *Write
	setTTL *Write
}

// NewRedisGuard returns a guard that writes with the client, which stays the
// caller's to close. A client that repeats commands (go-redis does, unless
// MaxRetries is -1) may execute a write twice when a reply is lost: harmless
// for Set, but not for every Write.
func NewRedisGuard(client redis.Scripter) *RedisGuard {
	if client == nil {
		panic("fence: NewRedisGuard needs a client, and was given nil")
	}
	return &RedisGuard{
		client: client,
		check:  NewWrite("return 0"),
		set:    NewWrite("return redis.call('SET', KEYS[1], ARGV[1])"),
		setTTL: NewWrite("return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])"),
	}
}

// Write is a write of the caller's own. See RedisGuard.Do.
type Write struct{ script *redis.Script }

// NewWrite makes a write from the text of a Lua script, as Redis has them:
// KEYS and ARGV are those given to Do, and what it returns Do returns. The text
// becomes the body of a function, so it must not begin with a shebang line.
//
// As in every script of Redis, what was done before an error is not undone; and
// the script must leave the key of the fence alone.
func NewWrite(lua string) *Write {
	return &Write{redis.NewScript(strings.Replace(guardedText, "--[[write]]", lua, 1))}
}

var _ Checker = (*RedisGuard)(nil)

// Set sets the key to the value if no larger token was seen, in one step with
// that look. A ttl of 0 is for ever; else it is in whole milliseconds.
//
// The write did not happen if the error is a *StaleError or ErrNoToken. After
// any other error it may have happened, may still, or never will.
func (g *RedisGuard) Set(ctx context.Context, token uint64, key, value string, ttl time.Duration) error {
	if ttl == 0 {
		_, err := g.Do(ctx, token, g.set, []string{key}, value)
		return err
	}
	if err := checkTTL(key, ttl); err != nil {
		return err
	}
	_, err := g.Do(ctx, token, g.setTTL, []string{key}, value, ttl.Milliseconds())
	return err
}

// Check makes the token known to the resource that the key belongs to, and
// writes nothing else: once it has returned nil, writes of former leaders are
// refused. Its errors are those of Set.
func (g *RedisGuard) Check(ctx context.Context, token uint64, key string) error {
	_, err := g.Do(ctx, token, g.check, []string{key})
	return err
}

// Do executes the write if no larger token was seen, in one step with that
// look, and returns what the write returned (nil for nothing). All keys must
// belong to one resource: have the same hash tag. Its errors are those of Set,
// and the write's own; the token then counts as seen.
func (g *RedisGuard) Do(ctx context.Context, token uint64, w *Write, keys []string, args ...any) (any, error) {
	if token == 0 {
		return nil, ErrNoToken
	}
	all, err := withFence(keys)
	if err != nil {
		return nil, err
	}
	argv := append([]any{strconv.FormatUint(token, 10)}, args...)
	reply, err := w.script.Run(ctx, g.client, all, argv...).Result()
	if err != nil {
		return nil, fmt.Errorf("fence: write of key %q with token %d: %w", keys[0], token, err)
	}
	return resultOf(token, reply)
}

func checkTTL(key string, ttl time.Duration) error {
	if ttl < 0 || ttl%time.Millisecond != 0 {
		return fmt.Errorf("fence: key %q cannot last %v: give whole milliseconds, or 0 for ever", key, ttl)
	}
	return nil
}

// resultOf reads the script's reply. A write's nil ends the array before it.
func resultOf(token uint64, reply any) (any, error) {
	fields, ok := reply.([]any)
	if !ok || len(fields) < 1 || len(fields) > 2 {
		return nil, fmt.Errorf("fence: the reply has an unexpected shape: %.200q", fmt.Sprint(reply))
	}
	switch {
	case fields[0] == int64(1) && len(fields) == 1:
		return nil, nil
	case fields[0] == int64(1):
		return fields[1], nil
	case fields[0] == int64(0) && len(fields) == 2:
		text, _ := fields[1].(string)
		if highest, err := strconv.ParseUint(text, 10, 64); err == nil {
			return nil, &StaleError{Token: token, Highest: highest}
		}
	}
	return nil, fmt.Errorf("fence: the reply has an unexpected shape: %.200q", fmt.Sprint(reply))
}

// withFence puts the fence's key in front of the keys.
func withFence(keys []string) ([]string, error) {
	if len(keys) == 0 {
		return nil, errors.New("fence: the write names no key: name at least one, to say which resource it is for")
	}
	resource, err := tagOf(keys[0])
	if err != nil {
		return nil, err
	}
	for _, key := range keys[1:] {
		tag, err := tagOf(key)
		if err != nil {
			return nil, err
		}
		if tag != resource {
			return nil, fmt.Errorf("fence: keys %q and %q belong to different resources: give them one hash tag, as {name}:a and {name}:b", keys[0], key)
		}
	}
	fence := "fence:{" + resource + "}"
	if slices.Contains(keys, fence) {
		return nil, fmt.Errorf("fence: key %q is the fence itself, which only the guard may write: give the data another name", fence)
	}
	return append([]string{fence}, keys...), nil
}

// tagOf is the part of a key that a cluster places it by: what stands in its
// first braces, if anything does, else the whole key. A whole key with a brace
// that closes cannot be put in braces again.
func tagOf(key string) (string, error) {
	if key == "" {
		return "", errors.New("fence: a key is empty: give its name")
	}
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag, nil
		}
	}
	if strings.Contains(key, "}") {
		return "", fmt.Errorf("fence: key %q has a brace but no hash tag: write it as {name}:rest, or without braces", key)
	}
	return key, nil
}
