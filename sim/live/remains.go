package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/redisserver"
)

// Remains is what is there of one run in a Redis.
type Remains struct {
	Run  string   // what its keys begin with
	Keys []string // in order

	// Expires is when the last of the keys ends by itself; negative: one of them has
	// no time to live. A key whose time is that of a run that goes on, or was killed,
	// shows in Current.
	Expires time.Duration
	Current bool
}

// FindRemains finds what runs with that prefix, "" for "recount:", have left in the
// Redis that belongs to the URL, or still need. It goes through the names of all keys of
// the database in steps of a thousand, and changes nothing.
func FindRemains(ctx context.Context, url, prefix string) ([]Remains, error) {
	runs := map[string]*Remains{}
	err := withRedis(ctx, url, func(client *redis.Client) error {
		start := cmp.Or(prefix, "recount:") + runMark
		found := client.Scan(ctx, 0, globEscaper.Replace(start)+"*", 1000).Iterator()
		for found.Next(ctx) {
			name, _, is := strings.Cut(strings.TrimPrefix(found.Val(), start), ":")
			if !is || len(name) != len(randomName()) {
				continue // somebody else's
			}
			run := start + name + ":"
			if runs[run] == nil {
				runs[run] = &Remains{Run: run}
			}
			if !slices.Contains(runs[run].Keys, found.Val()) { // a scan may repeat itself
				runs[run].Keys = append(runs[run].Keys, found.Val())
			}
		}
		if err := found.Err(); err != nil {
			return err
		}
		for _, r := range runs {
			if err := r.look(ctx, client); err != nil {
				return err
			}
		}
		return nil
	})
	all := make([]Remains, 0, len(runs))
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		all = append(all, *runs[run])
	}
	return all, err
}

// look asks how long the keys have to live.
func (r *Remains) look(ctx context.Context, client *redis.Client) error {
	slices.Sort(r.Keys)
	left := make([]*redis.DurationCmd, len(r.Keys))
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range r.Keys {
			left[i] = p.PTTL(ctx, key)
		}
		return nil
	})
	for _, cmd := range left {
		switch d := cmd.Val(); {
		case d == -1: // go-redis leaves what says that there is none, or no key
			r.Expires = -1
		case d > 0 && r.Expires >= 0:
			r.Expires = max(r.Expires, d)
		}
		r.Current = r.Current || cmd.Val() > 0 && cmd.Val() <= leftoverTime
	}
	return err
}

// Remove removes the keys. It returns how many were there.
func Remove(ctx context.Context, url string, all []Remains) (int, error) {
	removed := 0
	err := withRedis(ctx, url, func(client *redis.Client) error {
		for _, r := range all {
			for keys := range slices.Chunk(r.Keys, 100) {
				n, err := client.Del(ctx, keys...).Result()
				removed += int(n)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	return removed, err
}

// withRedis calls do with a client of the Redis that belongs to the URL.
func withRedis(ctx context.Context, url string, do func(*redis.Client) error) error {
	if !strings.Contains(url, "://") {
		return &redisserver.Error{Kind: redisserver.BadSpec, Text: "give the URL of the Redis: redis://user:password@host:port/db"}
	}
	server, err := redisserver.Open(ctx, url, redisserver.Options{})
	if err != nil {
		return err
	}
	client := redis.NewClient(server.Options())
	defer func() { _ = client.Close() }() // nothing is under way
	if err := do(client); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("live: look for keys of runs: %w", err)
	} else if err != nil {
		return err
	}
	return server.Close()
}
