package network

import (
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// Direction is one of the two ways of a link.
type Direction int

// The directions.
const (
	Up   Direction = iota // from who dials
	Down                  // to who dials
)

// dither is by how much a message's time differs at the least, at the most: in a
// network without jitter, too, no two messages arrive at one moment.
const dither = 10 * time.Microsecond

// Target is what a link leads to.
type Target interface {
	// Open reports whether connections are accepted.
	Open() bool
	// Serve serves a connection, and closes it. It is called on a goroutine of
	// the connection's own.
	Serve(conn net.Conn)
}

// Link is the way from one candidate to one server, and what faults have done to
// it. It is safe for concurrent use.
type Link struct {
	seed    uint64
	network sim.Network
	target  Target
	serving sync.WaitGroup

	mu        sync.Mutex // never held while anything waits
	cut       faults.Cut // "" if it is not
	delay     time.Duration
	jitter    time.Duration
	kilobytes int // a second; 0: no limit
	free      [2]time.Time
	dials     uint64
	pairs     []*pair // that live, in the order of their dials
}

// NewLink returns the way to the target over the network. The seed is the link's
// own: links with one seed draw the same times.
func NewLink(seed uint64, network sim.Network, target Target) *Link {
	return &Link{seed: seed, network: network, target: target}
}

// passes reports whether messages of the direction arrive.
func (l *Link) passes(d Direction) bool {
	switch l.cut {
	case faults.CutBoth:
		return false
	case faults.CutRequests:
		return d != Up
	case faults.CutReplies:
		return d != Down
	default:
		return true
	}
}

// travel is how long a message of so many bytes takes.
func (l *Link) travel(d Direction, size int, draw *rand.Rand, now time.Time) time.Duration {
	n := &l.network
	t := n.Latency + upTo(draw, n.Jitter+dither)
	if n.SpikeRate > 0 && draw.IntN(n.SpikeRate) == 0 {
		t += upTo(draw, n.Spike)
	}
	if n.LossRate > 0 && draw.IntN(n.LossRate) == 0 {
		t += sim.Resend
	}
	if l.delay > 0 {
		t += l.delay - l.jitter + upTo(draw, 2*l.jitter)
	}
	if l.kilobytes > 0 {
		begin := now
		if l.free[d].After(begin) {
			begin = l.free[d]
		}
		l.free[d] = begin.Add(time.Duration(size) * time.Second / time.Duration(1000*l.kilobytes))
		t += l.free[d].Sub(now)
	}
	return t
}

func upTo(draw *rand.Rand, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(draw.Int64N(int64(most) + 1))
}

// Cut cuts the link: silently, so that bytes are lost until it is mended, or by
// closing or resetting every connection, and refusing or resetting new ones.
func (l *Link) Cut(how faults.Cut) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = how
	l.free = [2]time.Time{}
	now := time.Now()
	for _, p := range l.pairs {
		switch how {
		case faults.CutRefused:
			p.end(now, flagFIN)
		case faults.CutReset:
			p.end(now, flagRST)
		default:
			p.swallow(now)
		}
	}
}

// Delay adds latency, and up to jitter more or less, to each message from now on.
func (l *Link) Delay(latency, jitter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay, l.jitter = latency, jitter
}

// Throttle limits each direction to so many kilobytes a second from now on.
func (l *Link) Throttle(kilobytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kilobytes = kilobytes
}

// Mend takes off what Cut, Delay and Throttle put on. What was lost is sent again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.delay, l.jitter, l.kilobytes = "", 0, 0, 0
	l.free = [2]time.Time{}
	now := time.Now()
	for _, p := range l.pairs {
		p.resend(now)
	}
}

// Retarget makes new connections lead to another target.
func (l *Link) Retarget(to Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = to
}

// Target is where new connections lead.
func (l *Link) Target() Target {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.target
}

// Targets are where new connections lead, and those lead that who dialled has not closed.
func (l *Link) Targets() []Target {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []Target{l.target}
	for _, p := range l.pairs {
		if !p.client.closed && !slices.Contains(all, p.target) {
			all = append(all, p.target)
		}
	}
	return all
}

// Strand makes every connection half open: nothing passes on it any more, and
// nobody is told. New ones are as ever.
func (l *Link) Strand() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, p := range l.pairs {
		p.stranded = true
		p.swallow(now)
	}
}

// Hold holds up every connection until letGo is called, once: nothing passes on it. What
// was lost meanwhile is sent again. New connections are as ever.
func (l *Link) Hold() (letGo func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var held []*pair
	for _, p := range l.pairs {
		if !p.stranded {
			p.stranded = true
			p.swallow(time.Now())
			held = append(held, p)
		}
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, p := range held {
			p.stranded = false
			p.resend(time.Now())
		}
	}
}

// Break ends every connection as a server does that is killed: what it has not
// read is lost, and who dialled finds the connection closed.
func (l *Link) Break() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, p := range slices.Clone(l.pairs) {
		p.server.vanish(now)
	}
}

// StrandOne makes one of the connections half open, as Strand does, counted in the
// order in which they were made; the count begins anew after the last one. It tells
// whether there is one.
func (l *Link) StrandOne(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.nth(n)
	if p == nil {
		return false
	}
	p.stranded = true
	p.swallow(time.Now())
	return true
}

// BreakOne ends one of the connections, as Break does.
func (l *Link) BreakOne(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.nth(n)
	if p == nil {
		return false
	}
	p.server.vanish(time.Now())
	return true
}

// HalfOpen reports whether a connection is half open that who dialled still has.
func (l *Link) HalfOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.pairs, func(p *pair) bool { return p.stranded && !p.client.closed })
}

// Connections is how many there are that who dialled has not closed.
func (l *Link) Connections() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pairs {
		if !p.client.closed {
			n++
		}
	}
	return n
}

// nth is one of the connections that both ends have and that pass something.
func (l *Link) nth(n int) *pair {
	alive := slices.DeleteFunc(slices.Clone(l.pairs), func(p *pair) bool { return p.stranded || p.client.closed || p.server.closed })
	if len(alive) == 0 {
		return nil
	}
	return alive[n%len(alive)]
}

// Close ends every connection at once, on both ends, and waits until nobody is
// served any more. Who stands still must have been let go.
func (l *Link) Close() {
	l.mu.Lock()
	for _, p := range l.pairs {
		for _, c := range []*Conn{p.client, p.server} {
			c.closed = true
			c.signal()
		}
	}
	l.pairs = nil
	l.mu.Unlock()
	l.serving.Wait()
}

// Passing tells of each direction whether messages pass, and whether connections
// can be made and live.
func (l *Link) Passing() (up, down, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passes(Up), l.passes(Down), l.open()
}

func (l *Link) open() bool { return l.cut != faults.CutRefused && l.cut != faults.CutReset }

// Probe is how long a message of so many bytes would take from now on. It moves
// nothing.
func (l *Link) Probe(d Direction, size int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := l.free
	took := l.travel(d, size, rand.New(rand.NewPCG(l.seed, 0)), time.Now())
	l.free = free
	return took
}
