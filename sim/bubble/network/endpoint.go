package network

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/recount-io/recount/faults"
)

// Endpoint is one process's hold on a link: it dials, stands still, goes on, and
// dies.
type Endpoint struct {
	link *Link

	// Guarded by the link's mutex.
	still   bool
	gone    bool
	changed chan struct{} // closed and replaced when that changes
}

// Endpoint returns the hold of a new process.
func (l *Link) Endpoint() *Endpoint { return &Endpoint{link: l, changed: make(chan struct{})} }

// firstSYN is after what time a connection's first message is sent again; then
// each time after twice as long.
const firstSYN = time.Second

// Dial opens a connection: it takes a round trip. On a link that swallows its
// messages it waits until ctx is done, as a caller must ask for, or the link is
// mended.
func (e *Endpoint) Dial(ctx context.Context) (net.Conn, error) {
	l := e.link
	l.mu.Lock()
	l.dials++
	n := l.dials
	l.mu.Unlock()
	draw := rand.New(rand.NewPCG(l.seed, 8*n))
	for began, wait := time.Now(), firstSYN; ; wait *= 2 {
		if err := e.awake(ctx); err != nil {
			return nil, dialError(err)
		}
		trip, err := e.trip(draw)
		if err != nil {
			return nil, err
		}
		if trip >= 0 {
			if err := sleep(ctx, trip); err != nil {
				return nil, dialError(err)
			}
			if conn, err := e.connect(n); conn != nil || err != nil {
				return conn, err
			}
		}
		if err := sleep(ctx, time.Until(began.Add(wait))); err != nil {
			return nil, dialError(err)
		}
		began = began.Add(wait)
	}
}

// opaque is a connection whose descriptor nobody can look at.
type opaque struct{ net.Conn }

// DialSecure is Dial of a connection as that of TLS is: its handshake takes another round
// trip, and nobody can look at its descriptor.
func (e *Endpoint) DialSecure(ctx context.Context) (net.Conn, error) {
	conn, err := e.Dial(ctx)
	if err != nil {
		return nil, err
	}
	trip := e.link.Probe(Up, 0) + e.link.Probe(Down, 0)
	if up, down, _ := e.link.Passing(); !up || !down {
		trip = time.Hour
	}
	if err := sleep(ctx, trip); err != nil {
		_ = conn.Close()
		return nil, dialError(err)
	}
	return opaque{conn}, nil
}

// trip is how long a round trip takes; below 0: for ever.
func (e *Endpoint) trip(draw *rand.Rand) (time.Duration, error) {
	l := e.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.gone {
		return 0, dialError(net.ErrClosed)
	}
	if !l.passes(Up) || !l.passes(Down) {
		return -1, nil
	}
	now := time.Now()
	return l.travel(Up, 0, draw, now) + l.travel(Down, 0, draw, now), nil
}

// connect makes the connection, or tells why there is none; nil and nil: its
// messages were lost.
func (e *Endpoint) connect(n uint64) (net.Conn, error) {
	l := e.link
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case e.gone:
		return nil, dialError(net.ErrClosed)
	case !l.open() || !l.target.Open():
		return nil, dialError(os.NewSyscallError("connect", refusal(l)))
	case !l.passes(Up) || !l.passes(Down):
		return nil, nil //nolint:nilnil // neither a connection nor a refusal
	}
	p := newPair(l, n, e)
	p.target = l.target
	l.pairs = append(l.pairs, p)
	l.serving.Go(func() { p.target.Serve(p.server) })
	return p.client, nil
}

func refusal(l *Link) error {
	if l.cut == faults.CutReset {
		return syscall.ECONNRESET
	}
	return syscall.ECONNREFUSED
}

// awake waits while the process stands still.
func (e *Endpoint) awake(ctx context.Context) error {
	for {
		e.link.mu.Lock()
		still, changed := e.still && !e.gone, e.changed
		e.link.mu.Unlock()
		if !still {
			return ctx.Err()
		}
		<-changed
	}
}

// Stand makes the process stand still: it receives nothing, and what it sends is
// sent when it goes on.
func (e *Endpoint) Stand() {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	e.still = true
	e.change()
}

// GoOn lets the process go on.
func (e *Endpoint) GoOn() {
	l := e.link
	l.mu.Lock()
	defer l.mu.Unlock()
	e.still = false
	e.change()
	now := time.Now()
	for _, p := range l.pairs {
		if p.client.owner != e {
			continue
		}
		p.client.signal()
		for i := range p.server.inbox {
			if m := &p.server.inbox[i]; m.held {
				m.held, m.sent, m.lost = false, now, p.stranded || !l.passes(Up)
				if !m.lost {
					m.at = p.client.arrival(now.Add(l.travel(Up, len(m.bytes), p.client.draw, now)))
				}
			}
		}
		p.server.signal()
	}
}

// Vanish ends the process without warning: its connections are closed by the
// system, which goes on sending what it was given.
func (e *Endpoint) Vanish() {
	l := e.link
	l.mu.Lock()
	defer l.mu.Unlock()
	e.gone, e.still = true, false
	e.change()
	now := time.Now()
	for _, p := range slices.Clone(l.pairs) {
		if p.client.owner == e {
			p.drop()
			p.client.vanish(now)
		}
	}
}

// drop forgets what the client was about to send when it stood still.
func (p *pair) drop() {
	p.server.inbox = slices.DeleteFunc(p.server.inbox, func(m message) bool { return m.held })
}

func (e *Endpoint) change() {
	close(e.changed)
	e.changed = make(chan struct{})
}

func dialError(err error) error {
	if err == context.DeadlineExceeded { //nolint:errorlint // as package net has it: it is never wrapped here
		err = os.ErrDeadlineExceeded
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: address(Down), Err: err}
}

// sleep waits for d, or until ctx is done, whose error it returns then.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
