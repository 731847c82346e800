package redisstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

// foreignLanes is how many connections of somebody else's pool the store keeps busy at
// the most.
const foreignLanes = 4

// foreignFar is how long an answer is waited for at the least on somebody else's client,
// of which it is not known how far away the server is: else every request that is given
// up would cost its connection.
const foreignFar = 500 * time.Millisecond

// FromClient returns a Store on a client that the program already has: its connections,
// hooks, limits, credentials. Everything that New promises holds, but for what follows.
// The client stays the caller's: Close leaves it alone, and it must live until the
// electors that use the store have ended and Close has returned.
//
// The client is one of [redis.NewClient], [redis.NewFailoverClient] (of a master, not
// ReplicaOnly) or [redis.NewClusterClient]. The error says what to set if the client
// would break a promise:
//
//   - it may not repeat a request by itself. From version 9.20 on go-redis has a way to
//     say so of each command; before, MaxRetries must be -1, and a cluster's client
//     repeats in any case;
//   - no call may hang for ever: ReadTimeout is set, or ContextTimeoutEnabled, which a
//     cluster's client needs in any case. Without the latter a request that is given up
//     keeps its connection until ReadTimeout is over;
//   - reads go to masters: no ReadOnly, RouteByLatency or RouteRandomly;
//   - nobody confirms in a cluster (Options.Replicas, Fsynced, FsyncedReplicas).
//
// New knows its connections, and that costs less. Here each renewal looks whether the
// server is still the one that granted (INFO, some microseconds at the server). A client
// that fails is never replaced: go-redis may go on for up to a second after the server has
// come back, and when its connections have died they are asked, and opened, beside the
// requests, with a PING. A connection that opens later than RequestTimeout is given up
// with its request, so RequestTimeout must cover the greeting (TLS, HELLO, AUTH, SELECT)
// and a round trip, and Retry as well if a Resign right after a reset is to succeed. After
// Close a call under way ends at its deadline or the client's time-outs, and the
// connection for announcements within ReadTimeout. The store uses up to 4 connections at a
// time, and one for announcements; a pool that others have emptied makes requests wait, so
// give a busy program's elector a client of its own. A Limiter or a hook that refuses a
// request is an outage to the elector.
func FromClient(c redis.UniversalClient, o Options) (*Store, error) {
	opts, err := foreignOptions(c)
	if err != nil {
		return nil, fmt.Errorf("redisstore: FromClient: %w", err)
	}
	s, err := newStore(opts, o)
	if err != nil {
		return nil, err
	}
	if s.clustered() && s.confirm.any() {
		return nil, errors.New("redisstore: FromClient: Options.Replicas, Fsynced and FsyncedReplicas need connections of the store's own in a cluster: use New")
	}
	s.foreign = true
	s.batches.lanes = min(s.batches.lanes, foreignLanes)
	one := newClient()
	one.UniversalClient = c
	one.far.Store(int64(foreignFar))
	s.live.Store(one)
	return s, nil
}

// foreignOptions are those of a client, as far as the store looks at them.
func foreignOptions(c redis.UniversalClient) (redis.UniversalOptions, error) {
	switch c := c.(type) {
	case *redis.Client:
		if c == nil {
			break
		}
		o := c.Options()
		switch {
		case o.MaxRetries > 0 && !saysOnce:
			return redis.UniversalOptions{}, fmt.Errorf("the client repeats requests up to %d times by itself, also those that took effect: set MaxRetries to -1, or use go-redis 9.20 or newer", o.MaxRetries)
		case o.ReadTimeout <= 0 && !o.ContextTimeoutEnabled:
			return redis.UniversalOptions{}, errors.New("a request that has no answer would keep its connection for ever: set ContextTimeoutEnabled, or a ReadTimeout")
		}
		return redis.UniversalOptions{
			Addrs: []string{o.Addr}, DB: o.DB, Username: o.Username, PoolSize: o.PoolSize, DialTimeout: o.DialTimeout, ReadTimeout: foreignPatience(o.ReadTimeout),
		}, nil
	case *redis.ClusterClient:
		if c == nil {
			break
		}
		o := c.Options()
		switch {
		case !saysOnce:
			return redis.UniversalOptions{}, errors.New("a cluster's client of this go-redis repeats requests by itself, also those that took effect: use 9.20 or newer, or New")
		case !o.ContextTimeoutEnabled:
			return redis.UniversalOptions{}, errors.New("the client of a cluster ignores the deadlines of requests: set ContextTimeoutEnabled")
		case o.ReadOnly || o.RouteByLatency || o.RouteRandomly:
			return redis.UniversalOptions{}, errors.New("the client reads from replicas, which lag behind: leave ReadOnly, RouteByLatency and RouteRandomly out")
		}
		return redis.UniversalOptions{
			Addrs: o.Addrs, IsClusterMode: true, Username: o.Username, PoolSize: o.PoolSize, DialTimeout: o.DialTimeout, ReadTimeout: foreignPatience(o.ReadTimeout),
		}, nil
	case nil:
	default:
		return redis.UniversalOptions{}, fmt.Errorf("a %T is none of *redis.Client and *redis.ClusterClient: of others it is not known that they send a script once, and to a master: give the client that it is made of, or use New", c)
	}
	return redis.UniversalOptions{}, errors.New("there is no client: make one with redis.NewClient, or use New")
}

// foreignPatience is for how long an answer is waited for where the client would wait for ever.
func foreignPatience(read time.Duration) time.Duration {
	if read <= 0 {
		return 3 * time.Second
	}
	return read
}

// saysOnce reports whether go-redis can be told of a command not to repeat it.
var saysOnce = func() bool {
	_, can := reflect.TypeFor[redis.Cmder]().MethodByName("NoRetry")
	return can
}()

// NoRetry is what go-redis asks from version 9.20 on: a script may have been executed
// although its answer is missing, and only the elector knows what to make of that.
func (timely) NoRetry() bool { return true }

// inTime calls f, and leaves it behind when ctx is done: somebody else's client may not
// look at that.
func inTime[T any](ctx context.Context, foreign bool, f func() (T, error)) (T, error) {
	if !foreign {
		return f()
	}
	type outcome struct {
		value T
		err   error
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if v := recover(); v != nil { // a hook's; nobody else would take it
				o.err = fmt.Errorf("redisstore: the Redis client panicked: %v", v)
			}
			ended <- o
		}()
		o.value, o.err = f()
	}()
	select {
	case o := <-ended:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
