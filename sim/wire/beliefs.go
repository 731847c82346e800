package wire

import (
	"time"

	"github.com/recount-io/recount/history"
)

// Beliefs infers from the operations of a lock who must believe to lead, for
// programs that do not say so: from the reply that granted the lease until one
// time to live after the request was sent, longer by each renewal, and no
// longer than until it sends a release, or what may be one, or its renewal is
// refused. A grant begins a new term unless it may have prolonged the lease of the
// last one. A renewal that took effect begins one as well, where it shows that the lease
// is held that may have been missed: what may have been a release was none, a grant
// without a reply was one, or the process that was granted it ended, and another one of the
// node goes on. One that does not ask whose lease it prolongs shows that only after a look
// at the lock. It is not safe for concurrent use.
//
// What a program really believes is not on the wire. One that believes in less
// is not known from one that does not, so an inferred belief can accuse, but
// acquits nobody: its events carry [history.FromWire] as evidence.
type Beliefs struct {
	pending map[int64]history.Event // invocations, by operation
	terms   map[string]*term        // by node: the last one, unless it was given up or refused
}

// term is what is known of the lease that a node was granted.
type term struct {
	nonce   string        // of the attempt
	over    time.Duration // after which the lease has certainly ended
	dormant bool          // nobody is said to believe in it: it may have been released or not granted, or its process ended
	since   time.Duration // when it fell dormant
	seen    bool          // since then the node saw that the lock is its own
}

// NewBeliefs returns the beliefs of a run in which nobody leads yet.
func NewBeliefs() *Beliefs {
	return &Beliefs{pending: map[int64]history.Event{}, terms: map[string]*term{}}
}

// See takes in an event, with its time, and returns the event that follows
// from it, if one does; its time may be earlier. It wants the operations on the
// lease and the ends of processes, in the order of their times.
func (b *Beliefs) See(e history.Event) (history.Event, bool) {
	switch e.Kind {
	case history.Exit: // which ends the belief by itself, and its operations tell nobody anything
		if t := b.terms[e.Node]; t != nil {
			t.dormant, t.since, t.seen = true, e.At, false
		}
		for op, p := range b.pending {
			if p.Node == e.Node {
				delete(b.pending, op)
			}
		}
	case history.Invoke:
		b.pending[e.Op] = e
	case history.Ok, history.Fail, history.Info:
		if sent, known := b.pending[e.Op]; known {
			delete(b.pending, e.Op)
			return b.complete(e, sent)
		}
	}
	return history.Event{}, false
}

// complete takes in the end of an operation.
func (b *Beliefs) complete(e, sent history.Event) (history.Event, bool) {
	t := b.terms[e.Node]
	switch {
	case e.Kind == history.Ok && e.Call == history.Acquire:
		return b.granted(e, sent), true
	case e.Call == history.Release && (e.Kind == history.Ok || e.Kind == history.Fail && e.Error == "" || e.Kind == history.Info && sent.Text == ""):
		return b.deposed(sent, history.Resigned) // a holder that gives up believes no more, whatever the outcome
	case t == nil && e.Kind == history.Info && e.Call == history.Acquire:
		b.terms[e.Node] = &term{nonce: sent.Nonce, over: e.At + Endless, dormant: true, since: sent.At}
	case t == nil:
	case e.Call == history.Release && e.Kind == history.Info:
		ended, is := b.deposed(sent, history.Resigned)
		b.terms[e.Node] = &term{nonce: t.nonce, over: t.over, dormant: true, since: e.At}
		return ended, is
	case e.Kind == history.Ok && e.Call == history.Observe:
		t.seen = t.seen || e.Holder == e.Node && sent.At >= t.since
	case e.Kind == history.Ok && e.Call == history.Renew && t.dormant && (t.over < sent.At || sent.Text == anyHolder && !t.seen):
		// whose lease that was nobody knows
	case e.Kind == history.Ok && e.Call == history.Renew:
		return b.believes(history.Extended, e, sent), true
	case e.Kind == history.Info && (e.Call == history.Acquire || e.Call == history.Renew):
		t.over = e.At + Endless // it may have prolonged the lease
	case e.Kind == history.Fail && e.Error == "" && (e.Call == history.Renew || e.Call == history.Acquire && e.Nonce == t.nonce):
		return b.deposed(e, history.Superseded)
	}
	return history.Event{}, false
}

// granted is the belief that follows from a grant. Whatever others were granted
// before has ended by now.
func (b *Beliefs) granted(e, sent history.Event) history.Event {
	for node, t := range b.terms { // any order: each by itself
		if node != e.Node {
			t.over = min(t.over, e.At)
		}
	}
	kind := history.Extended
	if t := b.terms[e.Node]; t == nil || t.nonce != sent.Nonce || t.over < sent.At || t.dormant {
		kind = history.Elected
		b.terms[e.Node] = &term{nonce: sent.Nonce}
	}
	return b.believes(kind, e, sent)
}

func (b *Beliefs) believes(kind history.Kind, e, sent history.Event) history.Event {
	t := b.terms[e.Node]
	if t.dormant {
		kind, t.dormant = history.Elected, false
	}
	t.over = e.At + sent.TTL
	out := history.Event{Kind: kind, At: e.At, Node: e.Node, Evidence: history.FromWire}
	if sent.TTL < Endless {
		out.Until = history.At(max(e.At, sent.At+sent.TTL))
	}
	return out
}

func (b *Beliefs) deposed(e history.Event, why history.Why) (history.Event, bool) {
	t := b.terms[e.Node]
	delete(b.terms, e.Node)
	if t == nil || t.dormant {
		return history.Event{}, false
	}
	return history.Event{Kind: history.Deposed, At: e.At, Node: e.Node, Why: why, Evidence: history.FromWire}, true
}
