package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/recount-io/recount/history"
)

// Why an operation failed that shows nothing about the lease.
const (
	refusedAsError = "the store answered with an error"
	nothingDone    = "nothing was written"
	elsewise       = "the command did something else"
	aborted        = "the transaction was aborted"
	older          = "the key may be older than the run"
)

// end tells how the exchange's operations ended.
func (x *Exchange) end(v Value) {
	switch {
	case len(x.ops) == 0:
		return
	case v.Kind == Error && x.harmless(v.Text):
		x.failAll(refusedAsError, v.Text)
		return
	case x.multi && v.Kind == Nil:
		x.failAll(aborted, "")
		return
	}
	views := x.plausible(x.explain(v))
	x.clocked(views)
	x.doubt(views)
	x.leaves(views)
	x.recount(views)
	x.written(views)
	x.supersede(views)
	x.notice(views)
	l, m := x.conn.lock, x.conn.lock.member(x.conn.node)
	for i := range views {
		if views[i].unclear != "" {
			x.conn.note("unclear "+views[i].unclear, "not understood on the wire: "+views[i].unclear+"; the outcome of such commands counts as unknown")
		}
	}
	for _, op := range x.ops {
		kind, holder, why := x.outcome(op, views, m)
		if kind == history.Info && op.event.Call != history.Observe && !op.vague && x.strange == "" {
			x.judge(x.what() + " with a reply that has several explanations")
		}
		if !l.touched {
			kind, why = x.firstSeen(op, kind, why, views)
		}
		l.cleared = l.cleared || op.event.Call == history.Acquire && kind == history.Ok
		x.complete(op, kind, holder, why)
	}
	if len(views) == 0 {
		x.distrust(v)
	}
}

// recount notes whether the reply tells what the request did.
func (x *Exchange) recount(views []view) {
	why := ""
	if len(views) == 0 {
		why = x.what() + " with a reply that does not fit"
	}
	for i := range views {
		why = cmp.Or(why, views[i].unclear)
	}
	if why == "" {
		x.clears()
	}
	x.judge(why)
}

// clears notes that what the request did is known by now, if it was not when it was sent.
func (x *Exchange) clears() {
	if x.murky {
		x.murky = false
		x.conn.lock.member(x.conn.node).murky--
	}
}

// judge counts the request anew.
func (x *Exchange) judge(why string) {
	x.conn.lock.tally.revise(x.strange)
	x.conn.lock.tally.judge(why)
	x.strange = why
}

// what names the request.
func (x *Exchange) what() string {
	if x.multi {
		return "EXEC"
	}
	return x.commands[0].name
}

func (x *Exchange) failAll(why, text string) {
	x.judge("") // it did nothing
	x.clears()
	if text != "" && !strings.Contains(text, "held") { // the checkers know that word
		why += ": " + text
	}
	for _, value := range x.writes {
		x.settle(value, history.Fail)
	}
	for _, op := range x.ops {
		x.complete(op, history.Fail, "", why)
	}
}

// firstSeen is the outcome where nobody has seen yet that the key was free:
// it may have been there before the run, and nothing follows from that.
func (x *Exchange) firstSeen(op *operation, kind history.Kind, why string, views []view) (history.Kind, string) {
	free := len(views) > 0 && !slices.ContainsFunc(views, func(v view) bool { return v.before != absent })
	switch {
	case free, op.event.Call == history.Acquire && kind == history.Ok, op.event.Call == history.Observe && kind == history.Ok:
		x.conn.lock.touched = true
		return kind, why
	case kind == history.Ok:
		return history.Info, older
	case kind == history.Fail && why == "":
		return kind, older
	default:
		return kind, why
	}
}

// outcome is how an operation ended, if one of the views is what happened.
func (x *Exchange) outcome(op *operation, views []view, m *member) (kind history.Kind, holder, why string) {
	if op.event.Call == history.Observe {
		return x.observed(views)
	}
	did, not := 0, 0
	for i := range views {
		switch v := &views[i]; {
		case v.unclear != "":
		case op.matches(v):
			did++
		default:
			not++
		}
	}
	switch {
	case len(views) > 0 && not == len(views):
		return x.refused(op, views, m)
	case op.vague:
		return history.Info, "", history.Ambiguous
	case len(views) > 0 && did == len(views):
		return history.Ok, "", ""
	default:
		return history.Info, "", history.Ambiguous
	}
}

// matches reports whether the view shows that the operation took effect.
func (op *operation) matches(v *view) bool {
	call := v.call
	if op.reentrant && call == history.Renew {
		call = history.Acquire
	}
	if call != op.event.Call {
		return op.vague && v.call != ""
	}
	return call == history.Release || v.ttl == op.event.TTL || op.vague
}

// refused is the outcome of an operation that certainly did not happen: with a
// reason, unless all views show that the lease was in its way.
func (x *Exchange) refused(op *operation, views []view, m *member) (kind history.Kind, holder, why string) {
	if x.conn.lock.records && op.event.Call == history.Acquire && x.holder(views) == "" {
		return history.Fail, "", nothingDone // a record may be there of a lease that is over
	}
	may := m.holds.names()
	for i := range views {
		v := &views[i]
		switch {
		case v.call != "" && v.call != op.event.Call && (op.event.Call != history.Acquire || op.distinct):
			return history.Fail, "", elsewise
		case v.idle && (op.event.Call != history.Acquire || slices.Contains(may, v.held)):
			return history.Fail, "", nothingDone
		case op.event.Call != history.Acquire && !v.unlike(may):
			return history.Fail, "", nothingDone
		case op.event.Call == history.Acquire && v.before != present:
			return history.Fail, "", nothingDone
		case op.event.Call == history.Acquire && op.reentrant && !v.unlike(may):
			return history.Fail, "", nothingDone
		}
	}
	if op.event.Call == history.Acquire {
		holder = x.holder(views)
	}
	return history.Fail, holder, ""
}

// observed is the outcome of an observation.
func (x *Exchange) observed(views []view) (kind history.Kind, holder, why string) {
	if len(views) == 0 {
		return history.Info, "", history.Ambiguous
	}
	if !slices.ContainsFunc(views, func(v view) bool { return v.before != absent || v.unclear != "" }) {
		return history.Ok, "", ""
	}
	if holder = x.holder(views); holder == "" {
		return history.Info, "", "who holds the lock is not known"
	}
	return history.Ok, holder, ""
}

// holder is the node that all views show to hold the lock, empty if there is
// no such node.
func (x *Exchange) holder(views []view) string {
	var name string
	l := x.conn.lock
	for i, v := range views {
		if !v.known || v.unclear != "" || l.risks[v.held] > 0 {
			return ""
		}
		node := l.holder(v.held)
		if i > 0 && node != name || l.records && !l.lives(node, l.now()) {
			return ""
		}
		name = node
	}
	return name
}

// complete tells the end of an operation, and remembers what it says about who
// holds the lock.
func (x *Exchange) complete(op *operation, kind history.Kind, holder, why string) {
	l := x.conn.lock
	m := l.member(x.conn.node)
	switch call := op.event.Call; {
	case call == history.Acquire:
		m.nonces.leave(op.event.Nonce, kind, x.sent, l.tick)
	case call == history.Release && kind == history.Ok, call != history.Observe && kind == history.Fail && why == "":
		m.over(x.sent)
	}
	e := op.event
	e.Kind, e.Holder, e.Error, e.Text = kind, holder, why, ""
	x.conn.tell(e)
	x.track(op, kind)
}
