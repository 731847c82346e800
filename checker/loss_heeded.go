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
func checkLossHeeded(r *run) Finding {
	refusals, ends, named := 0, 0, 0
	for _, e := range r.elections {
		own := e.beliefsByTerm()
		named += len(own)
		for _, o := range e.ops {
			if o.call != history.Renew || o.kind != history.Fail || o.err != "" || o.token == 0 {
				continue
			}
			refusals++
			if f := r.beliefAfterRefusal(e, own[termKey{o.node, o.token}], o); f != nil {
				return *f
			}
		}
		for _, b := range e.beliefs {
			if !b.term.leads() {
				ends++
			}
		}
		for _, o := range e.writes {
			if f := r.writeAfterBelief(e, own[termKey{o.node, o.token}], o); f != nil {
				return *f
			}
		}
	}
	if named == 0 {
		return unknown(LossHeeded, "nobody believed in a term that has a token")
	}
	return pass(LossHeeded, fmt.Sprintf("%s of a renewal and %s of a term, and nobody believed after the one or wrote after the other",
		count(refusals, "refusal"), count(ends, "end")))
}

// beliefsByTerm are the beliefs that name a token.
func (e *election) beliefsByTerm() map[termKey]*belief {
	own := map[termKey]*belief{}
	for _, b := range e.beliefs {
		if b.term.Token != 0 {
			own[termKey{b.term.Node, b.term.Token}] = b
		}
	}
	return own
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
func (r *run) patience() time.Duration { return r.h.Header.Lease / 8 }

// suspended tells whether the node's process, or its write on the way, was held
// up at some time in the window.
func (r *run) suspended(node string, from, to time.Duration) bool {
	for _, f := range r.faults {
		held := f.name == history.StallFault || strings.Contains(f.name, "pause")
		if held && f.hits(node) && f.from <= to && from <= f.to {
			return true
		}
	}
	return false
}
