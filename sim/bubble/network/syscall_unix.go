//go:build unix

package network

import (
	"fmt"
	"sync"
	"syscall"
	"time"
)

// Redis clients look at an idle connection's descriptor, to learn whether it has
// ended, before they use it again. The descriptor that they get here is one of
// three sockets of the machine's, which are what the connection is: idle, ended,
// or with something to read. They stay as they are: who looks must only peek.

var _ syscall.Conn = (*Conn)(nil)

// SyscallConn implements syscall.Conn.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	three, err := sockets()
	if err != nil {
		return nil, err
	}
	return three[c.look()], nil
}

// Descriptor is what SyscallConn returns of a connection with nothing to read, or of one
// that has ended.
func Descriptor(ended bool) (syscall.RawConn, error) {
	three, err := sockets()
	if err != nil {
		return nil, err
	}
	if ended {
		return three[looksEnded], nil
	}
	return three[looksIdle], nil
}

// What a connection looks like.
const (
	looksIdle = iota
	looksEnded
	looksReadable
)

// look is what the connection looks like now.
func (c *Conn) look() int {
	l := c.pair.link
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.closed || c.ended != nil:
		return looksEnded
	case len(c.inbox) == 0 || !c.inbox[0].arrived(time.Now()) || c.owner != nil && c.owner.still:
		return looksIdle
	case c.inbox[0].flag != 0:
		return looksEnded
	default:
		return looksReadable
	}
}

// sockets are a socket with nothing to read, one whose other end is closed, and
// one with a byte to read. The process has them for as long as it lives.
var sockets = sync.OnceValues(func() (three [3]socket, err error) {
	for i := range three {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			return three, fmt.Errorf("network: a pair of sockets: %w", err)
		}
		three[i] = socket(pair[0])
		switch i {
		case looksEnded:
			err = syscall.Close(pair[1])
		case looksReadable:
			_, err = syscall.Write(pair[1], []byte{0})
		}
		if err != nil {
			return three, fmt.Errorf("network: a pair of sockets: %w", err)
		}
	}
	return three, nil
})

// socket is a descriptor as a syscall.RawConn.
type socket int

func (s socket) Control(f func(fd uintptr)) error {
	f(uintptr(s))
	return nil
}

func (s socket) Read(f func(fd uintptr) bool) error {
	f(uintptr(s))
	return nil
}

func (s socket) Write(f func(fd uintptr) bool) error { return s.Read(f) }
