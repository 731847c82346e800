package wire

import "slices"

// plausible leaves out the views in which the lock held what it cannot have held, unless
// no other one is left. That explains a script that says yes to its holder and does
// nothing, and says yes to a node that takes the free lock.
func (x *Exchange) plausible(views []view) []view {
	list := slices.DeleteFunc(slices.Clone(views), func(v view) bool {
		return v.unclear == "" && (v.known && x.never(v.held) || x.foreign(&v))
	})
	if len(list) == 0 {
		return views
	}
	return list
}

// never reports whether the lock cannot have held the value when the request was carried
// out: only its node ever sent it, no request of the node that may have written it was under
// way or is unsettled, and it is not from before the run.
func (x *Exchange) never(value string) bool {
	l := x.conn.lock
	m := l.member(x.conn.node)
	switch {
	case l.records && m.entered[value] == 0: // a record that a script made with the server's time
		return false
	case l.holder(value) != x.conn.node, m.murky > 0, m.entered[value] > x.sent, slices.Contains(x.held, value):
		return false
	default:
		return l.cleared || l.absent[value]
	}
}

// supersede notes what nodes do not hold any more, if the views show what the lock holds
// after the request: what was granted before that was sent, but for what it wrote itself.
func (x *Exchange) supersede(views []view) {
	l := x.conn.lock
	if len(views) == 0 || slices.ContainsFunc(views, func(v view) bool { return v.unclear != "" || !v.wrote && v.now != absent }) {
		return
	}
	wrote := slices.ContainsFunc(views, func(v view) bool { return v.wrote })
	for node, m := range l.members { // any order: each by itself
		if node != x.conn.node || !wrote {
			m.holds.over(x.sent)
		}
	}
}

// notice notes what the lock was seen not to hold. What it did not hold at some time of the
// run can only be there because somebody wrote it since, and not from before.
func (x *Exchange) notice(views []view) {
	l := x.conn.lock
	if l.cleared || len(views) == 0 || slices.ContainsFunc(views, func(v view) bool { return v.unclear != "" }) {
		return
	}
	if !slices.ContainsFunc(views, func(v view) bool { return v.before != absent }) {
		l.cleared = true
		return
	}
	values := l.member(x.conn.node).values
	for _, value := range values[max(0, len(values)-maxHeld):] {
		if !slices.ContainsFunc(views, func(v view) bool { return !v.unlike([]string{value}) }) {
			l.absent[value] = true
		}
	}
}

// distrust makes of a script that answered what none of its executions answers one that
// nobody can foresee, this time as well: it may have been any operation on the lock.
func (x *Exchange) distrust(reply Value) {
	c := x.conn
	if reply.Kind == Error || reply.Kind == Withheld {
		return // it may have ended in the middle, and what that can have written is known
	}
	c.lock.member(c.node).murky++
	if x.multi || !isScript(x.commands[0].name) {
		return
	}
	if s := c.scriptOf(x.commands[0]); s != nil {
		s.odd = true
	}
	what := x.commands[0].what()
	other := c.whatever(what)
	c.lock.tally.revise(what) // it is counted already
	c.lock.tally.requests--
	other.lose("the reply shows that the script did what nobody can foresee")
}
