package virtual

import (
	"errors"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/wire"
)

// The stations of a call. A call that needs a new connection greets first.
const (
	greeted  = iota // the greeting has reached the store
	welcomed        // its answer has reached the candidate
	arrived         // the request has reached the store
	answered        // the answer has reached the candidate
	broken          // the connection's end has reached the candidate
	timedOut        // the candidate gives up
	stations
)

// call is one request of a candidate to the store, from the moment in which
// its process makes it until it learns the outcome or gives up.
type call struct {
	client   *client
	wanted   uint64 // counts the uses of this call: what is planned for an older one is stale
	deadline time.Duration
	toStore  bool // something of it is on its way to the store, or waits there
	queued   bool // it waits at the store, which is frozen
	orphan   bool // the candidate has given up, or is gone, while that was so
	whole    bool // the script's text is sent along: the store does not know it
	inHand   bool // the answer has arrived, at a process that stands still
	closed   bool // its connection was closed after that
	breaking bool // its connection was closed, which the candidate is about to learn
	command  command
	outcome  outcome
	op       history.Event // the invocation; Op 0 if it is not recorded
	several  bool          // it is a call on a majority of stores
	owner    caller
}

// caller learns what became of a call. outcome is valid until it returns.
type caller interface{ called(k *call) }

// command is what a call asks of the store.
type command struct {
	call  history.Call // "" for a bare command
	id    string
	nonce string
	value string // of the lease: renew, release
	token uint64
	floor uint64
	try   uint64
	ttl   time.Duration
	to    string // release: the successor, if there is one

	longest time.Duration // acquire, renew: how long any lease may last; ttl if that is longer
	beacon  string        // acquire: it stands if it is refused, as long as somebody listens there
	protect string        // renew: see protection
	epoch   uint64        // of the client, when it was made

	reserve time.Duration // for the successor

	args  []string // of a bare command
	quiet bool     // not recorded
}

// outcome is what became of it. Unknown is the machine's: it may have taken
// effect.
type outcome struct {
	input machine.Input // Result, Token, Holder, Remaining, Waiters, Err
	value any           // of a bare command
	reply *wire.Value   // the same as it came, if somebody reads it
}

// client is one process's way of talking to a store: connections of its own,
// each for one request at a time.
type client struct {
	run   *run
	store *serverStore
	node  *node
	life  uint64 // of the process
	idle  int    // connections that are open and free
	open  []*call
	free  []*call

	epoch  uint64        // counts what may have brought another server behind the address
	looked uint64        // the epoch of the last renewal that looked for one, and one more; 0: none has
	at     time.Duration // when it did
}

// protection is what a renewal asks the script to look at: as the production store,
// for another server only if something has happened to a connection since it looked
// last, or a lease ago.
func (c *client) protection(cmd *command) string {
	if c.looked == cmd.epoch+1 && c.run.now-c.at < cmd.ttl {
		return ""
	}
	if c.store.protect == "0" {
		return ""
	}
	return "1"
}

// ask makes a call. Its owner gets the outcome after timeout at the latest.
func (c *client) ask(owner caller, cmd command, timeout time.Duration) {
	k := c.take()
	k.owner, k.command = owner, cmd
	k.deadline = c.run.now + timeout
	k.command.epoch = c.epoch
	k.command.protect = c.protection(&k.command)
	k.op = history.Event{}
	if !cmd.quiet {
		k.invoke()
	}
	k.begin()
}

// take is a call that is not in use.
func (c *client) take() *call {
	var k *call
	if n := len(c.free); n > 0 {
		k, c.free = c.free[n-1], c.free[:n-1]
	} else {
		k = &call{client: c}
	}
	k.toStore, k.orphan, k.whole, k.inHand, k.closed, k.breaking, k.outcome = false, false, false, false, false, false, outcome{}
	return k
}

// begin finds a connection for the call, or opens one.
func (k *call) begin() {
	c := k.client
	c.open = append(c.open, k)
	if c.idle > 0 {
		c.idle--
		k.send(arrived)
		return
	}
	if !c.node.link.open() || c.store.down {
		k.breaks()
		return
	}
	c.epoch++
	k.send(greeted)
}

// invoke records that the call is made.
func (k *call) invoke() {
	c, cmd := k.client, &k.command
	k.op = history.Event{
		Kind: history.Invoke, Node: c.node.name, Op: c.run.nextOp(), Call: cmd.call,
		Nonce: cmd.nonce, Try: cmd.try, Token: cmd.token,
	}
	if cmd.call != history.Release {
		k.op.TTL = cmd.ttl
	}
	c.run.add(k.op)
}

// send puts a message on its way to the given station.
func (k *call) send(station uint64) {
	c := k.client
	way := up
	if station == welcomed || station == answered {
		way = down
	}
	if !c.node.link.passes(way) {
		k.hang()
		return
	}
	at := c.run.now + c.node.link.travel(way)
	if way == down {
		at += c.store.turn()
	}
	if at > k.deadline {
		k.hang()
	}
	k.toStore = way == up
	c.run.plan(at, k, k.wanted*stations+station)
}

