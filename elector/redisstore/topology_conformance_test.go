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
	conform(ctx, t, r.URL(), func(do func(*redis.Client)) { do(r.Primary.Client()) })
}

// The store keeps the contract of every store in a cluster, with clients that
// know one node at first, a replica at that.
func TestConformanceInACluster(t *testing.T) {
	ctx, l := launcher(t)
	r := topology.Must[*topology.Cluster](t)(l.Cluster(ctx, topology.ClusterConfig{}))
	conform(ctx, t, "redis://"+r.Nodes[5].Addr+"?cluster=true", func(do func(*redis.Client)) {
		for _, s := range r.Nodes[:3] {
			do(s.Client())
		}
	})
}

// prefix gives every case elections of its own.
func prefix(i int) string { return fmt.Sprintf("case-%d:", i) }

// conform runs the suite with every kind of protection. each calls do for every
// primary.
func conform(ctx context.Context, t *testing.T, url string, each func(do func(*redis.Client))) {
	t.Helper()
	for name, o := range map[string]redisstore.Options{
		"protected": {}, "unprotected": {Unprotected: true}, "confirmed": {Replicas: 1},
	} {
		for i, c := range storetest.Cases() {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				o.Prefix = name + prefix(i)
				s := openURL(t, url, o)
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
  if string.match(key, ':guard$') then
    for _, field in ipairs({'until', 'reserved'}) do
      if redis.call('HEXISTS', key, field) == 1 then redis.call('HINCRBY', key, field, -ARGV[1]) end
    end
  end
end
return 1`)
