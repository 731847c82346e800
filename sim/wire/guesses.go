package wire

import (
	"slices"
	"strconv"
	"time"
)

// foreign stands for a value that is none of those that a script knows.
const foreign = "\x00foreign value\x00"

var (
	okReply  = Value{Kind: Status, Text: "OK"}
	nilReply = Value{}
)

func number(n int64) Value   { return Value{Kind: Int, Int: n} }
func bulk(text string) Value { return Value{Kind: Bulk, Text: text} }

// guesses are the replies that a command on the lock's key may get, as far as
// they differ in what they mean, after what happened before in the same
// execution.
func (c *call) guesses(v *view) []Value {
	there := func(yes, no []Value) []Value {
		switch v.now {
		case present:
			return yes
		case absent:
			return no
		default:
			return append(append([]Value(nil), yes...), no...)
		}
	}
	one, zero, void, fine := []Value{number(1)}, []Value{number(0)}, []Value{nilReply}, []Value{okReply}
	switch c.name {
	case "SET":
		switch s := c.settings(); {
		case s.get && s.nx:
			return there(c.holds(v), void)
		case s.get:
			return there(c.holds(v), void)
		case s.nx:
			return there(void, fine)
		case s.xx:
			return there(fine, void)
		case s.compares:
			return []Value{okReply, nilReply}
		}
		return fine
	case "SETEX", "PSETEX", "MSET":
		return fine
	case "SETNX":
		return there(zero, one)
	case "MSETNX":
		return []Value{number(0), number(1)}
	case "GET", "GETDEL", "GETEX", "GETSET":
		return there(c.holds(v), void)
	case "GETRANGE":
		return there(c.parts(v), []Value{bulk("")})
	case "MGET":
		return c.several(there(c.holds(v), void))
	case "DELIFEQ", "DELEX":
		return []Value{number(0), number(1)}
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST":
		if len(c.args) > 3 || c.name == "PERSIST" {
			return there([]Value{number(0), number(1)}, zero)
		}
		return there(one, zero)
	case "DEL", "UNLINK", "EXISTS", "TOUCH":
		if !c.alone() {
			return []Value{number(0), number(1), number(int64(len(c.args) - 1))}
		}
		return there(one, zero)
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME":
		return there([]Value{number(-1), number(sentinel), number(largeSentinel)}, []Value{number(-2)})
	case "STRLEN":
		return there([]Value{number(sentinel)}, zero)
	case "TYPE":
		return there([]Value{{Kind: Status, Text: "string"}}, []Value{{Kind: Status, Text: "none"}})
	}
	return c.hashGuesses(v, there)
}

// holds are the values that the key may be found to hold.
func (c *call) holds(v *view) []Value {
	switch {
	case v.wrote:
		return []Value{bulk(v.value)}
	case v.known:
		return []Value{bulk(v.held)}
	}
	var list []Value
	for _, text := range slices.Concat(c.candidates, c.mine) {
		list = append(list, bulk(text))
	}
	return append(list, bulk(foreign))
}

// several are the replies that MGET may get: each value that the key may hold, beside
// each one that the other keys may. None: they are too many.
func (c *call) several(held []Value) []Value {
	others := []Value{nilReply, bulk(someNumber)}
	for _, text := range c.candidates { // a lock may be several keys of one value
		others = append(others, bulk(text))
	}
	list := []Value{{Kind: Array}}
	for _, key := range c.args[1:] {
		values := others
		if key == c.key.key {
			values = held
		}
		var next []Value
		for _, before := range list {
			for _, v := range values {
				next = append(next, Value{Kind: Array, Items: append(slices.Clip(before.Items), v)})
			}
		}
		if list = next; len(list) > fewViews {
			return nil
		}
	}
	return list
}

// parts are the parts of those values that GETRANGE may get.
func (c *call) parts(v *view) []Value {
	list := c.holds(v)
	for i := range list {
		if list[i].Text != foreign {
			list[i].Text = c.cut(list[i].Text)
		}
	}
	return list
}

// someNumber stands for any number that is not 0, sentinel for a small one
// with a role in the script's arithmetic, and largeSentinel for any large one.
const (
	sentinel      = 7
	largeSentinel = 982451653
	someNumber    = "982451653"
)

