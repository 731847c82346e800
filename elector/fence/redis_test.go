package fence

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/topology"
)

// eachServer runs the test on miniredis and on a real redis-server, each of
// them empty. Where there is no redis-server the real half is skipped.
func eachServer(t *testing.T, test func(t *testing.T, client *redis.Client)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { test(t, connect(t, miniredis.RunT(t).Addr())) })
	t.Run("redis-server", func(t *testing.T) { test(t, connect(t, startReal(t))) })
}

func connect(t *testing.T, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() }) // the end of the test
	return client
}

// startReal starts a redis-server that keeps nothing.
func startReal(t *testing.T, settings ...string) string {
	t.Helper()
	return topology.Single(t, settings...).Addr
}

func wantStale(t *testing.T, err error, token, highest uint64) {
	t.Helper()
	var stale *StaleError
	if !errors.As(err, &stale) || *stale != (StaleError{token, highest}) {
		t.Errorf("%v, want token %d refused for %d", err, token, highest)
	}
}

func get(t *testing.T, client *redis.Client, key string) string {
	t.Helper()
	text, err := client.Get(t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return text
}

// A former leader's write is refused, with both tokens, and changes nothing;
// the leader's own go on, with or without a time to live.
func TestRedisGuard(t *testing.T) {
	eachServer(t, func(t *testing.T, client *redis.Client) {
		ctx := t.Context()
		g := NewRedisGuard(client)
		for _, c := range []struct {
			token uint64
			value string
			ttl   time.Duration
		}{{7, "a", 0}, {7, "b", time.Minute}, {8, "c", 0}} {
			if err := g.Set(ctx, c.token, "report", c.value, c.ttl); err != nil {
				t.Fatalf("token %d: %v", c.token, err)
			}
			if got := get(t, client, "report"); got != c.value {
				t.Fatalf("the key holds %q, want %q", got, c.value)
			}
			if left := client.PTTL(ctx, "report").Val(); (left > c.ttl/2) != (c.ttl > 0) || left > c.ttl+1 {
				t.Errorf("the key lasts %v, want %v", left, c.ttl)
			}
			if left := client.PTTL(ctx, "fence:{report}").Val(); left != -1 {
				t.Errorf("the fence lasts %v, want for ever", left)
			}
		}
		wantStale(t, g.Set(ctx, 7, "report", "late", 0), 7, 8)
		wantStale(t, g.Set(ctx, 7, "report", "late", time.Minute), 7, 8)
		wantStale(t, g.Check(ctx, 1, "report"), 1, 8)
		if got := get(t, client, "report"); got != "c" {
			t.Errorf("a refused write left %q", got)
		}
		if err := g.Set(ctx, 1, "another", "x", 0); err != nil {
			t.Errorf("another resource: %v", err)
		}
		if err := g.Set(ctx, 0, "report", "x", 0); !errors.Is(err, ErrNoToken) {
			t.Errorf("token 0: %v", err)
		}
		for _, ttl := range []time.Duration{-time.Second, time.Microsecond, 1500 * time.Microsecond} {
			if err := g.Set(ctx, 9, "report", "x", ttl); err == nil {
				t.Errorf("a ttl of %v is no error", ttl)
			}
		}
	})
}

// Tokens are compared by value, where numbers of Lua and the order of
// spellings would both be wrong.
func TestTokensBeyondLuaNumbers(t *testing.T) {
	eachServer(t, func(t *testing.T, client *redis.Client) {
		ctx := t.Context()
		g := NewRedisGuard(client)
		const big = 1 << 53
		for _, token := range []uint64{9, 10, big, big + 1, big + 2, 1<<64 - 1} {
			if err := g.Check(ctx, token, "r"); err != nil {
				t.Errorf("token %d: %v", token, err)
			}
			if err := g.Check(ctx, token-1, "r"); err == nil {
				t.Errorf("token %d was admitted after %d", token-1, token)
			} else {
				wantStale(t, err, token-1, token)
			}
		}
	})
}

// A new leader that has made itself known is safe from the former one's
// writes, also to other keys of the same resource.
func TestKeysOfOneTagAreOneResource(t *testing.T) {
	eachServer(t, func(t *testing.T, client *redis.Client) {
		ctx := t.Context()
		g := NewRedisGuard(client)
		if err := g.Check(ctx, 5, "{acct}:balance"); err != nil {
			t.Fatal(err)
		}
		wantStale(t, g.Set(ctx, 4, "{acct}:log", "x", 0), 4, 5)
		wantStale(t, g.Set(ctx, 4, "my{acct}", "x", 0), 4, 5)
		if n := client.Exists(ctx, "{acct}:balance", "{acct}:log").Val(); n != 0 {
			t.Errorf("%d keys were written", n)
		}
	})
}

// A write of the caller's own sees its keys and arguments only, returns what
// it returns, and is not executed with a stale token.
func TestDo(t *testing.T) {
	eachServer(t, func(t *testing.T, client *redis.Client) {
		ctx := t.Context()
		g := NewRedisGuard(client)
		transfer := NewWrite(`
			if #KEYS ~= 2 or #ARGV ~= 1 then return redis.error_reply('BAD ' .. #KEYS .. ' ' .. #ARGV) end
			redis.call('DECRBY', KEYS[1], ARGV[1])
			return redis.call('INCRBY', KEYS[2], ARGV[1]) -- a comment ends here`)
		keys := []string{"{bank}:a", "{bank}:b"}
		if got, err := g.Do(ctx, 3, transfer, keys, 10); err != nil || got != int64(10) {
			t.Fatalf("%v, %v", got, err)
		}
		_, err := g.Do(ctx, 2, transfer, keys, 10)
		wantStale(t, err, 2, 3)
		if a, b := get(t, client, keys[0]), get(t, client, keys[1]); a != "-10" || b != "10" {
			t.Errorf("the accounts hold %s and %s", a, b)
		}
		if got, err := g.Do(ctx, 3, NewWrite("local x = 1"), keys); err != nil || got != nil {
			t.Errorf("a write without a result: %v, %v", got, err)
		}
		if _, err := g.Do(ctx, 3, transfer, keys[:1], 10); err == nil || !strings.Contains(err.Error(), "BAD 1 1") {
			t.Errorf("the write's own error: %v", err)
		}
		if _, err := g.Do(ctx, 4, NewWrite("return redis.call('INCR', KEYS[1])"), []string{"{bank}:a"}); err != nil {
			t.Error(err)
		}
		if err := client.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Do(ctx, 4, transfer, keys, 1); err != nil {
			t.Errorf("after SCRIPT FLUSH: %v", err)
		}
	})
}

// What cannot be guarded is refused before anything is sent.
func TestKeysThatCannotBeGuarded(t *testing.T) {
	g := NewRedisGuard(connect(t, "127.0.0.1:1"))
	for _, keys := range [][]string{nil, {""}, {"a}b"}, {"{}a"}, {"a", "b"}, {"{a}", "{b}"}, {"{a}", ""}, {"{a}", "x}"}} {
		_, err := g.Do(t.Context(), 1, g.check, keys)
		if err == nil || strings.Contains(err.Error(), "dial") {
			t.Errorf("keys %q: %v", keys, err)
		}
	}
}

// The fence is in the cluster's slot of the keys that it guards.
func TestFenceSharesTheSlot(t *testing.T) {
	bus, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := bus.Addr().(*net.TCPAddr).Port
	_ = bus.Close() // only its number is wanted
	client := connect(t, startReal(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(port)))
	for _, key := range []string{"a", "a{b", "{a}b", "x{a}{b}", "{a", "ä", "{{a}}"} {
		all, err := withFence([]string{key})
		if err != nil {
			t.Errorf("%q: %v", key, err)
			continue
		}
		one, err := client.ClusterKeySlot(t.Context(), all[0]).Result()
		if err != nil {
			t.Fatal(err)
		}
		if other := client.ClusterKeySlot(t.Context(), key).Val(); one != other {
			t.Errorf("%q is in slot %d, its fence %q in %d", key, other, all[0], one)
		}
	}
}

// A fence that holds something else is an error, and nothing is written.
func TestForeignFence(t *testing.T) {
	eachServer(t, func(t *testing.T, client *redis.Client) {
		ctx := t.Context()
		g := NewRedisGuard(client)
		for _, value := range []string{"", "x", "-1", "007", "0"} {
			if err := client.Set(ctx, "fence:{k}", value, 0).Err(); err != nil {
				t.Fatal(err)
			}
			var stale *StaleError
			if err := g.Set(ctx, 9, "k", "v", 0); err == nil || errors.As(err, &stale) {
				t.Errorf("fence %q: %v", value, err)
			}
			if got := get(t, client, "k"); got != "" {
				t.Errorf("fence %q: %q was written", value, got)
			}
			if highest, err := g.Highest(ctx, "k"); err == nil {
				t.Errorf("fence %q is said to be token %d", value, highest)
			}
		}
	})
}
