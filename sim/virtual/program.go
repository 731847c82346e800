package virtual

import (
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Program is a candidate's process that is a program of its own, with goroutines and
// timers, which this world cannot run itself. It lives only while Live is called: its
// clock shows no other time, and nothing of it runs meanwhile without notice.
type Program interface {
	// Live tells the program what has come, and lets it live until its clock shows
	// until, or until it does something that others notice, if that is sooner. An error
	// is the end of the program, and says why.
	Live(until time.Duration, came []Came) (Lived, error)
	// Kill ends the program without warning. Nothing is heard of it any more.
	Kill()
}

// Seat is what a program is started with.
type Seat struct {
	Node     string
	Election string
	Settings sim.Settings
	Writes   time.Duration // how often a leader writes to the protected resource
	Epoch    time.Duration // what its wall clock shows, since the Unix epoch, when its clock shows 0
	Began    time.Duration // what its clock shows
	Seed     uint64        // of what it draws
}

// Came is something that has reached a program.
type Came struct {
	What     string // one of those below
	Conn     int    // of which connection
	Data     []byte
	Accepted bool   // a write
	Fence    uint64 // the largest token that the resource has seen then
}

// What may reach a program: the answers to what it does, and what befalls its process.
const (
	Opened   = "opened"   // the connection that it dialled
	Refused  = "refused"  // likewise
	Received = "received" // data
	Broken   = "broken"   // a connection
	Written  = "written"  // the write that it made
	Stopping = "stopping" // it is to resign and end
	Halted   = "halted"   // it is to stand still, as far as others can notice
	GoesOn   = "goes on"  // it need not any more
)

// Lived is what a program did at the end of the time for which it lived.
type Lived struct {
	Now time.Duration // what its clock shows
	Did []Did         // in this order
}

// Did is something that a program did.
type Did struct {
	What  string // one of those below
	Conn  int    // of which connection
	Data  []byte
	Event history.Event // with times on the program's clock
	Token uint64        // of a write
	Value string        // likewise
	Text  string        // why it ended
}

// What a program may do.
const (
	Dials  = "dials"  // a connection of that number, which is a new one
	Sends  = "sends"  // data
	Closes = "closes" // a connection
	Tells  = "tells"  // an event
	Writes = "writes" // to the protected resource, one write at a time
	Ends   = "ends"
	Panics = "panics" // and so ends
)

// windows is how many there are in a lease: for so long a program to which nothing is on
// its way lives without the others. What another one does and it is to hear of, such as a
// message on a channel, reaches it so much too late, at the most.
const windows = 50

// tick is a moment up to which programs are to live.
type tick struct{}

// act implements actor.
func (tick) act(uint64) {}

// accompany lets the programs live until the next entry of the agenda, or until one of
// them does something: that is an entry then.
func (r *run) accompany() {
	if r.subject.Program == nil {
		return
	}
	far := r.now + r.spec.Timings.Lease/windows
	if len(r.heap) == 0 || r.heap[0].at > far {
		r.plan(far, tick{}, 0)
	}
	bound := min(r.heap[0].at, r.until)
	for _, n := range r.nodes {
		if g, is := n.process.(*programProcess); is {
			bound = min(bound, g.live(bound, min(far, r.until)))
		}
	}
}