// farNumber is greater than any time that a clock shows, in whatever unit, and
// someNumber is smaller: a script that asks what time it is can be expected to
// compare what it finds with that.
const (
	farNumber = "4000000000000000000"
	far       = 4_000_000_000_000_000_000
)

// guessed reports whether a number is made of one that a script was given for what
// nobody knows.
func guessed(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	if n < 0 {
		n = -n
	}
	return err == nil && (n >= far/2 || largeSentinel-1e6 < n && n < largeSentinel+1e6)
}

// later adds to guesses what they are if a time is meant that is to come.
func later(list []Value) []Value {
	for _, v := range list {
		switch {
		case v.Kind == Bulk && v.Text == someNumber:
			list = append(list, bulk(farNumber))
		case v.Kind == Int && v.Int == largeSentinel:
			list = append(list, number(far))
		}
	}
	return list
}

// shows is the answer to TIME.
func shows(now time.Time) []Value {
	if now.IsZero() {
		return nil
	}
	return []Value{{Kind: Array, Items: []Value{bulk(strconv.FormatInt(now.Unix(), 10)), bulk(strconv.Itoa(now.Nanosecond() / 1000))}}}
}

// guessOther are the replies that a command may get that is not about the
// lock, as far as a script can be expected to tell them apart.
func guessOther(cmd command) []Value {
	large := number(largeSentinel)
	switch cmd.name {
	case "GET", "HGET", "GETSET", "GETDEL", "GETEX", "LINDEX", "LPOP", "RPOP", "SPOP", "SRANDMEMBER", "ZSCORE", "GETRANGE", "ZRANK", "ZREVRANK", "RPOPLPUSH", "LMOVE":
		return []Value{nilReply, bulk(someNumber)}
	case "SET":
		if takesFree(cmd) {
			return []Value{okReply, nilReply}
		}
		return []Value{okReply}
	case "SETEX", "PSETEX", "MSET", "HMSET", "FLUSHDB", "FLUSHALL", "SELECT", "RENAME", "LTRIM", "LSET":
		return []Value{okReply}
	case "MGET", "HMGET":
		var none, some []Value
		for range len(cmd.args) - map[string]int{"MGET": 1, "HMGET": 2}[cmd.name] {
			none, some = append(none, nilReply), append(some, bulk(someNumber))
		}
		return []Value{{Kind: Array, Items: none}, {Kind: Array, Items: some}}
	case "ZINCRBY", "HINCRBYFLOAT", "INCRBYFLOAT":
		return []Value{bulk(someNumber)}
	case "INCR", "INCRBY", "HINCRBY", "RPUSH", "LPUSH": // counters begin with 1
		return []Value{large, number(1)}
	case "DECR", "DECRBY", "XLEN", "LLEN", "HLEN", "SCARD", "ZCARD", "APPEND", "STRLEN", "ZCOUNT", "LREM", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK", "XDEL", "XTRIM", "SETRANGE":
		return []Value{large, number(1), number(0)}
	case "DEL", "UNLINK", "EXISTS", "SETNX", "MSETNX", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "HEXISTS", "HDEL",
		"SADD", "SREM", "SISMEMBER", "ZADD", "ZREM", "HSETNX", "TOUCH", "RENAMENX", "COPY", "SMOVE":
		return []Value{number(0), number(1)}
	case "HSET", "PUBLISH", "SPUBLISH":
		return []Value{number(0), number(1), large}
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME":
		return []Value{number(-2), number(-1), number(sentinel), large}
	case "HGETALL", "SMEMBERS", "LRANGE", "ZRANGE", "KEYS", "HKEYS", "HVALS", "ZRANGEBYSCORE", "ZREVRANGE", "ZREVRANGEBYSCORE", "XRANGE", "XREVRANGE", "ZPOPMIN", "ZPOPMAX":
		return []Value{{Kind: Array}}
	case "XADD":
		return []Value{bulk(someNumber + "-0")}
	case "PING":
		return []Value{{Kind: Status, Text: "PONG"}}
	case "TYPE":
		return []Value{{Kind: Status, Text: "none"}, {Kind: Status, Text: "string"}}
	default:
		return nil
	}
}
