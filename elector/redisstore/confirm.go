package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ErrUnconfirmed is the outcome of a grant or renewal that fewer replicas have
// confirmed than Options.Replicas asks for. It took effect on the server that
// was asked, but may be lost, so nobody may believe in it.
var ErrUnconfirmed = errors.New("redisstore: too few replicas have confirmed the lease")

// write is run for a script whose effect must not be lost: with
// Options.Replicas it waits until so many replicas have it.
//
// WAIT counts the replicas that have everything which was written over its own
// connection, so it must follow the script on that one. It is sent along with
// it, which costs no round trip. In a cluster it has no key that would lead it
// to the right node: that node is asked.
func (s *Store) write(ctx context.Context, sc *script, keys []string, args ...any) (any, error) {
	if s.replicas == 0 {
		return s.run(ctx, sc, keys, args...)
	}
	return s.with(ctx, func(c *client) (any, error) {
		node, err := c.primary(ctx, keys[0])
		if err != nil {
			return nil, err
		}
		reply, confirmed, err := s.pipeline(ctx, node, sc.sha, true, keys, args)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			reply, confirmed, err = s.pipeline(ctx, node, sc.text, false, keys, args)
		}
		if err == nil && took(reply) && confirmed < int64(s.replicas) {
			return nil, fmt.Errorf("%w: %d of %d within %v", ErrUnconfirmed, confirmed, s.replicas, s.confirm)
		}
		return reply, err
	})
}

// pipeline sends a script, by its name or as text, and WAIT.
func (s *Store) pipeline(ctx context.Context, node *redis.Client, what string, byName bool, keys []string, args []any) (any, int64, error) {
	pipe := node.Pipeline()
	var reply *redis.Cmd
	if byName {
		reply = pipe.EvalSha(ctx, what, keys, args...)
	} else {
		reply = pipe.Eval(ctx, what, keys, args...)
	}
	wait := pipe.Do(ctx, "WAIT", s.replicas, s.confirm.Milliseconds())
	_, failed := pipe.Exec(ctx)
	if err := plain(reply.Err()); err != nil {
		return nil, 0, err
	}
	confirmed, err := wait.Int64()
	if err != nil {
		// The script was executed; how many have it, nobody said.
		return nil, 0, plain(errors.Join(err, failed))
	}
	return reply.Val(), confirmed, nil
}

// took tells whether the script wrote a lease, by its reply.
func took(reply any) bool {
	if fields, ok := reply.([]any); ok && len(fields) > 0 {
		reply = fields[0]
	}
	applied, ok := integer(reply)
	return ok && applied == 1
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
