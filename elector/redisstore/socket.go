package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// socket is a connection of a client. It reports its death, since whatever ended it may have
// ended the others: a server that restarts, a proxy, CLIENT KILL.
type socket struct {
	net.Conn
	client *client
	lost   func() // called once, when the connection has died
	age    int64  // see client.dead
	dead   atomic.Bool
}

// sockets wraps dial for the client, whose connections call lost when they die.
func (c *client) sockets(dial dialFunc, lost func()) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		age := c.dead.Load() + 1
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &socket{Conn: conn, client: c, lost: lost, age: age}, nil
	}
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err != nil {
		s.failed(err)
	}
	return n, err
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	if err != nil {
		s.failed(err)
	}
	return n, err
}

// failed reports the death of the connection, unless the error has another reason: nothing
// came in time, or the connection was closed here.
func (s *socket) failed(err error) {
	if isTimeout(err) || errors.Is(err, net.ErrClosed) || !s.dead.CompareAndSwap(false, true) {
		return
	}
	dead := &s.client.dead
	for last := dead.Load(); last < s.age && !dead.CompareAndSwap(last, s.age); last = dead.Load() {
	}
	s.lost()
}

var errOutlived = errors.New("redisstore: a connection of the same age has died")

// SyscallConn implements syscall.Conn. go-redis looks at the descriptor of an idle
// connection before it uses it, and drops the connection if that has ended. A connection is
// also dropped when one of its age has died: its own end may be on the way, or cannot be
// seen, as connections of TLS have no descriptor.
func (s *socket) SyscallConn() (syscall.RawConn, error) {
	if s.age <= s.client.dead.Load() {
		return nil, errOutlived
	}
	if conn, ok := s.Conn.(syscall.Conn); ok {
		return conn.SyscallConn()
	}
	return unseen{}, nil
}

// unseen is a descriptor at which nobody can look.
type unseen struct{}

func (unseen) Control(func(uintptr)) error    { return nil }
func (unseen) Read(func(uintptr) bool) error  { return nil }
func (unseen) Write(func(uintptr) bool) error { return nil }

// unsent is an argument that cannot be written, so a command that has it is not sent.
// go-redis opens a connection for the command, takes the error for a reply, and keeps the
// connection.
type unsent struct{}

// MarshalBinary implements encoding.BinaryMarshaler.
func (unsent) MarshalBinary() ([]byte, error) { return nil, redis.Nil }

// reach opens a connection, unless one is open and free. It sends nothing but the greeting.
func (c *client) reach(within time.Duration) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("redisstore: the Redis client panicked: %v", v)
		}
	}()
	ctx, cancel := context.WithTimeout(c.ctx, within)
	defer cancel()
	opening := &joint{Context: ctx, values: ctx, client: c, begun: time.Now()}
	if err := c.Process(opening, redis.NewCmd(opening, "ping", unsent{})); !errors.Is(err, redis.Nil) {
		return err
	}
	return nil
}

// revive sends a PING to every node on the connections that were open, or on so many, so that
// dead ones are dropped and others opened beside the requests. It is sent as batches are,
// for which newer versions of go-redis keep connections apart, and to those left over.
func (c *client) revive(within time.Duration, lanes int) {
	c.eachPrimary(within, func(ctx context.Context, node *redis.Client) error {
		conns := max(2, int(node.PoolStats().TotalConns))
		var asking sync.WaitGroup
		for range min(conns, lanes) {
			asking.Go(func() {
				defer func() { _ = recover() }() // a hook of somebody else's, which panics in requests, too
				for range max(conns, node.Options().PoolSize) {
					_, err := node.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Ping(ctx).Err() })
					if !died(err) {
						break
					}
				}
				for node.PoolStats().IdleConns > 0 && died(node.Ping(ctx).Err()) {
					continue
				}
			})
		}
		asking.Wait()
		return nil
	})
}

// eachPrimary calls f with the client of each primary, for so long.
func (c *client) eachPrimary(within time.Duration, f func(ctx context.Context, node *redis.Client) error) {
	ctx, cancel := context.WithTimeout(c.ctx, within)
	defer cancel()
	switch one := c.UniversalClient.(type) {
	case *redis.Client:
		_ = f(ctx, one)
	case *redis.ClusterClient:
		_ = one.ForEachMaster(ctx, f) // a cluster that cannot be asked fails requests, too
	}
}

// died reports whether the error is the end of a connection.
func died(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
