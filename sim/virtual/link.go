package virtual

import (
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// direction is one of the two ways of a link.
type direction int

const (
	up   direction = iota // to the store
	down                  // from it
)

// replyBytes is about the size of an answer, for links of limited bandwidth.
const replyBytes = 80

// link is a candidate's way to the store, and what faults have done to it. It
// loses and delays messages as toxiproxy does in the live world: what is cut
// silently swallows bytes and keeps connections open, until it is mended: then
// they are closed, since bytes of theirs are lost.
type link struct {
	network   sim.Network
	random    *random
	cut       faults.Cut // "" if it is not
	delay     time.Duration
	jitter    time.Duration
	kilobytes int // a second; 0: no limit

	react func(spiked, lost bool) sim.Network // gives the network of the next message; may be nil
}

// passes reports whether messages of the direction arrive. Connections that are
// refused or reset are another matter: see open.
func (l *link) passes(d direction) bool {
	switch l.cut {
	case faults.CutBoth:
		return false
	case faults.CutRequests:
		return d != up
	case faults.CutReplies:
		return d != down
	default:
		return true
	}
}

// open reports whether connections can be made and live.
func (l *link) open() bool { return l.cut != faults.CutRefused && l.cut != faults.CutReset }

// travel is how long a message of the direction takes.
func (l *link) travel(d direction) time.Duration {
	n := l.network
	t := n.Latency + l.random.upTo(n.Jitter)
	spiked := n.SpikeRate > 0 && l.random.one(n.SpikeRate)
	if spiked {
		t += l.random.upTo(n.Spike)
	}
	lost := n.LossRate > 0 && l.random.one(n.LossRate)
	if lost {
		t += sim.Resend
	}
	if l.react != nil {
		l.network = l.react(spiked, lost)
	}
	if l.delay > 0 {
		t += l.delay - l.jitter + l.random.upTo(2*l.jitter)
	}
	if l.kilobytes > 0 {
		bytes := sim.RequestBytes
		if d == down {
			bytes = replyBytes
		}
		t += time.Duration(bytes) * time.Second / time.Duration(1000*l.kilobytes)
	}
	return t
}
