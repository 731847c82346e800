package checker

import (
	"fmt"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
)

// checkLossHeeded decides whether a candidate that could know that it leads no
// more behaved so: whoever is told by the store that its lease is over believes
// no longer, and whoever believes no longer writes no longer. AtMostOneLeader
// does not see the first where the store itself gave the lease away (it is
// waived there), nor the second, since it looks at beliefs alone; and a fence
// hides both, because a refused write ends the work.
//
// Sound for candidates that name their tokens; others are not judged. A process
// that was held up could not act, and what is shorter than a stall that would
// have been recorded says nothing.
func checkLossHeeded(r *run, t *tally) *Finding {
	for _, e := range r.elections {
		own := beliefsByTerm{all: e.beliefs, ended: e.past.ended}
		t.named += own.named()
		for _, o := range e.ops {
			if o.call != history.Renew || o.kind != history.Fail || o.err != "" || o.token == 0 {
				continue
			}
			t.refusals++
			if f := r.beliefAfterRefusal(e, own.get(o.node, o.token), o); f != nil {
				return f
			}
		}
		for _, b := range e.beliefs {
			if !b.term.leads() && b.term.To > r.since {
				t.ends++
			}
		}
		for _, o := range e.writes {
			if o.old {
				continue
			}
			if f := r.writeAfterBelief(e, own.get(o.node, o.token), o); f != nil {
				return f
			}
		}
	}
	return nil
}

// beliefsByTerm finds beliefs by their tokens: the latest one of a term.
type beliefsByTerm struct {
	all   []*belief
	index map[termKey]*belief
	ended []*belief // of earlier pieces
}

// termKey names a term.
type termKey struct {
	node  string
	token uint64
}

// named is how many beliefs have a token.
func (x *beliefsByTerm) named() int {
	n := 0
	for _, b := range x.all {
		if b.term.Token != 0 && !b.old {
			n++
		}
	}
	return n
}

// few is how many beliefs are quicker to look through than to index.
const few = 16

// get is the belief of the term; nil if there is none, or token is 0.
func (x *beliefsByTerm) get(node string, token uint64) *belief {
	if token == 0 {
		return nil
	}
	if len(x.all) <= few {
		b := ofTerm(x.all, node, token)
		if b == nil {
			b = ofTerm(x.ended, node, token)
		}
		return b
	}
	if x.index == nil {
		x.index = map[termKey]*belief{}
		for _, b := range x.all {
			x.index[termKey{b.term.Node, b.term.Token}] = b
		}
	}
	if b := x.index[termKey{node, token}]; b != nil {
		return b
	}
	return ofTerm(x.ended, node, token)
}

// ofTerm is the last belief of the term.
func ofTerm(all []*belief, node string, token uint64) *belief {
	for i := len(all) - 1; i >= 0; i-- {
		if t := &all[i].term; t.Token == token && t.Node == node {
			return all[i]
		}
	}
	return nil
}

// beliefAfterRefusal finds a belief that lasts although the store has refused
// to renew its lease.
func (r *run) beliefAfterRefusal(e *election, b *belief, o *op) *Finding {
	if b == nil {
		return nil
	}
	for _, s := range b.spans {
		if s.from <= o.to && s.to > o.to+r.patience() && !r.suspended(o.node, o.to, o.to+r.patience()) {
			f := fail(LossHeeded, fmt.Sprintf("the store told %s at %s that its lease is over, and it believed%s for another %s",
				who(o.node, o.token), moment(o.to), r.in(e), span(s.to-o.to)), o.seq(), b.term.End)
			return &f
		}
	}
	return nil
}

// writeAfterBelief finds a write of a term that was over.
func (r *run) writeAfterBelief(e *election, b *belief, o *op) *Finding {
	if b == nil || b.term.leads() || o.from <= b.term.To+r.patience() || r.suspended(o.node, b.term.To, o.from) {
		return nil
	}
	f := fail(LossHeeded, fmt.Sprintf("%s wrote%s at %s, %s after its term had ended (%s)",
		who(o.node, o.token), r.in(e), moment(o.from), span(o.from-b.term.To), b.term.Why), b.term.End, o.invoked)
	return &f
}

// patience is how long a process may take to act: a delay of so much is
// recorded as a stall.
func (r *run) patience() time.Duration { return r.header.Lease / 8 }

// suspended tells whether the node's process, or its write on the way, was held
// up at some time in the window. All share one machine: one that held up
// somebody may have held up everybody.
func (r *run) suspended(node string, from, to time.Duration) bool {
	for _, f := range r.faults {
		held := f.name == history.StallFault || f.suspends() && f.hits(node)
		if held && f.from <= to && from <= f.to {
			return true
		}
	}
	return from <= r.since && r.node(node).held >= from
}

// suspension is the fault of a machine that sleeps.
const suspension = "suspend"

// suspends tells whether the fault holds its targets up.
func (f *fault) suspends() bool {
	return f.name == history.StallFault || f.name == suspension || strings.Contains(f.name, "pause")
}
