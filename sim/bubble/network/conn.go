package network

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// flag is what a message says besides its bytes.
type flag uint8

const (
	flagFIN flag = 1 << iota // nothing comes after it
	flagRST                  // the connection is no more
)

// message is what one write, or the end of a connection, sends.
type message struct {
	flag  flag
	lost  bool // it arrives when it was sent again
	held  bool // its sender stands still: it was not sent yet
	sent  time.Time
	at    time.Time // of its arrival
	bytes []byte
}

// pair are the two ends of a connection.
type pair struct {
	link           *Link
	client, server *Conn
	target         Target
	stranded       bool
}

// Conn is one end of a connection. It implements net.Conn. One goroutine may
// read at a time.
type Conn struct {
	pair  *pair
	peer  *Conn
	way   Direction  // that it writes in
	draw  *rand.Rand // for what it writes
	late  *rand.Rand // for its deadlines
	owner *Endpoint  // nil for a server's end

	wake  chan struct{} // something has changed for who reads; buffered
	timer *time.Timer   // wakes who reads when something arrives
	limit *time.Timer   // wakes who reads when the deadline has come

	// Guarded by the link's mutex.
	inbox    []message // in the order of their arrival
	last     time.Time // arrival of what it wrote last
	deadline [2]time.Time
	closed   bool
	noticed  time.Time // when who reads notices that it was closed
	waits    bool      // somebody reads, and waits
	alarm    time.Time // for which the timer is set; zero: for none
	limited  time.Time // for which limit was set last
	ended    error     // that reads end with: io.EOF, or a reset
}

const (
	reading = iota
	writing
)

// lateness is by how much a deadline is late, at the most.
const lateness = 50 * time.Microsecond

var _ net.Conn = (*Conn)(nil)

// newPair makes a connection of the n-th dial.
func newPair(l *Link, n uint64, owner *Endpoint) *pair {
	p := &pair{link: l}
	end := func(way Direction, owner *Endpoint) *Conn {
		return &Conn{
			pair: p, way: way, owner: owner, wake: make(chan struct{}, 1),
			draw: rand.New(rand.NewPCG(l.seed, 8*n+2+uint64(way))),
			late: rand.New(rand.NewPCG(l.seed, 8*n+4+uint64(way))),
		}
	}
	p.client, p.server = end(Up, owner), end(Down, nil)
	p.client.peer, p.server.peer = p.server, p.client
	return p
}

