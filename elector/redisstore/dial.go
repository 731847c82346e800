package redisstore

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// dialFunc opens a connection, as redis.UniversalOptions.Dialer does.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// keepAlive is how a connection that nobody uses is asked whether it lives.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}

// dialer is go-redis's own one, except that it insists, and that it gives up a TLS
// handshake when its context is done.
func dialer(timeout time.Duration, config *tls.Config) dialFunc {
	d := &net.Dialer{Timeout: timeout, KeepAliveConfig: keepAlive}
	dial := insistent(d.DialContext)
	if config == nil {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return handshake(ctx, conn, addr, config)
	}
}

// handshake makes a TLS connection of one that is open, or closes it.
func handshake(ctx context.Context, conn net.Conn, addr string, config *tls.Config) (net.Conn, error) {
	config = config.Clone()
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			host = addr
		}
		config.ServerName = host
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // its error would say less
		return nil, err
	}
	return secure, nil
}

// firstPause is how long insistent waits for a connection before it tries to open
// another one beside it. Each further pause is twice as long.
const firstPause = 250 * time.Millisecond

// insistent is dial, but one attempt whose first packet was lost does not hold up the
// others: the kernel repeats that packet after one second, then after two more, and so
// on, whether the way is free again or not. That may be the whole of a lease. The first
// attempt that comes to anything is it, and the others are given up.
func insistent(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type result struct {
			conn net.Conn
			err  error
		}
		results := make(chan result)
		attempt := func() {
			var r result
			defer func() {
				if v := recover(); v != nil {
					r = result{err: fmt.Errorf("redisstore: the dialer panicked: %v", v)}
				}
				select {
				case results <- r:
				case <-ctx.Done():
					if r.conn != nil {
						_ = r.conn.Close() // another one was first
					}
				}
			}()
			r.conn, r.err = dial(ctx, network, addr)
		}
		go attempt()
		pause := firstPause
		timer := time.NewTimer(pause)
		defer timer.Stop()
		for {
			select {
			case r := <-results:
				return r.conn, r.err
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-timer.C:
				go attempt()
				pause *= 2
				timer.Reset(pause)
			}
		}
	}
}
