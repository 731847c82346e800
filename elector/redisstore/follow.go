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

// order is one use of a script that writes a lease. A node that takes a slot over
// executes it only right after ASKING.
type order struct {
	script  *script
	keys    []string
	args    []any
	guard   string // its key
	protect string // as the script takes it
	asking  bool
}

// follow has the order executed by the node, or where that one sends it. The node that
// is named may be one that the cluster's client does not know yet, so it gets a
// client of its own: it happens while slots move, and no more.
func (s *Store) follow(ctx context.Context, c *client, node *redis.Client, what order, more int) (any, confirmation, error) {
	reply, got, err := s.confirmed(ctx, node, what)
	addr, asking := redirection(err)
	cluster, ok := c.UniversalClient.(*redis.ClusterClient)
	if !ok || addr == "" || more == 0 {
		return reply, got, err
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

// confirmed has the order executed by the node, by the script's name or, if it does not
// know that, with its text.
func (s *Store) confirmed(ctx context.Context, node *redis.Client, what order) (any, confirmation, error) {
	reply, got, err := s.pipeline(ctx, node, what, func(pipe redis.Pipeliner) *redis.Cmd {
		return pipe.EvalSha(ctx, what.script.sha, what.keys, what.args...)
	})
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, got, err = s.pipeline(ctx, node, what, func(pipe redis.Pipeliner) *redis.Cmd {
			return pipe.Eval(ctx, what.script.text, what.keys, what.args...)
		})
	}
	return reply, got, err
}

// pipeline sends a script, and asks who has what it wrote.
func (s *Store) pipeline(ctx context.Context, node *redis.Client, what order, run func(redis.Pipeliner) *redis.Cmd) (any, confirmation, error) {
	pipe := node.Pipeline()
	if what.asking {
		pipe.Do(ctx, "ASKING")
	}
	reply := run(pipe)
	answer := s.confirm.ask(ctx, pipe, what)
	_, _ = pipe.Exec(ctx) // each command has its own error
	if err := plain(reply.Err()); err != nil {
		return nil, confirmation{}, err
	}
	got, err := answer()
	if err != nil {
		// The script was executed; how many have it, nobody said.
		return nil, confirmation{}, plain(err)
	}
	return reply.Val(), got, nil
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
