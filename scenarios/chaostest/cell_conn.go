package chaostest

import (
	"errors"
	"net"
	"sync"

	"github.com/recount-io/recount/sim/virtual"
)

var errRefused = errors.New("connection refused")

// cellConn is a candidate's end of a connection in virtual time.
type cellConn struct {
	net.Conn
	far    net.Conn // where what the candidate writes comes out
	cell   *cell
	number int
	opened chan bool     // has room for one
	more   chan struct{} // has room for one: something has come

	mu     sync.Mutex // never held while anything waits
	inbox  [][]byte
	broken bool
}

// take takes in what has come.
func (c *cellConn) take(came virtual.Came) {
	if came.What == virtual.Opened || came.What == virtual.Refused {
		c.opened <- came.What == virtual.Opened
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if came.What == virtual.Broken {
		c.broken = true
	} else {
		c.inbox = append(c.inbox, came.Data)
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// sends passes on what the candidate writes, until it closes the connection.
func (c *cellConn) sends() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.far.Read(buffer)
		if n > 0 {
			c.cell.does(virtual.Did{What: virtual.Sends, Conn: c.number, Data: append([]byte(nil), buffer[:n]...)})
		}
		if err != nil {
			c.cell.does(virtual.Did{What: virtual.Closes, Conn: c.number})
			return
		}
	}
}

// receives passes on what has come for the candidate.
func (c *cellConn) receives() {
	for range c.more {
		for {
			data, broken := c.next()
			if broken {
				_ = c.far.Close() // by which it reads that the connection has ended
				return
			}
			if data == nil {
				break
			}
			if _, err := c.far.Write(data); err != nil {
				return
			}
		}
	}
}

func (c *cellConn) next() (data []byte, broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.inbox) == 0 {
		return nil, c.broken
	}
	data = c.inbox[0]
	c.inbox = c.inbox[1:]
	return data, false
}

// Write implements net.Conn: what is written while the process is to stand still is sent
// when it goes on.
func (c *cellConn) Write(b []byte) (int, error) {
	c.cell.gate.Wait()
	return c.Conn.Write(b)
}

// ended reports whether the connection was ended from outside.
func (c *cellConn) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}
