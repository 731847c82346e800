package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

var errCut = errors.New("the link of this candidate was cut: it has crashed")

// link is a candidate's way to the server. To cut it is the nearest thing to
// killing the candidate's process: the kernel closes the connections of a
// process that dies, nothing more comes from it, and nobody is told.
type link struct {
	way   time.Duration // that a message takes, besides what it takes on this machine
	mu    sync.Mutex
	conns map[net.Conn]string // and their own addresses
	seen  map[string]bool     // every address there ever was
	cut   bool
}

func newLink(way time.Duration) *link {
	return &link{way: way, conns: map[net.Conn]string{}, seen: map[string]bool{}}
}

// dial opens a connection that breaks when the link is cut.
func (l *link) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = conn.Close() // nothing was sent on it
		return nil, errCut
	}
	own := conn.LocalAddr().String()
	if l.way > 0 {
		conn = far(conn, l.way)
	}
	l.conns[conn], l.seen[own] = own, true
	return &linked{Conn: conn, link: l}, nil
}

// sever ends everything that goes over the link, for good.
func (l *link) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for conn := range l.conns {
		_ = conn.Close() // as a kernel does, whatever it says
	}
	l.conns = nil
}

func (l *link) owns(addr string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[addr]
}

// open is the number of connections at present.
func (l *link) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

type linked struct {
	net.Conn
	link *link
}

func (c *linked) Close() error {
	c.link.mu.Lock()
	delete(c.link.conns, c.Conn)
	c.link.mu.Unlock()
	return c.Conn.Close()
}
