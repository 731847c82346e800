package topology

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
)

const (
	// slots of a cluster, by its specification.
	slots = 16384
	// primaries of a cluster: the fewest that can agree that one of them is
	// gone.
	primaries = 3
)

// Cluster is a cluster of three primaries with a replica each.
type Cluster struct {
	Nodes []*Server // the primaries first, then their replicas, in the same order
}

// ClusterConfig is what a cluster is started with.
type ClusterConfig struct {
	NodeTimeout time.Duration // silence after which a node is taken for gone; 0: 500 ms
	Server      Config

	_ struct{}
}

// Cluster starts a cluster, and waits until every node finds it in order and
// the replicas have what their primaries have.
func (l *Launcher) Cluster(ctx context.Context, c ClusterConfig) (*Cluster, error) {
	if c.NodeTimeout == 0 {
		c.NodeTimeout = 500 * time.Millisecond
	}
	t := &Cluster{Nodes: make([]*Server, 2*primaries)}
	if err := again(func() error { return t.start(ctx, l, c) }); err != nil {
		return nil, err
	}
	return t, t.AwaitOK(ctx, t.Nodes...)
}

// start starts the nodes. Each finds the whole cluster in the file in which it
// would have written it down itself: to meet one by one takes them seconds.
func (t *Cluster) start(ctx context.Context, l *Launcher, c ClusterConfig) error {
	ids, buses := make([]string, len(t.Nodes)), make([]int, len(t.Nodes))
	for i := range t.Nodes {
		s, err := l.reserve(ServerProgram, c.Server.Client)
		if err != nil {
			return err
		}
		if buses[i], err = loopback.FreePort(); err != nil {
			return err
		}
		s.args = append(append(plain(s),
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(buses[i]), "--cluster-announce-ip", "127.0.0.1",
			"--cluster-node-timeout", strconv.FormatInt(c.NodeTimeout.Milliseconds(), 10),
		), c.Server.Settings...)
		t.Nodes[i], ids[i] = s, nodeID()
	}
	return each(t.Nodes, func(i int, s *Server) error {
		if err := os.WriteFile(filepath.Join(s.dir, "nodes.conf"), []byte(t.book(i, ids, buses)), 0o600); err != nil {
			return fmt.Errorf("topology: the nodes of a cluster: %w", err)
		}
		return s.Start(ctx)
	})
}

// book is the cluster as the i-th node knows it.
func (t *Cluster) book(i int, ids []string, buses []int) string {
	var b strings.Builder
	for k, s := range t.Nodes {
		flags, of, share := "master", "-", ""
		if k < primaries {
			share = fmt.Sprintf(" %d-%d", k*slots/primaries, (k+1)*slots/primaries-1)
		} else {
			flags, of = "slave", ids[k-primaries]
		}
		if k == i {
			flags = "myself," + flags
		}
		// id address flags primary ping-sent pong-received epoch link slots
		fmt.Fprintf(&b, "%s %s@%d %s %s 0 0 %d connected%s\n", ids[k], s.Addr, buses[k], flags, of, k%primaries+1, share)
	}
	fmt.Fprintf(&b, "vars currentEpoch %d lastVoteEpoch 0\n", primaries)
	return b.String()
}

// AwaitOK waits until each of these nodes finds the cluster in order, and those
// that are replicas have what their primaries have.
func (t *Cluster) AwaitOK(ctx context.Context, nodes ...*Server) error {
	return each(nodes, func(_ int, s *Server) error {
		return until(ctx, "the cluster does not get in order for "+s.Addr, func() (bool, error) {
			info, err := s.client.ClusterInfo(ctx).Result()
			if err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false, err
			}
			fields, err := s.Info(ctx, "replication")
			return fields["role"] == "master" || fields["master_link_status"] == "up", err
		})
	})
}

// Owner is the node that owns the key's slot, as one of the nodes that answer
// sees it, and the replicas of that node.
func (t *Cluster) Owner(ctx context.Context, key string) (owner *Server, replicas []*Server, err error) {
	for _, asked := range t.Nodes {
		slot, slotErr := asked.client.ClusterKeySlot(ctx, key).Result()
		shards, err := asked.client.ClusterShards(ctx).Result()
		if slotErr != nil || err != nil {
			continue // it does not run
		}
		for _, shard := range shards {
			if slices.ContainsFunc(shard.Slots, func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End }) {
				owner, replicas = t.roles(shard)
				return owner, replicas, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("topology: no node tells who owns the slot of %q", key)
}

// AwaitOwner waits until another node than this one owns the key's slot, by
// the word of the node itself, and the others agree.
func (t *Cluster) AwaitOwner(ctx context.Context, key string, other *Server) (*Server, error) {
	var now *Server
	return now, until(ctx, "nobody takes the slot of "+key+" over from "+other.Addr, func() (bool, error) {
		owner, _, err := t.Owner(ctx, key)
		if err != nil || owner == nil || owner == other {
			return false, err
		}
		now = owner
		fields, err := owner.Info(ctx, "replication")
		return fields["role"] == "master", err
	})
}

// roles tells which servers are the primary and the replicas of a shard.
func (t *Cluster) roles(shard redis.ClusterShard) (primary *Server, replicas []*Server) {
	for _, node := range shard.Nodes {
		i := slices.IndexFunc(t.Nodes, func(s *Server) bool { return int64(s.Port()) == node.Port })
		switch {
		case i < 0:
		case node.Role == "master":
			primary = t.Nodes[i]
		default:
			replicas = append(replicas, t.Nodes[i])
		}
	}
	return primary, replicas
}

// URL is the topology for redisstore.ParseURL.
func (t *Cluster) URL() string { return join(nil, addrs(t.Nodes), "cluster=true") }
