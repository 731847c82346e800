package redisserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/topology"
)

var errNoPrimary = errors.New("redisserver: none of the servers is a primary")

// sentinels is the arrangement Sentinel.
type sentinels struct{ *topology.Sentinels }

func openSentinels(ctx context.Context, l *topology.Launcher) (arrangement, error) {
	t, err := l.Sentinels(ctx, topology.SentinelConfig{})
	return sentinels{t}, err
}

func (s sentinels) servers() []*topology.Server { return append(s.Servers(), s.Sentinels.Sentinels...) }
func (s sentinels) stores() []*topology.Server  { return s.Servers() }
func (s sentinels) url() string                 { return s.URL() }

func (s sentinels) universal() *redis.UniversalOptions {
	return &redis.UniversalOptions{MasterName: topology.MasterName, Addrs: s.SentinelAddrs(), Password: s.Password}
}

func (s sentinels) primary(ctx context.Context, _ string) (p *topology.Server, replicas []*topology.Server, err error) {
	// One that has come back does not know yet that it is the primary no more.
	addr, err := s.Sentinels.Sentinels[0].Client().Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", topology.MasterName).StringSlice()
	if err != nil {
		return nil, nil, fmt.Errorf("redisserver: ask a Sentinel for the primary: %w", err)
	}
	for _, server := range s.Servers() {
		fields, err := server.Info(ctx, "replication")
		switch {
		case server.Addr == strings.Join(addr, ":"):
			p = server
		case err == nil && fields["role"] == "slave" && fields["master_link_status"] == "up":
			replicas = append(replicas, server)
		}
	}
	if p == nil {
		return nil, nil, errNoPrimary
	}
	return p, replicas, nil
}

func (s sentinels) watch(ctx context.Context, _ string, _ *topology.Server) (func(context.Context) (*topology.Server, error), error) {
	w, err := s.Switching(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*topology.Server, error) {
		defer func() { _ = w.Close() }() // it has served
		return w.Await(ctx)
	}, nil
}

// cluster is the arrangement Cluster.
type cluster struct{ *topology.Cluster }

func openCluster(ctx context.Context, l *topology.Launcher) (arrangement, error) {
	t, err := l.Cluster(ctx, topology.ClusterConfig{})
	return cluster{t}, err
}

func (c cluster) servers() []*topology.Server { return c.Nodes }
func (c cluster) stores() []*topology.Server  { return c.Nodes }
func (c cluster) url() string                 { return c.URL() }

func (c cluster) universal() *redis.UniversalOptions {
	o := &redis.UniversalOptions{IsClusterMode: true}
	for _, s := range c.Nodes {
		o.Addrs = append(o.Addrs, s.Addr)
	}
	return o
}

func (c cluster) primary(ctx context.Context, key string) (p *topology.Server, replicas []*topology.Server, err error) {
	return c.Owner(ctx, key)
}

func (c cluster) watch(_ context.Context, key string, old *topology.Server) (func(context.Context) (*topology.Server, error), error) {
	return func(ctx context.Context) (*topology.Server, error) { return c.AwaitOwner(ctx, key, old) }, nil
}
