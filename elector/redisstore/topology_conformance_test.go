package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/storetest"
	"github.com/recount-io/recount/internal/topology"
)

// The store keeps the contract of every store behind Sentinels, where each
// client asks them for the primary first.
func TestConformanceBehindSentinels(t *testing.T) {
	ctx, l := launcher(t)
	r := topology.Must[*topology.Sentinels](t)(l.Sentinels(ctx, topology.SentinelConfig{}))
	opened := func(t *testing.T, o redisstore.Options) *redisstore.Store { return openURL(t, r.URL(), o) }
	conform(ctx, t, everyWay, opened, func(do func(*redis.Client)) { do(r.Primary.Client()) })
}

// So does one on a client that the program already has.
func TestClientOfSentinelsThatIsThere(t *testing.T) {
	ctx, l := launcher(t)
	r := topology.Must[*topology.Sentinels](t)(l.Sentinels(ctx, topology.SentinelConfig{}))
	conform(ctx, t, everyWay, theirs(t, r.URL()), func(do func(*redis.Client)) { do(r.Primary.Client()) })
}

// The store keeps the contract of every store in a cluster, with clients that
// know one node at first, a replica at that.
func TestConformanceInACluster(t *testing.T) {
	ctx, l := launcher(t)
	r := topology.Must[*topology.Cluster](t)(l.Cluster(ctx, topology.ClusterConfig{}))
	opened := func(t *testing.T, o redisstore.Options) *redisstore.Store { return openURL(t, byOneNode(r), o) }
	conform(ctx, t, everyWay, opened, primaries(r))
}

// So does one on a cluster's client that the program already has; nobody confirms there.
func TestClientOfAClusterThatIsThere(t *testing.T) {
	ctx, l := launcher(t)
	r := topology.Must[*topology.Cluster](t)(l.Cluster(ctx, topology.ClusterConfig{}))
	conform(ctx, t, everyWay[:2], theirs(t, byOneNode(r)), primaries(r))
}

func byOneNode(r *topology.Cluster) string { return "redis://" + r.Nodes[5].Addr + "?cluster=true" }

// primaries calls do for every primary.
func primaries(r *topology.Cluster) func(do func(*redis.Client)) {
	return func(do func(*redis.Client)) {
		for _, s := range r.Nodes[:3] {
			do(s.Client())
		}
	}
}

// theirs makes stores on one client, as the program that has it would have made it.
func theirs(t *testing.T, url string) func(t *testing.T, o redisstore.Options) *redisstore.Store {
	t.Helper()
	opts, err := redisstore.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	opts.ContextTimeoutEnabled, opts.MaxRetries = true, -1
	client := redis.NewUniversalClient(opts)
	t.Cleanup(func() { _ = client.Close() }) // its servers may be gone
	return func(t *testing.T, o redisstore.Options) *redisstore.Store {
		t.Helper()
		s, err := redisstore.FromClient(client, o)
		if err != nil && strings.Contains(err.Error(), "9.20") {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() }) // as above
		return s
	}
}

// prefix gives every case elections of its own.
func prefix(i int) string { return fmt.Sprintf("case-%d:", i) }

// way is a kind of protection.
type way struct {
	name string
	o    redisstore.Options
}

// everyWay has the one that needs connections of the store's own in a cluster last.
var everyWay = []way{{"protected", redisstore.Options{}}, {"unprotected", redisstore.Options{Unprotected: true}}, {"confirmed", redisstore.Options{Replicas: 1}}}

// conform runs the suite with some kinds of protection. each calls do for every
// primary.
func conform(ctx context.Context, t *testing.T, ways []way, opened func(*testing.T, redisstore.Options) *redisstore.Store, each func(do func(*redis.Client))) {
	t.Helper()
	for _, w := range ways {
		for i, c := range storetest.Cases() {
			t.Run(w.name+"/"+c.Name, func(t *testing.T) {
				o := w.o
				o.Prefix = w.name + prefix(i)
				s := opened(t, o)
				prime(ctx, t, s, "storetest", "storetest-2")
				c.Run(t, s, func(d time.Duration) {
					each(func(client *redis.Client) {
						if err := client.Eval(ctx, elapse, nil, max(d.Milliseconds(), 1)).Err(); err != nil {
							t.Fatal(err)
						}
					})
				})
			})
		}
	}
}

// elapse does to leases what the passing of time does. A slow machine would
// make a real wait longer than it should be, and leases would end in it.
var elapse = strings.TrimSpace(`
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, left - ARGV[1]) end
  local fields = redis.call('TYPE', key).ok == 'hash' and redis.call('HGETALL', key) or {}
  for i = 1, #fields, 2 do
    if string.find(fields[i], '^of ') or fields[i] == 'unsure' or fields[i] == 'reserved' then redis.call('HINCRBY', key, fields[i], -ARGV[1]) end
  end
end
return 1`)
