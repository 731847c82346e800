package fence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Hashes, deletions and times to live are guarded as Set is, many fields go in
// one step, and the fence itself cannot be written.
func TestRedisCommands(t *testing.T) {
	eachServer(t, func(t *testing.T, client *redis.Client) {
		ctx, g := t.Context(), NewRedisGuard(client)
		fields := map[string]string{}
		for i := range 4500 {
			fields[fmt.Sprint("f", i)] = fmt.Sprint(i)
		}
		for _, want := range []int64{4500, 0} {
			if n, err := g.HSet(ctx, 9, "{r}:h", fields); err != nil || n != want {
				t.Errorf("HSet: %d, %v; want %d", n, err, want)
			}
		}
		if got := client.HGetAll(ctx, "{r}:h").Val(); len(got) != 4500 || got["f4499"] != "4499" {
			t.Errorf("the hash has %d fields", len(got))
		}
		for _, c := range []struct {
			key    string
			ttl    time.Duration
			exists bool
		}{{"{r}:h", time.Minute, true}, {"{r}:h", 0, true}, {"{r}:none", time.Minute, false}, {"{r}:none", 0, false}} {
			exists, err := g.Expire(ctx, 10, c.key, c.ttl)
			left := client.PTTL(ctx, c.key).Val()
			if err != nil || exists != c.exists || (left > c.ttl/2) != (c.exists && c.ttl > 0) {
				t.Errorf("Expire %s %v: %v, %v, %v left", c.key, c.ttl, exists, err, left)
			}
		}
		_, err := g.HSet(ctx, 9, "{r}:h", fields)
		wantStale(t, err, 9, 10)
		_, err = g.Expire(ctx, 9, "{r}:h", time.Second)
		wantStale(t, err, 9, 10)
		_, err = g.Del(ctx, 9, "{r}:h")
		wantStale(t, err, 9, 10)
		if n, err := g.Del(ctx, 10, "{r}:h", "{r}:none"); err != nil || n != 1 {
			t.Errorf("Del: %d, %v", n, err)
		}
		if _, err := g.Del(ctx, 10, "fence:{r}"); err == nil || !strings.Contains(err.Error(), "the fence itself") {
			t.Errorf("Del of the fence: %v", err)
		}
		if _, err := g.HSet(ctx, 10, "{r}:h", nil); err == nil {
			t.Error("no fields are no error")
		}
		for _, ttl := range []time.Duration{-time.Second, time.Microsecond} {
			if _, err := g.Expire(ctx, 10, "{r}:h", ttl); err == nil || !strings.Contains(err.Error(), "whole milliseconds") {
				t.Errorf("a ttl of %v: %v", ttl, err)
			}
		}
	})
}
