package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Tap is a TCP relay that reads along: candidates connect to it in place of
// their Redis. It passes on all bytes as they come, and everything else that
// happens to a connection as well as a program can: the end of one direction, a
// reset, a peer that reads slowly, a Redis that cannot be reached (which is a
// connection that is reset at once).
type Tap struct {
	options  TapOptions
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// TapOptions say what a Tap connects.
type TapOptions struct {
	// Upstream is the address of the Redis, or of what leads there.
	Upstream string
	// Conn is called for each connection that is accepted.
	Conn func() *Conn
	// Note tells what is worth knowing: that a connection is not read any more,
	// and why. Called from several goroutines.
	Note func(text string)
	// Watch, if not nil, gets each command of the connection with the
	// address by which the Redis knows it, before it is sent on.
	Watch func(client net.Addr, args []string)

	_ struct{}
}

// NewTap starts a Tap on a port of the loopback interface. Close ends it.
func NewTap(o TapOptions) (*Tap, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wire: listen: %w", err)
	}
	t := &Tap{options: o, listener: listener, conns: map[net.Conn]bool{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.work.Go(t.accept)
	return t, nil
}

// Addr is where candidates connect.
func (t *Tap) Addr() string { return t.listener.Addr().String() }

// Close ends all connections. When it returns, nothing is reported any more.
func (t *Tap) Close() error {
	t.cancel()
	err := t.listener.Close()
	t.mu.Lock()
	for conn := range t.conns { // any order: all are closed
		reset(conn)
	}
	t.mu.Unlock()
	t.work.Wait()
	if err != nil {
		return fmt.Errorf("wire: close the tap: %w", err)
	}
	return nil
}

// acceptPause is how long nobody is let in after that failed.
const acceptPause = 10 * time.Millisecond

func (t *Tap) accept() {
	for {
		client, err := t.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // no descriptor is free, say
			select {
			case <-t.ctx.Done():
			case <-time.After(acceptPause):
			}
		default:
			t.work.Go(func() { t.relay(client) })
		}
	}
}

// track remembers a connection for Close. It reports false after Close.
func (t *Tap) track(conn net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		return false
	}
	t.conns[conn] = true
	return true
}

func (t *Tap) forget(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, conn)
}

// relay carries one connection to its end.
func (t *Tap) relay(client net.Conn) {
	defer t.forget(client)
	if !t.track(client) {
		reset(client)
		return
	}
	server, err := new(net.Dialer).DialContext(t.ctx, "tcp", t.options.Upstream)
	if err != nil {
		reset(client)
		return
	}
	defer t.forget(server)
	if !t.track(server) {
		reset(client)
		reset(server)
		return
	}
	r := t.newReader(server.LocalAddr())
	var both sync.WaitGroup
	both.Go(func() { pass(server, client, r.sent, func() {}) })
	both.Go(func() { pass(client, server, r.received, r.end) }) // after which no reply can come
	both.Wait()
	_, _ = client.Close(), server.Close() // the ends were passed on already
}

// pass carries one direction. Its end is passed on as an end, when ended has
// been called; anything else that goes wrong ends both connections with a reset.
func pass(to, from net.Conn, read func([]byte), ended func()) {
	defer ended() // at the latest
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			read(buffer[:n])
			if _, failed := to.Write(buffer[:n]); failed != nil {
				reset(to)
				reset(from)
				return
			}
		}
		if err != nil {
			ended()
		}
		switch {
		case errors.Is(err, io.EOF):
			if half, is := to.(*net.TCPConn); is {
				_ = half.CloseWrite() // it may be gone, which the other direction finds out
			}
			return
		case err != nil:
			reset(to)
			reset(from)
			return
		}
	}
}

// reset ends a connection so that its peer learns that it broke.
func reset(conn net.Conn) {
	if tcp, is := conn.(*net.TCPConn); is {
		_ = tcp.SetLinger(0) // what fails here is closed already
	}
	_ = conn.Close()
}

// reader reads along one connection, until it gets lost.
type reader struct {
	note func(string)

	mu       sync.Mutex
	pairs    pairing
	requests requests
	replies  replies
	lost     bool
}

func (t *Tap) newReader(client net.Addr) *reader {
	r := &reader{note: t.options.Note, pairs: pairing{conn: t.options.Conn()}}
	if t.options.Watch != nil {
		r.pairs.watch = func(args []string) { t.options.Watch(client, args) }
	}
	r.requests.emit, r.replies.emit = r.pairs.request, r.pairs.reply
	return r
}

func (r *reader) sent(data []byte)     { r.read(r.requests.feed, data) }
func (r *reader) received(data []byte) { r.read(r.replies.feed, data) }

// unreadable is why operations have no outcome of which the replies may have come.
const unreadable = "the connection could not be read on"

func (r *reader) read(feed func([]byte) error, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		return
	}
	if err := feed(data); err != nil {
		r.lost = true
		r.pairs.end(unreadable)
		r.pairs.conn.lost(unreadable)
		r.note(fmt.Sprintf("a connection is not read any more: %v", err))
	}
}

func (r *reader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = true
	r.pairs.end("the connection ended")
}
