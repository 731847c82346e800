package wire

import "github.com/recount-io/recount/history"

// Beliefs infers from the operations of a lock who must believe to lead, for
// programs that do not say so: from the reply that granted the lease until one
// time to live after the request was sent, longer by each renewal, and no
// longer than until it sends a release or its renewal is refused. It is not
// safe for concurrent use.
//
// What a program really believes is not on the wire. One that believes in less
// is not known from one that does not, so an inferred belief can accuse, but
// acquits nobody: its events carry [history.FromWire] as evidence.
type Beliefs struct {
	pending map[int64]history.Event // invocations, by operation
	leads   map[string]bool         // nodes
}

// NewBeliefs returns the beliefs of a run in which nobody leads yet.
func NewBeliefs() *Beliefs {
	return &Beliefs{pending: map[int64]history.Event{}, leads: map[string]bool{}}
}

// See takes in an event, with its time, and returns the event that follows
// from it, if one does; its time may be earlier. It wants the operations on the
// lease and the ends of processes, in the order of their times.
func (b *Beliefs) See(e history.Event) (history.Event, bool) {
	switch e.Kind {
	case history.Exit: // which ends the belief by itself, and its operations tell nobody anything
		delete(b.leads, e.Node)
		for op, p := range b.pending {
			if p.Node == e.Node {
				delete(b.pending, op)
			}
		}
	case history.Invoke:
		b.pending[e.Op] = e
	case history.Ok, history.Fail, history.Info:
		sent, known := b.pending[e.Op]
		delete(b.pending, e.Op)
		switch {
		case !known:
		case e.Kind == history.Ok && e.Call == history.Acquire, e.Kind == history.Ok && e.Call == history.Renew && b.leads[e.Node]:
			return b.believes(e, sent), true
		case e.Kind == history.Fail && e.Call == history.Renew && e.Error == "":
			return b.deposed(e, history.Superseded)
		case e.Call == history.Release && (e.Kind == history.Ok || e.Kind == history.Fail && e.Error == "" || e.Kind == history.Info && sent.Text == ""):
			return b.deposed(sent, history.Resigned) // whoever gives up believes no more, whatever comes of it
		}
	}
	return history.Event{}, false
}

func (b *Beliefs) believes(e, sent history.Event) history.Event {
	kind := history.Elected
	if b.leads[e.Node] {
		kind = history.Extended
	}
	b.leads[e.Node] = true
	out := history.Event{Kind: kind, At: e.At, Node: e.Node, Evidence: history.FromWire}
	if sent.TTL < Endless {
		out.Until = history.At(max(e.At, sent.At+sent.TTL))
	}
	return out
}

func (b *Beliefs) deposed(e history.Event, why history.Why) (history.Event, bool) {
	if !b.leads[e.Node] {
		return history.Event{}, false
	}
	delete(b.leads, e.Node)
	return history.Event{Kind: history.Deposed, At: e.At, Node: e.Node, Why: why, Evidence: history.FromWire}, true
}
