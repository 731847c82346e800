package quorumstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
)

// Times that do not suit one node do not suit the quorum. The error names the node.
func TestTimesThatDoNotSuitANodeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		node    redisstore.Options
		timeout time.Duration // of nodes
		says    []string
	}{
		"keys end before the lease": {redisstore.Options{Expire: time.Minute}, 0, []string{"node 3", "Lease: is 40s", "Expire of redisstore is 1m0s"}},
		"confirmed too late":        {redisstore.Options{Replicas: 1, Confirm: 200 * time.Millisecond}, 150 * time.Millisecond, []string{"node 3", "NodeTimeout is 150ms", "Confirm of redisstore is 200ms"}},
		"all is well":               {redisstore.Options{Replicas: 1}, 0, nil},
	} {
		s, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, c.node)
		if err != nil {
			t.Fatal(err)
		}
		nodes := []store.Store{memstore.New(memstore.Options{}), memstore.New(memstore.Options{}), s}
		q, err := quorumstore.New(nodes, quorumstore.Options{NodeTimeout: c.timeout})
		if err != nil {
			t.Fatal(err)
		}
		_, err = elector.New(q, elector.Config{Election: "billing", Lease: 40 * time.Second})
		if (err != nil) != (c.says != nil) {
			t.Errorf("%s: got %v, want an error: %t", name, err, c.says != nil)
		}
		for _, part := range c.says {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: got %q, want it to name %q", name, err, part)
			}
		}
		_ = s.Close()
	}
}
