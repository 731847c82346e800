package wire

import (
	"maps"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// tenure is the lease that a record was last granted for certain. The lease lasts from the
// write on, for as long as the record says. That is what a reader goes by that waits until it
// saw the record unchanged for so long. One that compares the record's time with its wall
// clock may take the lease a little earlier: what happens then is not understood.
type tenure struct {
	node     string
	sent     time.Time // the write
	answered time.Time
	last     time.Time // a later write of which nobody knows whether it took effect
	stamp    time.Time // what the record tells
	lasts    time.Duration
}

// betweenEnds is why nothing is understood of what others do between the end of a lease that
// its record tells, and one lease after the record was written.
const betweenEnds = "a lease that is over by the time in its record, but was written less than a lease ago: when it ends depends on the reader's clock"

// over is when the lease has ended for every reader.
func (t *tenure) over() time.Time {
	if t.last.After(t.answered) {
		return t.last.Add(t.lasts)
	}
	return t.answered.Add(t.lasts)
}

// open reports whether the lease may have ended for one reader and not for another when a
// request was carried out. Readers' clocks may be fast by the drift.
func (t *tenure) open(sent, answered time.Time, drift float64) bool {
	from := t.sent
	if t.stamp.Before(from) {
		from = t.stamp
	}
	wait := time.Duration(float64(t.lasts) * (1 - drift))
	return !sent.Before(from.Add(wait)) && answered.Before(t.over())
}

// lives reports whether the node certainly has the lease of its record at that time, if
// nobody takes it away.
func (l *Lock) lives(node string, at time.Time) bool {
	return l.tenure.node == node && at.Before(l.tenure.sent.Add(l.tenure.lasts))
}

// readable reports whether a value may be a record: not if keys of the lock end by
// themselves.
func (l *Lock) readable() bool {
	return !l.ends && l.options.Wall != nil && l.options.Lease > 0
}

// record reads a value that was written at the time sent as a record.
func (l *Lock) record(text string, sent time.Time) (record, bool) {
	if !l.readable() {
		return record{}, false
	}
	return readRecord(text, l.options.Lease, sent)
}

// identity is the holder that a value names: the value itself, if it is no record.
func (l *Lock) identity(value string) string {
	if r, is := l.record(value, time.Time{}); is {
		return r.holder
	}
	return value
}

// owns reports whether the value is one of the node.
func (l *Lock) owns(node, value string) bool {
	if who := l.names[l.identity(value)]; who != "" {
		return who == node
	}
	return slices.Contains(l.member(node).values, value)
}

// recent are the values that the lock may hold, if it holds records: those without a holder
// and those that nodes have in it, or may have. For a script that asks what time it is there
// are also such of other times: it may have written another one than was foreseen.
func (l *Lock) recent(node string, timed bool) []string {
	var list []string
	for _, other := range slices.Sorted(maps.Keys(l.members)) {
		if other != node {
			list = append(list, l.members[other].holds.names()...)
		}
	}
	list = slices.Concat(list, l.vacancies, l.member(node).holds.names())
	if timed {
		for _, text := range slices.Clone(list) {
			list = append(list, shifted(text)...)
		}
	}
	return list[max(0, len(list)-maxHeld):]
}

// track notes what an operation that ended says about the lease of a record.
func (x *Exchange) track(op *operation, kind history.Kind) {
	l, node, sent := x.conn.lock, x.conn.node, x.sentAs.sent.Time
	t := &l.tenure
	writes := op.event.Call == history.Acquire || op.event.Call == history.Renew
	switch {
	case !l.records:
	case kind == history.Ok && op.event.Call == history.Release:
		*t = tenure{}
	case kind == history.Ok && writes && (t.node == node || !sent.Before(t.sent)):
		*t = tenure{node: node, sent: sent, answered: l.now(), stamp: x.stamp, lasts: op.event.TTL}
	case kind == history.Info && writes && t.node == node:
		t.last = sent
	}
}

// premature reports whether the view shows the lock free although the lease of another node
// may not be over.
func (x *Exchange) premature(v *view) bool {
	return v.call == "" && v.before == absent && x.between()
}

// between reports whether the request was carried out when the lease of another node was over
// for some readers only.
func (x *Exchange) between() bool {
	l := x.conn.lock
	return l.records && l.tenure.node != "" && l.tenure.node != x.conn.node && l.tenure.open(x.sentAs.sent.Time, l.now(), l.options.Drift)
}

// untimely is why nobody can say what a request did to a record, if so. Only the answer
// shows whether it did anything.
func (x *Exchange) untimely(v *view) string {
	switch {
	case v.call == "" || len(x.ops) == 0:
		return ""
	case x.between():
		return betweenEnds
	case v.call == history.Release && (x.seizes(v) || !x.sentAs.sent.leads):
		return takenAway
	default:
		return ""
	}
}

// plain notes that the lock holds no records: its key ends by itself.
func (l *Lock) plain() {
	if l.records {
		for node, m := range l.members { // any order: each by itself
			for _, value := range m.holds.names() {
				l.own(node, value)
			}
		}
	}
	l.timing, l.ends, l.records = timeless, true, false
}

// names notes what a record that may be written tells.
func (x *Exchange) names(v *view) {
	l := x.conn.lock
	if v.vacancy != "" && !slices.Contains(l.vacancies, v.vacancy) {
		l.vacancies = append(l.vacancies[max(0, len(l.vacancies)-maxVacant+1):], v.vacancy)
	}
	if !v.record {
		return
	}
	l.records = true
	if v.name != "" && l.names[v.name] == "" {
		l.names[v.name] = x.conn.node
	}
	if v.fields != nil {
		if l.fields[v.name] == nil {
			l.fields[v.name] = map[string]string{}
		}
		maps.Copy(l.fields[v.name], v.fields)
	}
}

// maxVacant is how many records without a holder are remembered.
const maxVacant = 4

// states are the hashes that a script may find. As long as nobody has written the lock there
// is none.
func (l *Lock) states() []map[string]string {
	if len(l.owners) == 0 && len(l.names) == 0 {
		return []map[string]string{nil}
	}
	var list []map[string]string
	for _, name := range slices.Sorted(maps.Keys(l.fields)) {
		list = append(list, l.fields[name])
	}
	return list[max(0, len(list)-maxHeld):]
}

// enter notes that a record was written.
func (c *call) enter(v *view, value string, r record) {
	l := c.lock
	own := v.known && c.own(v.held)
	switch who := l.names[r.holder]; {
	case r.vague && !l.records && (!own || v.held == value): // nobody knows yet whether it is renewed
		v.set(value, Endless, c.own)
		return
	case r.strange != "":
		v.unclear = r.strange
	case r.holder != "" && who != "" && who != c.node:
		v.unclear = "a record that names another candidate than the one that wrote it"
	case r.holder == "" && v.now == absent: // nobody had it before either
	case r.holder == "":
		c.remove(v)
		v.vacancy = value
	default:
		v.set(value, r.lasts, c.own)
		v.fresh = v.fresh || v.known && !own
		if v.call == history.Renew && !c.sent.leads {
			v.call = history.Acquire // its lease may be over, and then this is a new one
		}
	}
	v.record, v.name, v.stamp, v.fields = true, r.holder, r.stamp, r.fields
}

// remove notes that the key was there and is no more, or a record that names nobody in its
// place. Who removes his own record after the end of the lease releases nothing.
func (c *call) remove(v *view) {
	if c.recorded() && v.call == "" && v.known && c.own(v.held) && !c.sent.leads {
		v.now, v.idle = absent, true
		return
	}
	v.remove()
}

// vacant reports whether the text, found in the lock, says that nobody holds the lease.
func (c *call) vacant(text string) bool {
	if !c.recorded() {
		return false
	}
	r, is := c.lock.record(text, c.sent.Time)
	return is && r.holder == "" || text == ""
}

// records reports whether a value, written for that time to live, is a record.
func (c *call) records(value string, ttl time.Duration) (record, bool) {
	if c.lock == nil {
		return record{}, false
	}
	r, is := c.lock.record(value, c.sent.Time)
	return r, is && ttl > r.outlives()
}

// recorded reports whether the lock is known to hold records.
func (c *call) recorded() bool { return c.lock != nil && c.lock.records }

// sets reports whether a SET writes a record.
func (c *call) sets(s settings) bool {
	_, is := c.records(s.value, s.ttl)
	return is
}

// prolong notes that the key got another time to live. If that is much longer than the
// lease of the record in it, it says nothing about the lease.
func (c *call) prolong(v *view, ttl time.Duration) {
	lasts := v.ttl
	if !v.record {
		if !c.recorded() {
			v.prolong(ttl)
			return
		}
		lasts = max(c.lock.tenure.lasts, c.lock.options.Lease)
	}
	if r := (record{lasts: lasts}); ttl > r.outlives() {
		v.find(present)
		return
	}
	v.record = false
	v.prolong(ttl)
}
