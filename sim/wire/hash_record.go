package wire

import (
	"maps"
	"slices"

	"github.com/recount-io/recount/history"
)

// A record may be a hash: a field names the holder, and others tell when the lease was
// renewed and how long it lasts.

// hsetRecord notes an HSET of a record, and reports whether it is one. Without the holder
// it renews the lease of any holder.
func (c *call) hsetRecord(v *view, reply Value) bool {
	if c.lock == nil || !c.lock.readable() {
		return false
	}
	fields := map[string]string{}
	others := false
	for i := 2; i < len(c.args); i += 2 {
		fields[c.args[i]] = c.args[i+1]
		others = others || !aside(c.args[i])
	}
	r, is := recordOf(fields, c.lock.options.Lease, c.sent.Time)
	switch {
	case is:
		for field := range fields { // any order: each by itself
			if slices.Contains(holderNames, plainName(field)) {
				c.slots[field] = true
			}
		}
		if reply.Kind == Int && reply.Int == int64(len(fields)) {
			v.find(absent)
		}
		c.enter(v, r.holder, r)
	case c.lock.records && !others:
		v.prolong(c.lock.tenure.lasts)
		if v.known && c.own(v.held) && !c.sent.leads {
			v.call = history.Acquire // see enter
		}
		if v.record = true; v.known {
			v.name, v.fields = v.held, fields
		}
	default:
		return false
	}
	v.sent = c.sent.Time
	return true
}

// stated are the values of a field of a record, as a script may find it. The times in them
// may be others: a script may have got them from the server.
func (c *call) stated(v *view, field string) []Value {
	var list []Value
	for _, state := range c.states {
		text, is := state[field]
		if holder, _ := pick(state, holderNames); !is || v.known && holder != v.held {
			continue
		}
		for _, text := range append([]string{text}, shifted(text)...) {
			if !slices.ContainsFunc(list, func(v Value) bool { return v.Text == text }) {
				list = append(list, bulk(text))
			}
		}
	}
	if list == nil { // of a holder of whom nothing is known
		return []Value{bulk(someNumber), bulk(farNumber)}
	}
	return list
}

// wholes are the replies that HMGET and HGETALL may get in a script: each record, with its
// times and with others. None: it is no hash of a record.
func (c *call) wholes(there func(yes, no []Value) []Value) []Value {
	if len(c.states) == 0 {
		return nil
	}
	var yes []Value
	for _, state := range c.states {
		for by := range 3 {
			yes = append(yes, c.whole(state, by))
		}
	}
	return there(yes, []Value{c.whole(nil, 0)})
}

// whole is the reply if the hash has these fields: by is 0, or which of the shifted times
// they have.
func (c *call) whole(state map[string]string, by int) Value {
	reply := Value{Kind: Array}
	names := c.args[2:]
	if c.name == "HGETALL" {
		names = slices.Sorted(maps.Keys(state))
	}
	for _, field := range names {
		text, is := state[field]
		if by > 0 && aside(field) {
			text = shifted(text)[by-1]
		}
		item := bulk(text)
		if !is {
			item = nilReply
		}
		if c.name == "HGETALL" {
			reply.Items = append(reply.Items, bulk(field))
		}
		reply.Items = append(reply.Items, item)
	}
	return reply
}
