package redisstore

import (
	"context"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// maxRedirections is how often a script is followed to another node. One leads
// to the slot's owner (MOVED), or to the node that takes the slot over (ASK);
// another one is for a slot that arrives there just now.
const maxRedirections = 2

// follow has the order executed by the node, or where that one sends it. The node that
// is named may be one that the cluster's client does not know yet, so it gets a
// client of its own: it happens while slots move, and no more.
func (s *Store) follow(ctx context.Context, c *client, node *redis.Client, what order, more int) outcome {
	done := s.executed(ctx, node, what)
	addr, asking := redirection(done.err)
	cluster, ok := c.UniversalClient.(*redis.ClusterClient)
	if !ok || addr == "" || more == 0 {
		return done
	}
	cluster.ReloadState(ctx) // in the background
	next := redis.NewClient(s.elsewhere(node.Options().Addr, addr))
	defer func() { _ = next.Close() }() // it has no more to say
	what.asking = asking
	return s.follow(ctx, c, next, what, more-1)
}

// redirection is where an error sends to, and whether ASKING has to be said
// there; empty if nowhere.
func redirection(err error) (addr string, asking bool) {
	if addr, ok := redis.IsMovedError(err); ok {
		return addr, false
	}
	addr, _ = redis.IsAskError(err)
	return addr, true
}

// elsewhere are the options of a client for another node. A node that does not
// know its own name sends clients to another port of the same host.
func (s *Store) elsewhere(from, to string) *redis.Options {
	o := s.opts
	host, port, err := net.SplitHostPort(to)
	if err == nil && host == "" {
		host, _, _ = net.SplitHostPort(from)
		to = net.JoinHostPort(host, port)
	}
	o.Addrs, o.PoolSize = []string{to}, 1
	return o.Simple()
}

// executed has the order executed by the node, by the script's name or, if it does not
// know that, with its text.
func (s *Store) executed(ctx context.Context, node *redis.Client, what order) outcome {
	done := s.pipelined(ctx, node, []*order{&what}, byName)[0]
	if redis.HasErrorPrefix(done.err, "NOSCRIPT") {
		done = s.pipelined(ctx, node, []*order{&what}, byText)[0]
	}
	return done
}

// primary is the client of the node that serves the key.
func (c *client) primary(ctx context.Context, key string) (*redis.Client, error) {
	switch u := c.UniversalClient.(type) {
	case *redis.ClusterClient:
		return u.MasterForKey(ctx, key)
	case *redis.Client:
		return u, nil
	default:
		return nil, fmt.Errorf("redisstore: no connection for WAIT with a %T", u)
	}
}
