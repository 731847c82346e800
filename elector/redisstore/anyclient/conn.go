package anyclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// addr is the address of both ends of a connection.
type addr struct{}

func (addr) Network() string { return "anyclient" }
func (addr) String() string  { return address }

// dialer opens connections that lead into the client.
func dialer(c Client) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return newConn(c), nil
	}
}

// conn is a connection as go-redis has it. What is written are commands, and what is read
// are the client's replies. Commands are carried out when somebody reads, since only then
// the time that they have is known. After the first SUBSCRIBE the connection is one for
// announcements, as a server's is.
type conn struct {
	client Client
	ctx    context.Context // done when the connection is closed or has failed
	cancel context.CancelFunc
	news   chan struct{} // holds an element when there may be more to read

	mu       sync.Mutex
	in       []byte     // the beginning of a command
	commands [][]string // to be carried out
	out      []byte     // to be read
	failed   error      // to be read after that
	deadline time.Time  // of reads; zero: none

	calls   map[string][]*call // of Subscribe, by channel, the newest last; nil: no SUBSCRIBE came
	answers []*answer          // that are owed, in the order of the requests
}

func newConn(c Client) *conn {
	ctx, cancel := context.WithCancel(context.Background())
	return &conn{client: c, ctx: ctx, cancel: cancel, news: make(chan struct{}, 1)}
}

// Write implements net.Conn. It never waits.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.failed != nil:
		return 0, c.failed
	case c.ctx.Err() != nil:
		return 0, net.ErrClosed
	}
	c.in = append(c.in, p...)
	rest := c.in
	for {
		command, after, err := cutCommand(rest)
		if errors.Is(err, errPart) {
			break
		}
		if err != nil {
			c.fail(err)
			return 0, err
		}
		rest = after
		if name := strings.ToLower(command[0]); c.calls != nil || name == "subscribe" {
			c.request(name, command[1:])
		} else {
			c.commands = append(c.commands, command)
		}
	}
	c.in = append(c.in[:0], rest...)
	return len(p), nil
}

// Read implements net.Conn. The commands that were written are given to the client with
// the deadline of this read.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	deadline := c.deadline
	c.mu.Unlock()
	ctx := c.ctx
	if !deadline.IsZero() {
		within, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		ctx = within
	}
	for {
		if n, err := c.take(ctx, p); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-c.news:
		case <-ctx.Done():
		}
	}
}

// take takes what there is to read, or has the commands carried out.
func (c *conn) take(ctx context.Context, p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.out) > 0:
		n := copy(p, c.out)
		if c.out = c.out[n:]; len(c.out) == 0 {
			c.out = nil
		}
		return n, nil
	case c.failed != nil:
		return 0, c.failed
	case c.ctx.Err() != nil:
		return 0, net.ErrClosed
	case ctx.Err() != nil:
		return 0, os.ErrDeadlineExceeded
	case len(c.commands) > 0:
		commands := c.commands
		c.commands = nil
		go c.carryOut(ctx, commands)
	}
	return 0, nil
}

// carryOut gives the commands to the client, and has the replies read.
func (c *conn) carryOut(ctx context.Context, commands [][]string) {
	replies, err := c.replies(ctx, commands)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < len(replies) && err == nil; i++ {
		err = c.write(unmarked(commands[i], replies[i]))
	}
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		c.fail(os.ErrDeadlineExceeded)
	default:
		c.fail(broken{err})
	}
}

// replies are those to the commands. With an error none of them counts: go-redis would not
// tell which of them came before it.
func (c *conn) replies(ctx context.Context, commands [][]string) (replies []any, err error) {
	defer func() {
		if v := recover(); v != nil { // nobody else would take it: the goroutine is the connection's own
			err = fmt.Errorf("the client panicked: %v", v)
		}
	}()
	if p, ok := c.client.(Pipeliner); ok && len(commands) > 1 && greeting(commands[0]) == nil {
		replies, err = p.Pipeline(ctx, commands)
		if err == nil && len(replies) != len(commands) {
			err = fmt.Errorf("the client has %d replies to %d commands", len(replies), len(commands))
		}
		return replies, err
	}
	for _, command := range commands {
		reply, err := greeting(command), error(nil)
		if reply == nil {
			reply, err = c.client.Do(ctx, command...)
		}
		if said := Error(""); errors.As(err, &said) {
			reply, err = said, nil
		}
		if err != nil {
			return replies, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// unmarked is a reply without the mark that RESP3 puts before texts for people. Some clients
// leave it there.
func unmarked(command []string, reply any) any {
	switch strings.ToLower(command[0]) {
	case "info", "client", "cluster":
		if text, is := reply.(string); is {
			return strings.TrimPrefix(text, "txt:")
		}
	}
	return reply
}

// greeting is the reply to a command with which go-redis opens a connection, nil to any
// other. The client's connections are opened already.
func greeting(command []string) any {
	switch strings.ToLower(command[0]) {
	case "hello": // then go-redis speaks RESP2
		return Error("ERR unknown command 'HELLO'")
	case "select":
		return "OK"
	default:
		return nil
	}
}

// write adds a reply to what is to be read. The caller holds mu.
func (c *conn) write(reply any) error {
	out, err := appendReply(c.out, reply)
	if err != nil {
		return err
	}
	c.out = out
	c.tell()
	return nil
}

// fail ends the connection for that reason, which is read after what is there. The caller
// holds mu.
func (c *conn) fail(err error) {
	if c.failed == nil && c.ctx.Err() == nil {
		c.failed = err
	}
	c.cancel()
	c.tell()
}

// tell wakes the reader.
func (c *conn) tell() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// broken is an error of the client that is no answer of the server. To go-redis and the
// store it is the end of a connection, whatever it wraps: a client that is go-redis itself
// has errors that they would take for answers, or for time that has run out.
type broken struct{ err error }

func (b broken) Error() string { return "anyclient: " + b.err.Error() }

// Is reports that the connection has ended.
func (broken) Is(target error) bool { return target == io.ErrUnexpectedEOF }

// Close implements net.Conn. It ends what the client does for the connection.
func (c *conn) Close() error {
	c.cancel()
	return nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn. It counts for the reads that begin after it.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

// SetWriteDeadline implements net.Conn. No write waits.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return addr{} }
