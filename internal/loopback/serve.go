package loopback

import (
	"context"
	"net"
)

// Serve listens on a free port of 127.0.0.1 until ctx is done, and returns its address. It
// calls handle for each connection, in a goroutine of its own. Handle closes the
// connection.
func Serve(ctx context.Context, handle func(net.Conn)) (addr string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() }) // ends the loop
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go handle(conn)
		}
	}()
	return l.Addr().String(), nil
}
