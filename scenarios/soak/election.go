package soak

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// election is what was recorded of one election since its history was cut last, and
// the protected resource that its leader writes to.
type election struct {
	name    string
	events  []history.Event
	pending map[int64]history.Event
	guard   fence.Guard
	judged  time.Duration // what happened until then is judged, and forgotten
	without int           // rounds without a moment to cut at
	blind   bool          // what happened before is forgotten: there is no history until the next such moment
}

func newElection(name string) *election {
	return &election{name: name, pending: map[int64]history.Event{}}
}

func (e *election) add(entry history.Event) {
	e.events = append(e.events, entry)
	switch entry.Kind {
	case history.Invoke:
		e.pending[entry.Op] = entry
	case history.Ok, history.Fail, history.Info:
		delete(e.pending, entry.Op)
	}
}

// decide is the protected resource: it refuses a token smaller than one that it has
// seen.
func (e *election) decide(write history.Event, now time.Duration) (reply, history.Event) {
	done := write
	done.Kind, done.At = history.Ok, max(now, write.At)
	var stale *fence.StaleError
	if err := e.guard.Admit(write.Token); errors.As(err, &stale) {
		done.Kind, done.Fence = history.Fail, stale.Highest
	}
	return reply{Op: write.Op, Accepted: done.Kind == history.Ok, Fence: done.Fence}, done
}

// abandon completes what a process had begun that ended.
func (e *election) abandon(node string, now time.Duration) {
	for op, begun := range e.pending {
		if begun.Node == node {
			begun.Kind, begun.At, begun.Error = history.Info, now, "the process ended"
			e.events = append(e.events, begun)
			delete(e.pending, op)
		}
	}
}

// forget drops what happened until then, unjudged, but for what goes on: requests
// under way, and faults that are on. The events must be in order. What comes next is no history: nobody knows how
// it began. The one after it begins where all is calm again.
func (e *election) forget(until time.Duration) {
	requests, on := map[int64]bool{}, map[string]bool{}
	for i := range e.events {
		switch entry := &e.events[i]; {
		case entry.At > until:
		case entry.Kind == history.Invoke:
			requests[entry.Op] = true
		case entry.Kind == history.Ok, entry.Kind == history.Fail, entry.Kind == history.Info:
			delete(requests, entry.Op)
		case entry.Kind == history.Fault:
			on[entry.ID] = entry.Phase == history.On
		}
	}
	e.events = slices.DeleteFunc(e.events, func(entry history.Event) bool {
		goesOn := entry.Kind == history.Invoke && requests[entry.Op] || entry.Kind == history.Fault && on[entry.ID]
		return entry.At <= until && !goesOn
	})
	e.judged, e.without, e.blind = until, 0, true
}