// signal wakes who reads.
func (c *Conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// send puts a message on its way.
func (c *Conn) send(now time.Time, m message) {
	m.sent = now
	switch l := c.pair.link; {
	case c.owner != nil && c.owner.still && !c.owner.gone:
		m.held = true
	case c.pair.stranded || !l.passes(c.way):
		m.lost = true
	default:
		m.at = c.arrival(now.Add(l.travel(c.way, len(m.bytes), c.draw, now)))
	}
	c.peer.inbox = append(c.peer.inbox, m)
	if len(c.peer.inbox) == 1 && !m.held && !m.lost {
		c.peer.expect(m.at, now)
	}
}

// expect wakes who reads when the next message arrives, and not before: that is one
// change of goroutines for each message, of which a run has many.
func (c *Conn) expect(at, now time.Time) {
	if c.waits && (c.alarm.IsZero() || at.Before(c.alarm)) {
		c.alarm = at
		c.timer.Reset(at.Sub(now))
	}
}

// arrival is when a message arrives that would arrive then if it were alone.
func (c *Conn) arrival(at time.Time) time.Time {
	if !at.After(c.last) {
		at = c.last.Add(time.Nanosecond)
	}
	c.last = at
	return at
}

// swallow makes the link's hole swallow what is on its way.
func (p *pair) swallow(now time.Time) {
	for _, c := range []*Conn{p.client, p.server} {
		if !p.stranded && p.link.passes(c.way) {
			continue
		}
		for i := range c.peer.inbox {
			if m := &c.peer.inbox[i]; !m.held && m.at.After(now) {
				m.lost = true
			}
		}
		c.last = time.Time{}
	}
}

// The times at which TCP sends again what was not acknowledged: after a first
// time-out, and each time after twice as long, but for a longest one.
const (
	firstResend   = 200 * time.Millisecond
	longestResend = 2 * time.Minute
)

// resend sends what was lost, at the next time at which TCP would.
func (p *pair) resend(now time.Time) {
	if p.stranded {
		return
	}
	for _, c := range []*Conn{p.client, p.server} {
		var again time.Time
		for i := range c.peer.inbox {
			m := &c.peer.inbox[i]
			if !m.lost || !p.link.passes(c.way) {
				continue
			}
			if again.IsZero() { // what comes behind the oldest goes with it
				again = nextResend(m.sent, now)
			}
			m.lost = false
			m.at = c.arrival(again.Add(p.link.travel(c.way, len(m.bytes), c.draw, again)))
		}
		c.peer.signal()
	}
}

// nextResend is when that is sent again, at now or later, which was sent then.
func nextResend(sent, now time.Time) time.Time {
	at := sent
	for wait := firstResend; at.Before(now); wait = min(2*wait, longestResend) {
		at = at.Add(wait)
	}
	return at
}

// end ends the connection on both ends.
func (p *pair) end(now time.Time, how flag) {
	for _, c := range []*Conn{p.client, p.server} {
		c.peer.inbox = slices.DeleteFunc(c.peer.inbox, func(m message) bool { return m.lost })
		at := c.arrival(now.Add(p.link.travel(c.way, 0, c.draw, now)))
		c.peer.inbox = append(c.peer.inbox, message{flag: how, sent: now, at: at})
		c.peer.signal()
	}
}

// vanish closes the end as the system does for a process that was killed.
func (c *Conn) vanish(now time.Time) {
	if c.closed {
		return
	}
	c.closed = true
	// A caller that closes many connections at one moment, in any order, wakes their
	// readers one after the other.
	c.noticed = now.Add(upTo(c.late, lateness))
	c.inbox = nil
	c.send(now, message{flag: flagFIN})
	c.signal()
	c.pair.forget()
}

// forget drops the pair from its link once no end needs it: one that is closed
// may have sent what is still to be sent again.
func (p *pair) forget() {
	if !p.client.closed || !p.server.closed {
		return
	}
	p.link.pairs = slices.DeleteFunc(p.link.pairs, func(other *pair) bool { return other == p })
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	for {
		n, wait, err := c.take(b)
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		if wait {
			select {
			case <-c.wake:
			case <-c.timer.C:
			}
		}
	}
}

// take reads what has arrived, or tells to wait for it.
func (c *Conn) take(b []byte) (n int, wait bool, err error) {
	l := c.pair.link
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	c.waits = false
	switch {
	case c.closed && now.Before(c.noticed):
		return 0, c.until(c.noticed, now), nil
	case c.closed:
		return 0, false, c.fails("read", net.ErrClosed)
	case c.owner != nil && c.owner.still:
		return 0, c.until(time.Time{}, now), nil
	case c.ended == nil && len(c.inbox) > 0 && c.inbox[0].arrived(now):
		return c.first(b), false, c.endOf("read")
	case c.ended != nil:
		return 0, false, c.endOf("read")
	case c.past(reading, now):
		return 0, false, c.fails("read", os.ErrDeadlineExceeded)
	}
	c.limitTo(c.deadline[reading], now)
	var at time.Time
	if len(c.inbox) > 0 && !c.inbox[0].lost && !c.inbox[0].held {
		at = c.inbox[0].at
	}
	return 0, c.until(at, now), nil
}

// limitTo has who reads woken at the deadline, or before. A reader mostly has another
// one each time, later than the last, and needs none of them: so the timer stays as
// it is set until it fires. It is not the one for arrivals: to set a timer to an
// earlier time, the runtime looks at every timer that there is.
func (c *Conn) limitTo(deadline, now time.Time) {
	switch {
	case deadline.IsZero() || c.limited.After(now) && !c.limited.After(deadline):
	case c.limit == nil:
		c.limit, c.limited = time.AfterFunc(deadline.Sub(now), c.signal), deadline
	default:
		c.limit.Reset(deadline.Sub(now))
		c.limited = deadline
	}
}

// until makes who reads wait: until then, or for ever if that is zero, unless
// something changes before.
func (c *Conn) until(at, now time.Time) bool {
	c.waits, c.alarm = true, at
	switch {
	case at.IsZero() && c.timer == nil:
		c.timer = time.NewTimer(time.Hour)
		c.timer.Stop()
	case at.IsZero():
		c.timer.Stop()
	case c.timer == nil:
		c.timer = time.NewTimer(at.Sub(now))
	default:
		c.timer.Reset(at.Sub(now))
	}
	return true
}

func (m *message) arrived(now time.Time) bool { return !m.lost && !m.held && !m.at.After(now) }

// first takes from the first message.
func (c *Conn) first(b []byte) int {
	m := &c.inbox[0]
	n := copy(b, m.bytes)
	if m.bytes = m.bytes[n:]; len(m.bytes) > 0 {
		return n
	}
	switch {
	case m.flag&flagRST != 0:
		c.ended = syscall.ECONNRESET
	case m.flag&flagFIN != 0:
		c.ended = io.EOF
	}
	*m = message{}
	if c.inbox = c.inbox[1:]; len(c.inbox) == 0 {
		c.inbox = nil
	}
	return n
}

func (c *Conn) endOf(op string) error {
	if c.ended == nil || errors.Is(c.ended, io.EOF) {
		return c.ended
	}
	return c.fails(op, os.NewSyscallError(op, c.ended))
}

func (c *Conn) past(what int, now time.Time) bool {
	return !c.deadline[what].IsZero() && !now.Before(c.deadline[what])
}

// Write implements net.Conn. It never blocks.
func (c *Conn) Write(b []byte) (int, error) {
	l := c.pair.link
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case c.closed:
		return 0, c.fails("write", net.ErrClosed)
	case errors.Is(c.ended, syscall.ECONNRESET):
		return 0, c.endOf("write")
	case c.past(writing, now):
		return 0, c.fails("write", os.ErrDeadlineExceeded)
	case c.peer.closed: // nobody reads it any more
		return len(b), nil
	}
	c.send(now, message{bytes: slices.Clone(b)})
	return len(b), nil
}

// Close implements net.Conn. What was written before arrives all the same.
func (c *Conn) Close() error {
	l := c.pair.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed {
		return c.fails("close", net.ErrClosed)
	}
	c.vanish(time.Now())
	return nil
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadline(t, reading, writing) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(t, reading) }

// SetWriteDeadline implements net.Conn. As no write blocks, it matters only if
// it is past before one begins.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(t, writing) }

func (c *Conn) setDeadline(t time.Time, which ...int) error {
	l := c.pair.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed {
		return c.fails("set", net.ErrClosed)
	}
	if !t.IsZero() {
		// As timers are, and so that others that wait for that moment come first, such as
		// the context that it is taken from.
		t = t.Add(time.Nanosecond + upTo(c.late, lateness))
	}
	for _, what := range which {
		c.deadline[what] = t
	}
	c.signal()
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return address(c.way) }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return address(1 - c.way) }

// address is where an end is.
type address Direction

func (address) Network() string { return "tcp" }

func (a address) String() string {
	if Direction(a) == Up {
		return "candidate"
	}
	return "server:6379"
}

func (c *Conn) fails(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}
