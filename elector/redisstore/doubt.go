package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// doubt notices that the connections may lead to the wrong server. The address of a Redis
// (a service, a virtual IP, a name) may lead to another server by now, while connections
// that are open go on with the one before. A server that was demoted, or cut off from its
// replicas, answers there for ever, and never usefully.
type doubt struct {
	mu   sync.Mutex
	last time.Time // of such an answer; zero: a useful one came after it
	due  time.Time // when the connections are replaced, if another one comes
}

// grows notes a useless answer, where leases last so long, and reports whether to replace
// all connections: about half a lease after the first one, and again and again as long as
// they come. Processes that got their first one together do so at different times.
func (d *doubt) grows(lease time.Duration) bool {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.last) > max(2*lease, forgiven) || d.due.Sub(now) > lease { // the lease was not known, or was longer
		d.due = now.Add(someOf(lease))
	}
	d.last = now
	if now.Before(d.due) {
		return false
	}
	d.due = now.Add(someOf(lease))
	return true
}

// ends notes a useful answer.
func (d *doubt) ends() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = time.Time{}
}

// useless notes that the server refused, where leases last so long.
func (s *Store) useless(lease time.Duration) {
	if s.doubt.grows(lease) {
		s.reconnect()
	}
}

// forgiven is after how long without such an answer the next one is the first again: who
// only asks may ask rarely.
const forgiven = 30 * time.Second

// someOf is a time between a quarter and three quarters of d.
func someOf(d time.Duration) time.Duration { return d/4 + rand.N(d/2+1) }

// reconnect has all requests from now on sent over new connections, and ends the watches,
// which begin again over one.
func (s *Store) reconnect() {
	c := s.live.Load()
	if c == nil {
		return
	}
	if s.foreign {
		s.batches.senders.Go(func() { c.discard(s.batches.opening, s.batches.lanes) })
	} else {
		c.outlive()
		s.batches.lost(c, false)
	}
	s.hub.end(errMoved)
}

// errMoved ends watches whose connection may lead to the wrong server.
var errMoved = errors.New("redisstore: the server has been of no use for half a lease: connecting anew")

// outlive has every connection that is open taken for a dead one.
func (c *client) outlive() { c.dead.Add(1) }

// discard closes the free connections of somebody else's client, which has no method for
// that: a connection is closed on which a command could not be written. Newer versions of
// go-redis keep connections for batches apart, and do not count them: so many are closed
// as the store uses at one time.
func (c *client) discard(within time.Duration, lanes int) {
	c.eachPrimary(within, func(ctx context.Context, node *redis.Client) error {
		var emptying sync.WaitGroup
		for range lanes {
			emptying.Go(func() {
				defer func() { _ = recover() }() // a hook of somebody else's, which panics in requests, too
				_, _ = node.Pipelined(ctx, func(p redis.Pipeliner) error {
					return p.Process(ctx, timely{Cmd: redis.NewCmd(ctx, "ping", unwritable{})})
				})
				for range node.PoolStats().IdleConns {
					_ = node.Process(ctx, timely{Cmd: redis.NewCmd(ctx, "ping", unwritable{})})
				}
			})
		}
		emptying.Wait()
		return nil
	})
}

// unwritable is an argument that cannot be written, so that the connection is closed.
type unwritable struct{}

// MarshalBinary implements encoding.BinaryMarshaler.
func (unwritable) MarshalBinary() ([]byte, error) { return nil, errMoved }

// heeds notes what an answer says of the connections, and returns the answer.
func (s *Store) heeds(lease time.Duration, err error) error {
	switch {
	case err == nil:
		s.served.Store(true)
	case isReply(err) && !redis.HasErrorPrefix(err, "NOSCRIPT") && !aboutKeys(err) || errors.Is(err, ErrUnconfirmed):
		s.useless(max(lease, time.Second))
	}
	return err
}

// aboutKeys reports whether the server refused because of what the keys of the election
// hold. Such an answer says nothing of the server: the elections beside it go on, and their
// connections must stay.
func aboutKeys(err error) bool {
	return hasCode(err.Error(), "WRONGTYPE ") || hasCode(err.Error(), "COUNTER ")
}

// usual is how long a lease lasts where nothing is known of it: the elector's default.
const usual = 15 * time.Second

// seen notes what an answer says that tells who leads. A server on which nobody leads for
// long may be one of before.
func (n *names) seen(s *Store, l store.Leader) {
	if l.ID != "" {
		n.lasts.Store(max(n.lasts.Load(), int64(l.Remaining)))
		n.vacant.ends()
		return
	}
	lease := time.Duration(n.lasts.Load())
	if lease == 0 {
		lease = usual
	}
	if n.vacant.grows(max(lease, time.Second)) {
		s.reconnect()
	}
}

// granted notes the answer to an attempt, and returns it.
func (n *names) granted(g store.Grant, err error) (store.Grant, error) {
	if err == nil {
		n.vacant.ends()
	}
	return g, err
}
