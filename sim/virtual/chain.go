package virtual

import (
	"errors"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// chain makes a chain of whole histories of a long run. It follows the events to
// tell when all is calm, and what the next history has to restate. Events are
// known by their places in the record.
type chain struct {
	spec    sim.Plan
	least   int
	take    func(*history.History) error
	failure error
	next    int // events of this history at which to look for its end

	faults  int           // that are on
	calmed  time.Duration // when the last one was taken off
	pending []request     // that are under way
	entry   int           // the store's last record of a lease that was written; -1 if there is none
	nodes   []standing    // that did something
	bids    sim.Standing
	room    []history.Event
}

// request is an operation under way.
type request struct {
	op     int64
	invoke int
	node   string
	call   history.Call
}

// standing is how a node stands.
type standing struct {
	name    string
	leads   bool
	elected int // the event with which its term began; of several, the last
	claimed int // and the last one that set its deadline

	// The last acquire or renewal that succeeded, with the store's record of it,
	// and the last write that was accepted; -1 if there is none.
	leaseInvoke, leaseOk, leaseEntry int
	writeInvoke, writeOk             int
}

func newChain(spec sim.Plan, least int, take func(*history.History) error) *chain {
	return &chain{spec: spec, least: least, take: take, next: least, entry: -1}
}

// node is how the node of that name stands.
func (c *chain) node(name string) *standing {
	for i := range c.nodes {
		if c.nodes[i].name == name {
			return &c.nodes[i]
		}
	}
	c.nodes = append(c.nodes, standing{name: name, leaseInvoke: -1, leaseOk: -1, leaseEntry: -1, writeInvoke: -1, writeOk: -1})
	return &c.nodes[len(c.nodes)-1]
}

// see takes in the next event, which comes behind these.
func (c *chain) see(e *history.Event, events []history.Event) {
	place := len(events)
	switch e.Kind {
	case history.Invoke:
		c.pending = append(c.pending, request{e.Op, place, e.Node, e.Call})
	case history.Ok, history.Fail, history.Info:
		c.complete(e, events)
	case history.Audit:
		if e.Applied != nil && *e.Applied && (e.Call == history.Acquire || e.Call == history.Renew) {
			c.entry = place
		}
	case history.Elected:
		n := c.node(e.Node)
		n.leads, n.elected, n.claimed = true, place, place
	case history.Extended:
		c.node(e.Node).claimed = place
	case history.Deposed:
		c.node(e.Node).leads = false
	case history.Exit:
		c.exit(e.Node)
	case history.Fault:
		if e.Phase == history.On {
			c.faults++
		} else {
			c.faults--
			c.calmed = max(c.calmed, e.At)
		}
	}
}

func (c *chain) complete(e *history.Event, events []history.Event) {
	place := len(events)
	for i := range c.pending {
		p := c.pending[i]
		if p.op != e.Op {
			continue
		}
		c.pending[i] = c.pending[len(c.pending)-1]
		c.pending = c.pending[:len(c.pending)-1]
		c.bids.See(&events[p.invoke], e)
		switch {
		case e.Kind != history.Ok:
		case p.call == history.Acquire, p.call == history.Renew:
			// What was passed on to an earlier request may be announced after a
			// later one was answered: the lease lasts as long as the later one says.
			n := c.node(p.node)
			if n.leaseOk < 0 || events[p.invoke].Sent() >= events[n.leaseInvoke].Sent() {
				n.leaseInvoke, n.leaseOk, n.leaseEntry = p.invoke, place, c.entry
			}
		case p.call == history.Write:
			n := c.node(p.node)
			n.writeInvoke, n.writeOk = p.invoke, place
		}
		return
	}
}

// exit forgets what the process had begun, but for writes that are on their way.
func (c *chain) exit(node string) {
	kept := c.pending[:0]
	for _, p := range c.pending {
		if p.node != node || p.call == history.Write {
			kept = append(kept, p)
		}
	}
	c.pending = kept
	c.node(node).leads = false
}

// moved follows the events from the place on, which have moved on by one.
func (c *chain) moved(from int) {
	for i := range c.pending {
		if c.pending[i].invoke >= from {
			c.pending[i].invoke++
		}
	}
	if c.entry >= from {
		c.entry++
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		for _, place := range []*int{&n.elected, &n.claimed, &n.leaseInvoke, &n.leaseOk, &n.leaseEntry, &n.writeInvoke, &n.writeOk} {
			if *place >= from {
				*place++
			}
		}
	}
}

// patience is how long after a fault nothing of it is left: a leader is back, and
// what was under way has arrived or is lost.
func (c *chain) patience() time.Duration {
	return max(c.spec.ReturnBound, 2*c.spec.Timings.Lease)
}

// leader is who leads, if all is calm at t; nil if it is not. It is calm if no
// fault is on or has been for long; nothing is under way; one node leads, has
// extended its term since it wrote its lease, and has got something done since.
func (c *chain) leader(events []history.Event, t time.Duration) *standing {
	if c.faults > 0 || len(c.pending) > 0 || t <= events[len(events)-1].At || t <= c.calmed+c.patience() {
		return nil
	}
	var leader *standing
	for i := range c.nodes {
		n := &c.nodes[i]
		if !n.leads {
			continue
		}
		if leader != nil {
			return nil
		}
		leader = n
	}
	if leader == nil || leader.leaseOk < 0 || leader.writeOk < 0 {
		return nil
	}
	claim, elected, lease := &events[leader.claimed], &events[leader.elected], &events[leader.leaseInvoke]
	switch {
	case claim.Until == nil || *claim.Until <= t:
		return nil
	case claim.Token != elected.Token || events[leader.writeInvoke].Token != elected.Token:
		return nil
	case leader.leaseOk > leader.claimed || leader.claimed > leader.writeInvoke:
		return nil
	}
	if leader.leaseEntry >= 0 {
		if entry := &events[leader.leaseEntry]; entry.Nonce != lease.Nonce || entry.Try != lease.Try {
			return nil
		}
	}
	return leader
}

// cut ends the history before an event at t, if all is calm.
func (r *record) cut(t time.Duration) {
	c := r.chain
	leader := c.leader(r.events, t)
	if leader == nil {
		c.next = len(r.events) + 1 + len(r.events)/1024
		return
	}
	c.room = c.bids.Restate(c.restated(c.room[:0], r.events, leader), t-2*c.spec.Timings.Lease)
	r.number()
	c.failure = errors.Join(c.failure, c.take(&history.History{Header: header(c.spec), Events: r.events}))
	c.next, c.entry, c.nodes = c.least, -1, c.nodes[:0]
	r.events = r.events[:0]
	for i := range c.room {
		c.see(&c.room[i], r.events)
		r.events = append(r.events, c.room[i])
	}
}

// restated is how the next history begins: with the term of the leader as it
// stands. Its lease counts from when it was written last, as if it had been
// granted then.
func (c *chain) restated(room, events []history.Event, leader *standing) []history.Event {
	invoke, granted, elected := events[leader.leaseInvoke], events[leader.leaseOk], events[leader.claimed]
	granted.Token = max(granted.Token, invoke.Token)
	invoke.Call, granted.Call, invoke.Token, elected.Kind = history.Acquire, history.Acquire, 0, history.Elected
	room = append(room, history.Event{
		At: invoke.At, Kind: history.Note, Text: "this history goes on from an earlier one: what it begins with is restated",
	}, invoke)
	if leader.leaseEntry >= 0 {
		entry := events[leader.leaseEntry]
		entry.Call, entry.Token = history.Acquire, granted.Token
		room = append(room, entry)
	}
	room = append(room, granted, elected, events[leader.writeInvoke], events[leader.writeOk])
	for i := range room {
		room[i].Restated = true
	}
	return room
}
