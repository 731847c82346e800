package virtual

import (
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Variant is what can be different about a subject besides its decisions and
// its scripts. The zero value is as it is in production.
type Variant struct {
	// Clock is what the production elector's machine reads.
	Clock Clock
	// Client is how its Redis client behaves.
	Client Client
	// Majority is how it counts the answers of several stores.
	Majority Majority
	// Confirmed tells, where the plan asks for confirmations, whether the
	// candidate is told that enough replicas have confirmed a grant or a renewal;
	// now says whether they have, and before whether they had confirmed what the
	// same candidate was granted before that. Nil: whether they have.
	Confirmed func(call history.Call, now, before bool) bool
	// Work is how its leaders work.
	Work Work

	// Fence makes the protected resource of a run. Nil: a Fencing.
	Fence func() Fence
	// ReadOnly is for how long a replica that takes the primary's place goes
	// on refusing writes, as one does that has not been told yet.
	ReadOnly time.Duration
}

// Clock is one of a machine's clocks.
type Clock int

// The clocks.
const (
	BootTime  Clock = iota // goes on while the machine is suspended
	Monotonic              // stands still meanwhile
	Wall                   // jumps when somebody sets it
)

// Client is how a Redis client behaves.
type Client struct {
	// Repeats is how often it sends a request again by itself whose connection
	// broke before it was answered. Nobody is told.
	Repeats int
	// Loads makes it load the scripts into the store when its process begins.
	// Else, and if the store has forgotten them, it sends their text when it is
	// told that they are not known.
	Loads bool
	// Read, if not nil, may change what an answer means, the one that a script
	// is not known (NOSCRIPT) among them.
	Read func(call history.Call, answer *machine.Input)
}

// Majority is how the answers of several stores are counted.
type Majority = quorum.Rules

// shows is what the clock of the subject's choice shows.
func (n *node) shows() time.Duration {
	now := n.clock.show(n.run.now)
	switch n.run.subject.Clock {
	case Monotonic:
		if n.asleep >= 0 {
			now = n.asleep
		}
		return now - n.slept
	case Wall:
		return now + n.wall
	default:
		return now
	}
}

// when is the true time at which that clock shows own, unless it jumps or
// stands still before that.
func (n *node) when(own time.Duration) time.Duration {
	switch n.run.subject.Clock {
	case Monotonic:
		own += n.slept
	case Wall:
		own -= n.wall
	}
	return n.clock.when(own)
}

// load loads the subject's scripts into the store, if it does so beforehand.
func (c *Client) load(s *serverStore) {
	if !c.Loads || s.down {
		return
	}
	for _, script := range []*redismodel.Script{s.scripts.Acquire, s.scripts.Renew, s.scripts.Release, s.scripts.Leader, s.scripts.Candidates} {
		s.model.Load(script)
	}
}

// repeat sends the request of a call once more whose connection broke, on
// another connection, if the client does so and there is time left. What
// becomes of the one that was sent first is not looked at.
func (k *call) repeat() bool {
	c := k.client
	if k.repeats >= c.run.subject.Client.Repeats || c.run.now >= k.deadline {
		return false
	}
	next := c.take()
	next.owner, next.command, next.deadline, next.op, next.repeats = k.owner, k.command, k.deadline, k.op, k.repeats+1
	k.leave()
	next.begin()
	return true
}
