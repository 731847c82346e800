package wire

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// Along returns a connection to a Redis that is conn, but for one thing: what is
// written to it is read along as commands, and what is read from it as their replies.
// It is for programs that dial: what a Tap is between two processes, this is within one.
// note gets what is worth knowing: that the connection is not read any more, and
// why.
func Along(conn net.Conn, reads *Conn, note func(text string)) net.Conn {
	return &along{Conn: conn, stream: NewStream(reads, note)}
}

// along is a connection that is read along.
type along struct {
	net.Conn
	stream *Stream
}

var _ syscall.Conn = (*along)(nil)

// Read implements net.Conn.
func (a *along) Read(b []byte) (int, error) {
	n, err := a.Conn.Read(b)
	if n > 0 {
		a.stream.Received(b[:n])
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		a.stream.End()
	}
	return n, err
}

// Write implements net.Conn.
func (a *along) Write(b []byte) (int, error) {
	a.stream.Sent(b)
	return a.Conn.Write(b)
}

// Close implements net.Conn.
func (a *along) Close() error {
	a.stream.End()
	return a.Conn.Close()
}

// SyscallConn implements syscall.Conn: by it some clients find out whether a
// connection that was idle is still there.
func (a *along) SyscallConn() (syscall.RawConn, error) {
	if conn, is := a.Conn.(syscall.Conn); is {
		return conn.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