// hang plans the time-out: nothing will come before it.
func (k *call) hang() { k.client.run.plan(k.deadline, k, k.wanted*stations+timedOut) }

// lose is the end of a message on its way to the store.
func (k *call) lose() {
	if k.orphan {
		k.recycle()
		return
	}
	k.hang()
}

// breaks lets the candidate learn that its connection is closed.
func (k *call) breaks() {
	c := k.client
	k.breaking = true
	at := c.run.now + c.node.link.network.Latency
	if at > k.deadline {
		k.hang()
	}
	c.run.plan(at, k, k.wanted*stations+broken)
}

// act implements actor.
func (k *call) act(arg uint64) {
	if arg/stations != k.wanted {
		return
	}
	station := arg % stations
	c := k.client
	if station != greeted && station != arrived {
		if k.orphan {
			return
		}
		if c.node.defers(k, arg) {
			k.inHand = k.inHand || station == answered
			return
		}
	}
	switch station {
	case greeted, arrived:
		k.toStore = false
		c.store.receive(k, station)
	case welcomed:
		k.goOn()
	case answered:
		if c.run.now > k.deadline && c.node.random.one(2) {
			k.fail(errTimeout) // both were due while the process stood still
			return
		}
		k.settle()
	case broken:
		k.fail(errBroken)
	case timedOut:
		k.fail(errTimeout)
	}
}

// settle takes in the answer.
func (k *call) settle() {
	if errors.Is(k.outcome.input.Err, errNoScript) {
		k.whole = true
		k.goOn()
		return
	}
	if !k.closed {
		k.client.idle++
	}
	if cmd := &k.command; cmd.call == history.Renew && cmd.protect != "" && k.outcome.input.Result != machine.Unknown {
		k.client.looked, k.client.at = cmd.epoch+1, k.client.run.now
	}
	k.finish()
}

// goOn sends the request, unless it is too late for that or the connection is
// gone.
func (k *call) goOn() {
	switch {
	case k.closed:
		k.fail(errBroken)
	case k.client.run.now > k.deadline:
		k.fail(errTimeout)
	default:
		k.send(arrived)
	}
}

// fail ends a call whose outcome the candidate does not learn. Its connection
// is of no more use.
func (k *call) fail(err error) {
	k.client.epoch++
	k.outcome = outcome{input: machine.Input{Result: machine.Unknown, Err: err}}
	k.finish()
}

// finish records the outcome and tells the owner.
func (k *call) finish() {
	if k.op.Op != 0 {
		k.complete()
	}
	k.outcome.input.Kind, k.outcome.input.Request = machine.Answer, k.command.try
	k.owner.called(k)
	k.leave()
}

// leave ends the call for its client.
func (k *call) leave() {
	c := k.client
	for i := range c.open {
		if c.open[i] == k {
			last := len(c.open) - 1
			c.open[i], c.open[last] = c.open[last], nil
			c.open = c.open[:last]
			break
		}
	}
	if k.toStore {
		k.orphan = true // what was sent takes effect, even if nobody waits for it
		return
	}
	k.recycle()
}

// recycle makes the call available for another request.
func (k *call) recycle() {
	k.drop()
	k.client.free = append(k.client.free, k)
}

// drop makes everything stale that is planned for the call.
func (k *call) drop() { k.wanted++ }

// complete records the outcome as the candidate knows it.
func (k *call) complete() {
	e := k.op
	in := &k.outcome.input
	e.Kind = history.Ok
	switch in.Result {
	case machine.Done:
		switch e.Call {
		case history.Acquire:
			e.Token = in.Token
		case history.Observe:
			e.Token, e.Holder = in.Token, sim.NodeOf(in.Holder)
		}
	case machine.Held:
		e.Kind, e.Token, e.Holder, e.Stands = history.Fail, in.Token, sim.NodeOf(in.Holder), in.Stands
		if in.Holder == "" {
			e.Error = sim.Withheld
		}
	case machine.NotHeld:
		e.Kind = history.Fail
	case machine.Fatal:
		e.Kind, e.Error = history.Fail, in.Err.Error()
	default:
		e.Kind, e.Error = history.Info, in.Err.Error()
	}
	if k.several {
		e = sim.OfMajority(e)
	}
	k.client.run.add(e)
}

// shut closes every connection: what is under way breaks, and what is free is
// found closed when it is wanted.
func (c *client) shut() {
	c.idle = 0
	for _, k := range c.open {
		if k.inHand {
			k.closed = true // what has arrived is there to be read
			continue
		}
		if k.breaking {
			continue
		}
		if !k.queued {
			k.drop() // what was on its way is lost
			k.toStore = false
		}
		k.breaks()
	}
}

// vanish ends the client with its process: nobody learns of anything any more,
// and nothing is sent any more. What is on its way arrives all the same.
func (c *client) vanish() {
	c.idle = 0
	for _, k := range c.open {
		k.orphan = k.toStore
		if !k.toStore {
			k.drop()
		}
	}
	c.open = nil
}

// nobody is the caller of calls whose process is gone.
type nobody struct{}

func (nobody) called(*call) {}