// cut ends the history at the last calm moment before end, and begins the next one
// by restating what goes on there. It is not cut if there was none, and there is no
// history if what it began with is forgotten.
func (e *election) cut(h history.Header, end time.Duration) (ended *history.History, cut bool) {
	slices.SortStableFunc(e.events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	place, rest := -1, []history.Event(nil)
	c := calm{nodes: map[string]*standing{}}
	for i := range e.events {
		if e.events[i].At > end {
			break
		}
		c.see(&e.events[i], h.ReturnBound)
		if i+1 < len(e.events) && e.events[i+1].At == e.events[i].At {
			continue
		}
		if led := c.leader(e.events[i].At); led != nil {
			place, rest = i, c.bids.Restate(led.restated(rest[:0]), e.events[i].At-2*h.Lease)
		}
	}
	if place < 0 {
		return nil, false
	}
	judged := append([]history.Event(nil), e.events[:place+1]...)
	at := judged[place].At
	e.events = append(rest, e.events[place+1:]...)
	e.judged, e.without = at, 0
	if e.blind {
		e.blind = false
		return nil, true
	}
	last := -1 // of several rounds the last one's healing counts
	for i := range judged {
		if judged[i].Kind == history.Healed {
			last = i
		}
	}
	kept := judged[:0]
	for i, entry := range judged {
		if entry.Kind != history.Healed || i == last {
			entry.Election = cmp.Or(entry.Election, of(entry, e.name))
			entry.Seq = int64(len(kept) + 1)
			kept = append(kept, entry)
		}
	}
	return &history.History{Header: h, Events: kept}, true
}

// of is the election's name for what belongs to an election.
func of(entry history.Event, name string) string {
	if entry.Op != 0 || entry.Token != 0 {
		return name
	}
	return ""
}

// standing is how a node stands: what its next history has to restate.
type standing struct {
	leads            bool
	invoke, granted  history.Event // the acquire or renewal that succeeded and was sent last
	elected, claimed history.Event // the term's begin, and the last event that set its deadline
	begun, written   history.Event // the last write that was accepted
}

// calm follows events to tell when all is calm.
type calm struct {
	nodes  map[string]*standing
	begun  []history.Event // requests under way
	bids   sim.Standing
	faults int
	healed time.Duration // from when on nothing is left of the faults
	owed   bool          // healing was declared since the last fault
}

func (c *calm) node(name string) *standing {
	if c.nodes[name] == nil {
		c.nodes[name] = &standing{}
	}
	return c.nodes[name]
}

// see takes in the next event.
func (c *calm) see(e *history.Event, bound time.Duration) {
	switch e.Kind {
	case history.Invoke:
		c.begun = append(c.begun, *e)
	case history.Ok, history.Fail, history.Info:
		c.complete(e)
	case history.Elected:
		n := c.node(e.Node)
		n.leads, n.elected, n.claimed = true, *e, *e
	case history.Extended:
		c.node(e.Node).claimed = *e
	case history.Deposed:
		c.node(e.Node).leads = false
	case history.Exit:
		c.node(e.Node).leads = false
	case history.Healed:
		c.owed, c.healed = true, e.At+bound
	case history.Fault:
		if e.Phase == history.Off {
			c.faults--
			return
		}
		c.faults++
		c.owed = c.owed && e.Fault == history.StallFault
	}
}

func (c *calm) complete(e *history.Event) {
	i := slices.IndexFunc(c.begun, func(b history.Event) bool { return b.Op == e.Op })
	if i < 0 {
		return
	}
	begun := c.begun[i]
	c.begun = slices.Delete(c.begun, i, i+1)
	c.bids.See(&begun, e)
	if e.Kind != history.Ok {
		return
	}
	n := c.node(e.Node)
	switch e.Call {
	case history.Acquire, history.Renew:
		// What was passed on to an earlier request may be told after what a later
		// one was answered: the lease lasts as long as the later one says.
		if begun.Sent() >= n.invoke.Sent() {
			n.invoke, n.granted = begun, *e
		}
	case history.Write:
		n.begun, n.written = begun, *e
	}
}

// leader is who leads, if all is calm right after t: no fault is on, somebody was
// owed to lead and does, nothing is under way, one node leads, has extended its term
// since it wrote its lease, and has got something done since.
func (c *calm) leader(t time.Duration) *standing {
	if c.faults > 0 || !c.owed || t <= c.healed || len(c.begun) > 0 {
		return nil
	}
	var leader *standing
	for _, n := range c.nodes {
		if n.leads && leader != nil {
			return nil
		}
		if n.leads {
			leader = n
		}
	}
	if leader == nil || leader.granted.Op == 0 || leader.written.Op == 0 {
		return nil
	}
	l := leader
	switch {
	case l.claimed.Until == nil || *l.claimed.Until <= t:
		return nil
	case l.claimed.Token != l.elected.Token || l.begun.Token != l.elected.Token:
		return nil
	case l.granted.At > l.claimed.At || l.claimed.At > l.begun.At:
		return nil
	}
	return leader
}

// restated is how the next history begins: with the leader's term as it stands. Its
// lease counts from when it was written last, as if it had been granted then.
func (n *standing) restated(room []history.Event) []history.Event {
	invoke, granted, elected := n.invoke, n.granted, n.claimed
	granted.Token = max(granted.Token, invoke.Token)
	invoke.Call, granted.Call, invoke.Token, elected.Kind = history.Acquire, history.Acquire, 0, history.Elected
	room = append(room, history.Event{
		At: invoke.At, Kind: history.Note, Text: "this history goes on from an earlier one: what it begins with is restated",
	}, invoke, granted, elected, n.begun, n.written)
	for i := range room {
		room[i].Restated = true
	}
	return room
}
