package wire

import (
	"slices"
	"strconv"
)

// A lock may be a hash. Either each holder is a field of it, whose value counts
// how often it took the lock, or one field holds who the holder is, beside others
// that say more about the lease.

// role is what a field of a hash is for.
type role uint8

const (
	obscure role = iota // nobody can say
	holder              // it is named after who holds the lock
	slot                // its value is who holds the lock, or more about the lease
)

// role finds out what the field is for. A name that a script was given is that of
// a holder, one that it has itself is not.
func (c *call) role(field string) role {
	switch {
	case c.candidates != nil && slices.Contains(c.candidates, field), c.owned != nil && c.owned(field):
		return holder
	case c.candidates != nil, c.slots[field]:
		return slot
	default:
		return obscure
	}
}

// small reports whether a value is a number that counts something.
func small(value string) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && n > -1e6 && n < 1e6
}

// hashes are the commands on a lock that is a hash.
func (c *call) hashes(v *view, reply Value) bool {
	field := c.arg(2)
	switch c.name {
	case "HSETNX":
		return c.hsetnx(v, reply)
	case "HSET", "HMSET":
		return c.hset(v, reply)
	case "HINCRBY":
		return c.hincrby(v, reply)
	case "HEXISTS":
		c.field(v, field, reply.yes(), Value{})
	case "HGET":
		if _, is := reply.text(); !is && reply.Kind != Nil {
			return false
		}
		c.field(v, field, reply.Kind != Nil, reply)
	case "HDEL":
		switch there := reply.yes(); {
		case c.role(field) == obscure:
			return false
		case there:
			c.field(v, field, true, Value{})
			c.remove(v)
		default:
			c.field(v, field, false, Value{})
		}
	case "HLEN":
		v.find(map[bool]presence{true: present, false: absent}[reply.yes()])
	case "HMGET", "HGETALL":
		return c.fields(v, reply)
	default:
		return false
	}
	return true
}

// fields notes what the reply tells of several fields.
func (c *call) fields(v *view, reply Value) bool {
	switch {
	case c.name == "HMGET" && reply.Kind == Array && len(reply.Items) == len(c.args)-2:
		for i, item := range reply.Items {
			c.field(v, c.args[i+2], item.Kind != Nil, item)
		}
	case c.name == "HGETALL" && (reply.Kind == Array || reply.Kind == Map) && len(reply.Items)%2 == 0:
		if len(reply.Items) == 0 {
			v.find(absent)
		}
		for i := 0; i < len(reply.Items); i += 2 {
			name, _ := reply.Items[i].text()
			c.field(v, name, true, reply.Items[i+1])
		}
	default:
		return false
	}
	return true
}

// field notes that a field is there, with a value if that was asked for, or not.
func (c *call) field(v *view, field string, there bool, value Value) {
	text, isText := value.text()
	switch of := c.role(field); {
	case of == holder && there:
		v.read(field)
	case of == holder:
		v.lacks(field)
	case there && isText && (aside(field) || c.recorded() && !c.slots[field]):
		v.find(present)
	case there && isText && (c.slots[field] || !number64(text)):
		c.read(v, text)
	case there:
		v.find(present)
	case of == slot && c.slots[field]:
		v.find(absent)
	default:
		v.lacking = append(slices.Clip(v.lacking), field)
	}
}

func number64(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// puts notes that the field is written, as one of several. It returns whether
// it says who holds the lock.
func (c *call) puts(v *view, field, value string) (id string, says bool) {
	switch {
	case aside(field): // below
	case !number64(value):
		c.slots[field] = true
		return value, true
	case small(value) && c.role(field) != slot:
		return field, true
	}
	if _, tells := latest(value, c.sent.Time); tells {
		v.clocked = true
	}
	return "", false
}

func (c *call) hsetnx(v *view, reply Value) bool {
	id, says := c.puts(v, c.arg(2), c.arg(3))
	switch {
	case len(c.args) != 4:
		return false
	case !says:
	case reply.yes():
		if c.role(c.arg(2)) != holder {
			v.find(absent)
		}
		c.write(v, id, Endless)
	case reply.no():
		v.find(present)
	default:
		return false
	}
	return true
}

func (c *call) hset(v *view, reply Value) bool {
	pairs := (len(c.args) - 2) / 2
	if pairs < 1 || len(c.args)%2 != 0 {
		return false
	}
	if c.hsetRecord(v, reply) {
		return true
	}
	known := false // the first field that says it counts
	for i := 2; i < len(c.args); i += 2 {
		id, says := c.puts(v, c.args[i], c.args[i+1])
		if !says || known {
			continue
		}
		known = true
		added := reply.Kind == Int && reply.Int == int64(pairs) || slices.Contains(v.lacking, c.args[i])
		if c.role(c.args[i]) == slot && added {
			v.find(absent)
		}
		c.write(v, id, Endless)
	}
	return true
}

func (c *call) hincrby(v *view, reply Value) bool {
	field := c.arg(2)
	by, err := strconv.ParseInt(c.arg(3), 10, 64)
	switch {
	case err != nil || reply.Kind != Int:
		return false
	case c.role(field) == slot, by < 0, v.record, c.recorded(): // one of several holds remains, or a DEL follows
	case reply.Int == by:
		c.write(v, field, Endless)
	default:
		v.read(field) // and its time to live stays
	}
	return true
}

// hashGuesses are the replies that a command on a lock that is a hash may get.
func (c *call) hashGuesses(v *view, there func(yes, no []Value) []Value) []Value {
	field := c.arg(2)
	either := func(yes, no Value) []Value {
		held := v.held
		if v.wrote {
			held = v.value
		}
		switch {
		case c.role(field) != holder || v.now == absent:
			return there([]Value{yes}, []Value{no})
		case !v.known && !v.wrote:
			return []Value{yes, no}
		case held == field:
			return []Value{yes}
		default:
			return []Value{no}
		}
	}
	switch c.name {
	case "HEXISTS", "HDEL":
		return either(number(1), number(0))
	case "HLEN":
		return there([]Value{number(1), number(2)}, []Value{number(0)})
	case "HGET":
		if c.role(field) == holder {
			return either(bulk(someNumber), nilReply)
		}
		if len(c.states) > 0 && (aside(field) || c.states[0] != nil && !c.slots[field]) {
			return there(c.stated(v, field), []Value{nilReply})
		}
		return there(c.holds(v), []Value{nilReply})
	case "HMGET", "HGETALL":
		return c.wholes(there)
	case "HSETNX":
		return either(number(0), number(1))
	case "HSET":
		return there([]Value{number(0), number(int64(len(c.args)-2) / 2)}, []Value{number(int64(len(c.args)-2) / 2)})
	case "HMSET":
		return []Value{okReply}
	case "HINCRBY":
		by, err := strconv.ParseInt(c.arg(3), 10, 64)
		switch {
		case err != nil:
			return nil
		case by < 0:
			return []Value{number(largeSentinel), number(0)}
		case c.role(field) == slot:
			return []Value{number(largeSentinel), number(by)}
		}
		return either(number(largeSentinel), number(by))
	}
	return nil
}
