package wire

import (
	"slices"

	"github.com/recount-io/recount/history"
)

// Some commands write whatever is there, and tell what was there before: GETSET, SET with
// GET, GETEX, and a read and a write in one transaction. The reply decides what such a
// request was. Nobody had the lock: it was taken. Its node had it: it was renewed. Another
// one had it: the sender may see in that a refusal, as a test-and-set lock does, so it is
// not taken to have acquired anything.

// overwrites is why nothing is understood of a lock over which somebody wrote who did not
// hold it: its value names no holder any more, and its time to live may be another one.
const overwrites = "a lock that may be held although another node wrote over the lock of another one and was told so"

// maxOwn is how many values of a node are kept apart where a reply may show its own.
const maxOwn = 8

// around are the values that the lock may hold while such a write is under way.
type around struct {
	values []string // that nodes had in the lock, or may have had, when it was sent
	rivals []string // those of other nodes
	risks  []string // values that it may write over the lock of another node
}

// tells reports whether the command writes and tells what was there before.
func (c *call) tells() bool {
	switch c.name {
	case "GETSET":
		return true
	case "SET":
		s := c.settings()
		return s.get && !s.nx && !s.compares
	case "GETEX":
		return len(c.args) > 2
	default:
		return false
	}
}

// scripted reports whether a script is part of the exchange: its reply need not tell what
// the script found.
func (x *Exchange) scripted() bool {
	return slices.ContainsFunc(x.commands, func(cmd command) bool { return isScript(cmd.name) })
}

// foresee notes what nodes may have in the lock while the exchange is under way, if one of
// the views writes and tells.
func (x *Exchange) foresee(views []view) {
	if !slices.ContainsFunc(views, func(v view) bool { return v.shown }) {
		return
	}
	l := x.conn.lock
	for node, m := range l.members { // any order: these are sets
		x.around.values = append(x.around.values, m.holds.names()...)
		if node != x.conn.node {
			x.around.rivals = append(x.around.rivals, m.holds.names()...)
		}
	}
	if len(x.held) > 0 || len(x.around.rivals) == 0 {
		return
	}
	for i := range views {
		if v := &views[i]; v.shown && v.wrote && !x.retains(v) {
			x.around.risks = append(x.around.risks, v.value)
			l.risks[v.value]++
		}
	}
}

// passed notes that the exchange is over. Without a reply it may have written over the
// lock of another node.
func (x *Exchange) passed(answered bool) {
	l := x.conn.lock
	for _, value := range x.around.risks {
		if l.risks[value]--; l.risks[value] == 0 {
			delete(l.risks, value)
		}
	}
	if len(x.around.risks) > 0 && !answered {
		l.muddled = l.tick
	}
}

// looks reports whether the exchange only looks at the lock.
func (x *Exchange) looks(views []view) bool {
	if len(x.ops) > 0 {
		return !slices.ContainsFunc(x.ops, func(op *operation) bool { return op.event.Call != history.Observe })
	}
	return !slices.ContainsFunc(views, func(v view) bool { return v.call != "" || v.unclear != "" })
}

// retains reports whether the write certainly changes nothing where another node may have
// the lock: only one value is ever in it, and no time to live.
func (x *Exchange) retains(v *view) bool {
	l := x.conn.lock
	return !v.bounds() && !l.ends && !slices.ContainsFunc(x.around.rivals, func(value string) bool { return value != v.value })
}

// leaves notes whether writes that show what was there before left the lock to its
// holder.
func (x *Exchange) leaves(views []view) {
	l := x.conn.lock
	free := len(views) > 0
	for i := range views {
		v := &views[i]
		if free = free && v.before == absent; !v.shown || v.unclear != "" || v.before != present || v.call != history.Acquire && v.call != history.Renew {
			continue
		}
		same := v.wrote && (v.known && v.held == v.value || !v.known && v.value == foreign)
		switch whose := x.whose(v); {
		case whose == ofNode && v.call == history.Acquire && v.known && x.mine(v.held):
			v.call = history.Renew
		case whose == ofNode:
		case same && !v.bounds() && !l.ends:
			v.idles()
		default:
			v.unclear, l.muddled = overwrites, l.tick
		}
	}
	if free && x.sent > l.muddled {
		l.muddled = 0
	}
}

// idles notes that the write changed nothing.
func (v *view) idles() {
	v.call, v.wrote, v.idle, v.ttl = "", false, true, 0
}

// possession says whose a value is.
type possession uint8

const (
	unclear possession = iota // the same value is that of several nodes
	ofNode                    // it is the node's own
	ofOther
)

// mine reports whether the node had the value in the lock, or may have had it.
func (x *Exchange) mine(value string) bool { return slices.Contains(x.held, value) }

// whose finds out whose lock the view found.
func (x *Exchange) whose(v *view) possession {
	l := x.conn.lock
	if !v.known || l.owners[v.held] == nil {
		return ofOther
	}
	if !l.owners[v.held].shared {
		if l.owners[v.held].node == x.conn.node {
			return ofNode
		}
		return ofOther
	}
	rival := slices.Contains(x.around.rivals, v.held)
	for node, m := range l.members { // any order: one is enough
		rival = rival || node != x.conn.node && (m.entered[v.held] > x.sent || slices.Contains(m.holds.names(), v.held))
	}
	switch {
	case x.mine(v.held) && !rival:
		return ofNode
	case rival && !x.mine(v.held):
		return ofOther
	default:
		return unclear
	}
}

// foreign reports whether the view found a value of which a script knows nothing, although
// only values that it knows can have been in the lock.
func (x *Exchange) foreign(v *view) bool {
	l := x.conn.lock
	if !v.shown || v.known || !v.other || v.before != present || !l.cleared || l.muddled > 0 {
		return false
	}
	unknown := func(value string) bool { return !slices.Contains(v.not, value) }
	if slices.ContainsFunc(x.around.values, unknown) {
		return false
	}
	for node, m := range l.members { // any order: all count
		murky := m.murky
		if x.murky && node == x.conn.node {
			murky-- // what it wrote is what its views say
		}
		if murky > 0 || slices.ContainsFunc(m.holds.names(), unknown) {
			return false
		}
		for value, entered := range m.entered { // any order: all count
			if entered > x.sent && unknown(value) {
				return false
			}
		}
	}
	return true
}
