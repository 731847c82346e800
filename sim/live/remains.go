package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/inspection"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// Remains is what is there of one run in a Redis.
type Remains struct {
	Run  string   // what its keys begin with
	Keys []string // in order; none: only the register knows the run

	// Expires is when the last of the keys ends by itself; negative: one of them has
	// no time to live.
	Expires time.Duration
	Current bool // the run goes on, or ended a moment ago: its keys are to stay

	registered bool
}

// FindRemains finds what runs with that prefix have left in the Redis that belongs to
// the URL, or still need. It goes by the register of the runs, in some calls; with scan
// by the names of all keys of the database instead, in steps of a thousand, which also
// finds what is in no register. It changes nothing.
func FindRemains(ctx context.Context, url, prefix string, scan bool) ([]Remains, error) {
	runs := map[string]*Remains{}
	err := withRedis(ctx, url, prefix, func(client *redis.Client) error {
		start := prefix + inspection.RunMark
		if scan {
			if err := scanned(ctx, client, start, runs); err != nil {
				return err
			}
		}
		if err := registered(ctx, client, prefix, runs); err != nil {
			return err
		}
		for _, r := range runs {
			if err := r.look(ctx, client); err != nil {
				return err
			}
		}
		return nil
	})
	var all []Remains
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		if r := runs[run]; len(r.Keys) > 0 || r.registered && !r.Current {
			all = append(all, *r)
		}
	}
	return all, err
}

// scanned adds what is found by going through all keys.
func scanned(ctx context.Context, client *redis.Client, start string, runs map[string]*Remains) error {
	found := client.Scan(ctx, 0, inspection.Escape(start)+"*", 1000).Iterator()
	for found.Next(ctx) {
		key := found.Val()
		name, _, is := strings.Cut(strings.TrimPrefix(key, start), ":")
		run := start + name + ":"
		if is && isRun(start, run) {
			add(runs, run, key)
		}
	}
	return found.Err()
}

// registered adds what the register says. A key that is not the run's own is left alone,
// although the register names it.
func registered(ctx context.Context, client *redis.Client, prefix string, runs map[string]*Remains) error {
	now, err := client.Time(ctx).Result()
	if err != nil {
		return err
	}
	all, err := client.HGetAll(ctx, inspection.Register(prefix)).Result()
	for run, text := range all {
		if !isRun(prefix+inspection.RunMark, run) {
			continue
		}
		e := entryOf(text)
		add(runs, run, "")
		runs[run].registered, runs[run].Current = true, e.current(now)
		for _, key := range e.Keys {
			if strings.HasPrefix(key, run) {
				add(runs, run, key)
			}
		}
	}
	return err
}

// isRun reports whether that is what the keys of a run begin with.
func isRun(start, run string) bool {
	name, is := strings.CutPrefix(run, start)
	return is && len(name) == len(randomName())+1 && strings.Trim(name, "0123456789abcdef") == ":"
}

// add adds a key to a run, "" for none: a scan may repeat itself.
func add(runs map[string]*Remains, run, key string) {
	if runs[run] == nil {
		runs[run] = &Remains{Run: run}
	}
	if r := runs[run]; key != "" && !slices.Contains(r.Keys, key) {
		r.Keys = append(r.Keys, key)
	}
}

// look asks how long the keys have to live, and forgets those that are not there. A run
// that no register knows goes on if its keys have the time to live that runs give.
func (r *Remains) look(ctx context.Context, client *redis.Client) error {
	left := make([]*redis.DurationCmd, len(r.Keys))
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range r.Keys {
			left[i] = p.PTTL(ctx, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var there []string
	for i, cmd := range left {
		d := cmd.Val()
		if d == -2 { // go-redis leaves what says that there is no key, and -1: no time to live
			continue
		}
		there = append(there, r.Keys[i])
		switch {
		case d < 0:
			r.Expires = -1
		case r.Expires >= 0:
			r.Expires = max(r.Expires, d)
		}
		r.Current = r.Current || !r.registered && d > 0 && d <= leftoverTime
	}
	slices.Sort(there)
	r.Keys = there
	return nil
}

// Remove removes the keys, and the runs from the register. It returns how many keys were
// there.
func Remove(ctx context.Context, url, prefix string, all []Remains) (int, error) {
	removed := 0
	err := withRedis(ctx, url, prefix, func(client *redis.Client) error {
		for _, r := range all {
			for keys := range slices.Chunk(r.Keys, 100) {
				n, err := client.Del(ctx, keys...).Result()
				removed += int(n)
				if err != nil {
					return err
				}
			}
			if r.registered {
				if err := client.HDel(ctx, inspection.Register(prefix), r.Run).Err(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return removed, err
}

// withRedis calls do with a client of the Redis that belongs to the URL.
func withRedis(ctx context.Context, url, prefix string, do func(*redis.Client) error) error {
	if !redisserver.IsURL(url) {
		return &redisserver.Error{Kind: redisserver.BadSpec, Text: "give the URL of the Redis: --redis redis://user:password@host:port/db"}
	}
	server, err := redisserver.Open(ctx, url, redisserver.Options{})
	if err != nil {
		return err
	}
	if _, err := inspection.Inspect(ctx, server.Options(), inspection.Need{Prefix: prefix, Clean: true}); err != nil {
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
