package fuzz

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/recount-io/recount/sim/virtual"
)

// Limits are what the bounds follow from: an election's configuration, and
// what its surroundings do at the worst.
type Limits struct {
	Lease          time.Duration
	Renew          time.Duration
	Retry          time.Duration
	RequestTimeout time.Duration
	Drift          float64 // tolerated difference of clock rates, as a share
	Candidates     int

	Least   time.Duration // of a message's way, in either direction
	Most    time.Duration // the same, with jitter, spikes, and what was lost sent again
	Timer   time.Duration // by how much a timer is late at the most
	Service time.Duration // of the store, for one command
	Write   time.Duration // a message's way to the protected resource
}

// What the virtual world does at the worst: see sim/virtual.
const (
	worldTimer   = virtual.Lateness
	worldService = virtual.Service
	worldWrite   = virtual.Delivery
)

// Limits are those of the case in the virtual world.
func (c *Case) Limits() Limits {
	return Limits{
		Lease: c.Timings.Lease, Renew: c.Timings.Renew, Retry: c.Timings.Retry,
		RequestTimeout: requestTimeout(c.Timings), Drift: c.Drift, Candidates: c.Nodes,
		Least: c.Network.Latency, Most: worst(c.Network),
		Timer: worldTimer, Service: worldService, Write: worldWrite,
	}
}

// Term is one part of a bound.
type Term struct {
	Name   string // a few words
	Length time.Duration
	Why    string // how it is computed
}

// Bound is a time that a failover cannot exceed, with the terms that it is the
// sum of. The first one is the lease itself, which no elector may skip; the
// others are the excess.
type Bound []Term

// Total is the sum of all terms.
func (b Bound) Total() time.Duration {
	var sum time.Duration
	for _, t := range b {
		sum += t.Length
	}
	return sum
}

// Excess is what exceeds the lease.
func (b Bound) Excess() time.Duration { return b.Total() - b[0].Length }

// What the elector adds on purpose, and what Redis does with time: see
// internal/machine and sim/virtual/redismodel.
const (
	perWaiter  = 200 * time.Microsecond // of the spread, for each of those who wait
	fewWaiters = 5                      // the least number that is assumed
	tick       = time.Millisecond       // Redis counts time in these
	overtime   = 2                      // a request may last that many time-outs
)

// ErrNoBound is why some limits have no bound.
var ErrNoBound = errors.New("fuzz: there is no bound of a failover")

// FailoverLimit is the longest failover of the production elector: from the
// moment in which the old leader can no longer act to the new one's first
// accepted write. docs/failover.md derives it term by term and says for which
// schedules it holds.
//
// It is an error wrapping ErrNoBound if requests may time out although no
// fault is on: then any number of them may, one after the other.
func (l Limits) FailoverLimit() (Bound, error) {
	if need := legs * l.message(); need > l.RequestTimeout {
		return nil, fmt.Errorf("%w: a request may take %v and times out after %v, so it may fail without a fault, as may those after it: give a faster network or a larger renew",
			ErrNoBound, need, l.RequestTimeout)
	}
	slow := l.Drift / (1 - l.Drift) // what a slow clock adds to a time
	spread := l.spread()
	queue := l.message() - l.Most
	b := Bound{
		{"the lease", l.Lease, "nobody may skip it: the old leader may have renewed it just before"},
		{"the last renewal's way", l.lastWay(), "the old leader's last request reaches the store after it can no longer act"},
		{"the store's last millisecond", tick, "Redis counts whole milliseconds, and a key lives through its last one"},
		{"the answer that tells the rest", l.Most + queue, "one message from the store, and its queue there"},
		{"rounded up", tick, "added by the elector: the rest that the store tells may be rounded down"},
		{"spread", spread, fmt.Sprintf("min(max(candidates, %d) × %v, retry), so that those who wait do not all ask at once", fewWaiters, perWaiter)},
		{"drift", share(l.Lease+tick+spread, slow), "(lease + 1 ms + spread) × drift / (1 − drift): the follower's clock is slow"},
		{"timer", l.Timer, "the follower's timer is late"},
		{"the request", 3*l.Most + queue, "three messages: the connection may have to be opened first"},
		{"its answer", l.Most + queue, "one message, and the queue at the store"},
		{"the first write", l.Write, "one message to the resource"},
	}
	if fast := share(tick, l.Drift/(1+l.Drift)); 2*l.Least < fast {
		// The messages are so quick that a fast clock asks twice within the
		// lease's last millisecond: then the elector pauses.
		b = append(b, Term{"a pause", l.Retry + share(l.Retry, slow), "retry / (1 − drift): the network is so fast that a fast clock is refused twice in the lease's last millisecond"})
	}
	return b, nil
}

// message is a message's way from the store, with its time in the store's
// queue: every candidate may have three requests there, one to hold the lease,
// one to give one back and one to ask who leads.
func (l Limits) message() time.Duration {
	return l.Most + time.Duration(3*l.Candidates)*l.Service
}

func (l Limits) spread() time.Duration {
	return min(time.Duration(max(l.Candidates, fewWaiters))*perWaiter, l.Retry)
}

// lastWay is how long after the end of its belief (or of its process) an old
// leader's last renewal may take effect. One that has left the process needs
// one message's time. But there may be messages before: on a new connection, to
// a store that has forgotten the script, the renewal is the fifth, and the
// process sends it as long as it has not given the request up. A renewal that
// is sent x before the deadline is given up after 2x. So its last message
// leaves at 2x after the first at the latest, which is x after the deadline, by
// the leader's clock.
func (l Limits) lastWay() time.Duration {
	const messages = 5
	queue := 2 * (l.message() - l.Most) // two of the messages before the last one come from the store
	before := (messages-1)*l.Most + queue
	least := time.Duration(float64(before) / (overtime * (1 + l.Drift))) // x, by the true clock
	return before - least + l.Most
}

// share is a share of d, rounded up, with a little for what clocks round.
func share(d time.Duration, s float64) time.Duration {
	return time.Duration(math.Ceil(float64(d)*s)) + 10
}

// GapLimit is the least time from the end of one leader's belief to the
// beginning of another's, if released says that the old one gave its lease back
// and else. It is above zero for every schedule that docs/guarantees.md does not
// exclude: beliefs never overlap. docs/failover.md derives it.
func (l Limits) GapLimit(released bool) time.Duration {
	least := 2 * l.Least // the release, and the news that the lease was passed on, which leaves with it
	if !released {
		least += l.Service + time.Duration(float64(tick)/(1-l.Drift))
	}
	return least - 10 // what clocks round
}

// OverlapLimit is the longest overlap of two beliefs beyond the guarantee, if
// the old leader's clock runs at rate (1 is right) and, with lost, the store may
// lose its lease at any time. It is not above zero within the guarantee.
func (l Limits) OverlapLimit(rate float64, lost bool) time.Duration {
	usable := time.Duration(float64(usableFor(l.Lease, l.Drift)) / rate)
	overlap := usable - l.Lease - 2*l.Least - l.Service
	if lost {
		// The others may get it as soon as the leader has it. Its answer and
		// theirs take as long, and theirs was asked for later.
		overlap = usable - 2*l.Least - l.Service
	}
	return overlap + 10
}

// usableFor is machine.Config.Usable.
func usableFor(lease time.Duration, drift float64) time.Duration {
	return lease - time.Duration(math.Ceil(float64(lease)*drift)) - tick
}
