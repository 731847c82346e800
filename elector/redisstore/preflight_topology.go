package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// cluster looks at how the cluster stands.
func (v *survey) cluster(ctx context.Context) {
	if _, ok := v.client.UniversalClient.(*redis.ClusterClient); !ok {
		return
	}
	var alone []string
	for _, n := range v.nodes {
		if n.info["role"] == "master" && n.replicas() == 0 {
			alone = append(alone, n.addr)
		}
	}
	if len(alone) > 0 {
		v.add(store.SeverityWarning, "cluster-replicas", strings.Join(alone, ", ")+": a primary without a connected replica. Its elections stand still while it is away",
			"CLUSTER REPLICATE: give every primary a replica at least, better two")
	}
	n := v.nodes[0]
	state, err := clusterState(ctx, n)
	switch {
	case err != nil:
		v.add(store.SeverityNote, "cluster_state", "the cluster's state could not be read: "+unwrapped(err), "allow the user of this check +cluster|info")
	case state != "ok":
		v.add(store.SeverityError, "cluster_state", "is "+state+": requests are refused, so nobody is granted a lease",
			"look at CLUSTER INFO and CLUSTER NODES: every slot needs a primary that the others reach")
	}
	v.openSlots(ctx)
	if n.config["cluster-require-full-coverage"] == "yes" && len(v.nodes) > 1 {
		v.add(store.SeverityNote, "cluster-require-full-coverage", "is yes: when one primary and all its replicas are away, the elections of all the others stand still too",
			"set cluster-require-full-coverage no")
	}
}

// openSlots looks for slots that are on their way from one node to another. A node tells
// of its own.
func (v *survey) openSlots(ctx context.Context) {
	var list []string
	for _, n := range v.nodes {
		text, err := n.client.ClusterNodes(ctx).Result()
		if err != nil {
			v.add(store.SeverityNote, "open-slots", "it could not be read which slots are being moved: "+unwrapped(err), "allow the user of this check +cluster|nodes")
			return
		}
		if open := openSlots(text); len(open) > 0 {
			list = append(list, n.addr+" "+strings.Join(open, " "))
		}
	}
	if len(list) > 0 {
		v.add(store.SeverityWarning, "open-slots", "slots are on their way to another node (->-) or from one (-<-): "+strings.Join(list, ", ")+". Until that is finished, a leader of an election in them goes on, and nobody new is elected",
			`if no resharding is under way, finish it: "redis-cli --cluster fix HOST:PORT" of any node`)
	}
}

// openSlots are those that a node which has answered CLUSTER NODES says that it moves:
// the last words of its own line, as [93->-ID].
func openSlots(nodes string) (open []string) {
	for line := range strings.Lines(nodes) {
		if fields := strings.Fields(line); len(fields) > 2 && strings.Contains(fields[2], "myself") {
			for _, f := range fields {
				if strings.HasPrefix(f, "[") {
					open = append(open, f)
				}
			}
		}
	}
	return open
}

func clusterState(ctx context.Context, n *node) (string, error) {
	text, err := n.client.ClusterInfo(ctx).Result()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "cluster_state:"); ok {
			return value, nil
		}
	}
	return "unknown", nil
}

// sentinels looks at each of the Sentinels that the store was given.
func (v *survey) sentinels(ctx context.Context) {
	name := v.store.opts.MasterName
	if name == "" {
		return
	}
	known := 0
	for _, addr := range v.store.opts.Addrs {
		others, ok := v.sentinel(ctx, addr, name)
		if ok {
			known = max(known, others+1)
		}
	}
	if known > 0 && known < 3 {
		v.add(store.SeverityWarning, "sentinels", fmt.Sprintf("%s for %s: when one is away, the rest are no majority, so no replica is promoted and nobody leads while the primary is away", are(known, "Sentinel"), name),
			"run three Sentinels, each on a machine of its own")
	}
}

// sentinel asks one Sentinel, and returns how many others it knows.
func (v *survey) sentinel(ctx context.Context, addr, name string) (others int, ok bool) {
	o := v.store.opts
	s := redis.NewSentinelClient(&redis.Options{
		Addr: addr, Dialer: o.Dialer, TLSConfig: o.TLSConfig, Username: o.SentinelUsername, Password: o.SentinelPassword,
		MaxRetries: -1, DialerRetries: 1, DialerRetryTimeout: instant, DisableIdentity: true, ContextTimeoutEnabled: true, Protocol: o.Protocol,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		MaintNotificationsConfig: o.MaintNotificationsConfig,
	})
	defer func() { _ = s.Close() }()
	master, err := s.Master(ctx, name).Result()
	if err != nil {
		v.add(store.SeverityWarning, "sentinels", fmt.Sprintf("the Sentinel at %s gives no answer about %s: %v", addr, name, err),
			"start it, correct its address, or tell it to monitor "+name)
		return 0, false
	}
	if err := s.CkQuorum(ctx, name).Err(); err != nil {
		v.add(store.SeverityError, "quorum", fmt.Sprintf("the Sentinel at %s cannot bring about a failover: %s", addr, unwrapped(err)),
			"start the Sentinels that are away, or correct the quorum: it must be a majority of those that there are")
	}
	if down, err := strconv.Atoi(master["down-after-milliseconds"]); err == nil {
		text := fmt.Sprintf("down-after-milliseconds is %d: a primary that dies is replaced no sooner than after %v. A leader whose Lease is shorter steps down before, and nobody leads until then",
			down, time.Duration(down)*time.Millisecond)
		f := store.Finding{Severity: store.SeverityNote, Subject: "down-after-milliseconds", Text: text, Fix: "SENTINEL SET " + name + " down-after-milliseconds with a smaller number, or choose a longer Lease"}
		if !v.has(f) {
			v.list = append(v.list, f)
		}
	}
	others, err = strconv.Atoi(master["num-other-sentinels"])
	return others, err == nil
}

func (v *survey) has(f store.Finding) bool {
	for _, other := range v.list {
		if other == f {
			return true
		}
	}
	return false
}
