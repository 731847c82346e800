package wire

import (
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
)

// call is one command on the lock's key.
type call struct {
	name string
	args []string // the command's name first
	key  place
	own  func(value string) bool // it is the caller's

	sent       moment                  // see command
	candidates []string                // values that the key may hold, as a script can tell them apart
	owned      func(value string) bool // somebody sent it to take the lock with; nil: nobody knows
	slots      map[string]bool         // fields whose value is the holder
	mine       []string                // values that the node may have in the lock, if it is no script that asks

	lock   *Lock // nil: what a record says does not matter
	node   string
	states []map[string]string // of a hash of a record, as a script may find it
}

// step notes what a command on the lock's key shows and does, by its reply,
// which is no error.
func (c *call) step(v *view, reply Value) {
	switch {
	case reply.Kind == Withheld || reply.Kind == Error:
		v.unclear = c.name + " got a reply that cannot be read"
	case c.strings(v, reply), c.conditional(v, reply), c.expiries(v, reply), c.removals(v, reply), c.reads(v, reply), c.hashes(v, reply):
	default:
		v.unclear = c.name + " is not understood"
	}
}

// strings are the commands that write a value.
func (c *call) strings(v *view, reply Value) bool {
	switch c.name {
	case "SET":
		c.set(v, reply)
	case "SETNX", "MSETNX":
		switch value, known := c.written(); {
		case reply.no() && c.alone():
			v.find(present)
		case reply.no():
		case reply.yes() && known:
			v.find(absent)
			c.write(v, value, Endless)
		default:
			return false
		}
	case "MSET":
		value, known := c.written()
		if !known {
			return false
		}
		c.write(v, value, Endless)
	case "SETEX", "PSETEX":
		ttl, fine := duration(c.arg(2), map[string]time.Duration{"SETEX": time.Second, "PSETEX": time.Millisecond}[c.name])
		if !fine || len(c.args) != 4 {
			return false
		}
		c.write(v, c.args[3], ttl)
	case "GETSET":
		c.former(v, reply)
		c.write(v, c.arg(2), Endless)
		v.shown = true
	default:
		return false
	}
	return true
}

// write notes that the value was written.
func (c *call) write(v *view, value string, ttl time.Duration) {
	v.sent = c.sent.Time
	if r, is := c.records(value, ttl); is {
		c.enter(v, value, r)
		return
	}
	v.set(value, ttl, c.own)
}

// former notes the value that the reply says the key held before.
func (c *call) former(v *view, reply Value) {
	if text, fine := reply.text(); fine {
		c.read(v, text)
	} else if reply.Kind == Nil {
		v.find(absent)
	}
}

// read notes the value that the key was found to hold.
func (c *call) read(v *view, text string) {
	switch {
	case text == foreign:
		v.find(present)
		v.lacks(c.candidates...)
	case c.vacant(text):
		v.find(absent)
	default:
		v.read(text)
	}
}

// part notes what a part of the value tells about the whole: a value that a
// script knows and that has this part is taken to be it.
func (c *call) part(v *view, reply Value) {
	text, fine := reply.text()
	switch {
	case !fine || c.arg(2) != "0": // a value may be too short to reach there
	case text == "":
		v.find(absent)
	case text == foreign:
		c.read(v, foreign)
	default:
		v.find(present)
		for _, value := range c.candidates {
			if c.cut(value) == text {
				v.read(value)
				return
			}
		}
	}
}

// cut is the part of a value that GETRANGE asks for.
func (c *call) cut(value string) string {
	bound := func(i int) int {
		n, err := strconv.Atoi(c.arg(i))
		if err != nil {
			return 0
		}
		if n < 0 {
			n += len(value)
		}
		return max(n, 0)
	}
	from, to := bound(2), min(bound(3)+1, len(value))
	if from >= to {
		return ""
	}
	return value[from:to]
}

// alone reports whether the command is about one key.
func (c *call) alone() bool {
	switch c.name {
	case "MSETNX":
		return len(c.args) == 3
	case "DEL", "UNLINK", "EXISTS", "TOUCH", "MGET":
		return len(c.args) == 2
	default:
		return true
	}
}

// written is the value that SETNX, MSET and MSETNX give to the key.
func (c *call) written() (string, bool) {
	for i := len(c.args) - 2; i > 0; i -= 2 { // the last one counts
		if c.args[i] == c.key.key {
			return c.args[i+1], len(c.args)%2 == 1
		}
	}
	return "", false
}

func (c *call) set(v *view, reply Value) {
	s := c.settings()
	if s.strange != "" {
		v.unclear = s.strange
		return
	}
	_, isText := reply.text()
	took := reply.okay()
	if s.get && !s.compares {
		took = isText && !s.nx || reply.Kind == Nil && !s.xx
		c.former(v, reply)
		v.shown = v.shown || took && !s.nx
	}
	switch {
	case took && s.keeps && v.now != absent && !s.nx:
		c.keeps(v, s)
	case took && s.nx:
		v.find(absent)
		c.write(v, s.value, s.ttl)
	case took && s.compares:
		c.read(v, s.equals)
		c.write(v, s.value, s.ttl)
	case took && s.xx && !c.sets(s):
		v.rewrite(s.value, s.ttl)
		v.sent = c.sent.Time
	case took:
		c.write(v, s.value, s.ttl)
	case reply.Kind == Nil && s.nx, isText && s.get && s.nx:
		v.find(present)
	case reply.Kind == Nil && s.xx:
		v.find(absent)
	case reply.Kind == Nil && s.compares:
		v.lacks(s.equals)
	default:
		v.unclear = "SET got a reply that does not fit"
	}
}

// keeps notes a write where something was that leaves the time to live as it was.
func (c *call) keeps(v *view, s settings) {
	if v.shown && v.known && !v.wrote && v.held == s.value {
		v.idle = true
		return
	}
	v.unclear = "SET with KEEPTTL is not understood"
}

// settings are the options of a SET.
type settings struct {
	value       string
	ttl         time.Duration
	nx, xx, get bool
	keeps       bool // KEEPTTL
	compares    bool // IFEQ
	equals      string
	strange     string // what is not understood
}

func (c *call) settings() settings {
	s := settings{value: c.arg(2), ttl: Endless}
	for i := 3; i < len(c.args); i++ {
		switch option := upper(c.args[i]); option {
		case "NX":
			s.nx = true
		case "XX":
			s.xx = true
		case "GET":
			s.get = true
		case "KEEPTTL":
			s.keeps = true
		case "IFEQ":
			i++
			s.compares, s.equals = true, c.arg(i)
		case "EX", "PX", "EXAT", "PXAT":
			i++
			ttl, fine := c.lasts(option, c.arg(i))
			if !fine || ttl <= 0 {
				s.strange = "how long SET with " + option + " lasts is not known"
			}
			s.ttl = ttl
		default:
			s.strange = "SET with " + option + " is not understood"
		}
	}
	return s
}

// conditional are the commands that delete a key if it holds a value.
func (c *call) conditional(v *view, reply Value) bool {
	value := c.arg(2)
	switch {
	case c.name == "DELIFEQ" && len(c.args) == 3:
	case c.name == "DELEX" && len(c.args) == 4 && upper(c.args[2]) == "IFEQ":
		value = c.args[3]
	default:
		return false
	}
	switch {
	case reply.yes():
		c.read(v, value)
		c.remove(v)
	case reply.no():
		v.lacks(value)
	default:
		return false
	}
	return true
}

// expiries are the commands that give a key another time to live.
func (c *call) expiries(v *view, reply Value) bool {
	var ttl time.Duration
	fine := true
	switch c.name {
	case "EXPIRE":
		ttl, fine = c.lasts("EX", c.arg(2))
	case "PEXPIRE":
		ttl, fine = c.lasts("PX", c.arg(2))
	case "EXPIREAT":
		ttl, fine = c.lasts("EXAT", c.arg(2))
	case "PEXPIREAT":
		ttl, fine = c.lasts("PXAT", c.arg(2))
	case "PERSIST":
		ttl = Endless
	case "GETEX":
		return c.getex(v, reply)
	default:
		return false
	}
	conditions := c.name != "PERSIST" && len(c.args) > 3
	switch {
	case reply.no() && (conditions || c.name == "PERSIST"): // not there, or it has the wrong time to live
	case reply.no():
		v.find(absent)
	case !reply.yes() || !fine:
		return false
	case ttl <= 0:
		v.remove()
	default:
		c.prolong(v, ttl)
	}
	return true
}

func (c *call) getex(v *view, reply Value) bool {
	text, fine := reply.text()
	switch {
	case reply.Kind == Nil:
		v.find(absent)
		return true
	case !fine:
		return false
	}
	c.read(v, text)
	if len(c.args) == 2 {
		return true
	}
	v.shown = true
	if option := upper(c.args[2]); option == "PERSIST" {
		c.prolong(v, Endless)
		return true
	} else if ttl, fine := c.lasts(option, c.arg(3)); fine {
		if ttl <= 0 {
			v.remove()
		} else {
			c.prolong(v, ttl)
		}
		return true
	}
	return false
}

// removals are the commands that delete a key.
func (c *call) removals(v *view, reply Value) bool {
	switch c.name {
	case "DEL", "UNLINK":
		switch {
		case reply.no():
			v.find(absent)
		case reply.Kind == Int && reply.Int == int64(len(c.args)-1):
			c.remove(v)
		case reply.Kind == Int:
			v.call, v.unclear = history.Release, c.name+" of several keys"
		default:
			return false
		}
	case "GETDEL":
		switch text, fine := reply.text(); {
		case reply.Kind == Nil:
			v.find(absent)
		case fine:
			c.read(v, text)
			c.remove(v)
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// reads are the commands that change nothing.
func (c *call) reads(v *view, reply Value) bool {
	switch c.name {
	case "GET":
		c.former(v, reply)
	case "GETRANGE":
		c.part(v, reply)
	case "EXISTS", "TOUCH":
		if reply.no() {
			v.find(absent)
		} else if reply.Kind == Int && reply.Int == int64(len(c.args)-1) {
			v.find(present)
		}
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME":
		if reply.Kind == Int {
			v.find(map[bool]presence{true: absent, false: present}[reply.Int == -2])
		}
	case "STRLEN":
		if reply.no() {
			v.find(absent)
		} else {
			v.find(present)
		}
	case "MGET":
		for i, item := range reply.Items {
			if c.arg(i+1) == c.key.key {
				c.former(v, item)
			}
		}
	case "TYPE":
		if reply.Text == "none" {
			v.find(absent)
		} else {
			v.find(present)
		}
	default:
		return false
	}
	return true
}

// readOnly are other commands that change nothing, and of which nothing is
// understood but that.
var readOnly = map[string]bool{
	"SUBSTR": true, "GETBIT": true, "DUMP": true, "WATCH": true, "OBJECT": true, "MEMORY": true, "DIGEST": true,
	"HGETALL": true, "HMGET": true, "LCS": true,
}

// arg is an argument, empty if there is none.
func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// lasts is the time to live that an option of SET names.
func (c *call) lasts(option, text string) (time.Duration, bool) {
	if guessed(text) {
		return 0, false
	}
	switch option {
	case "EX":
		return duration(text, time.Second)
	case "PX":
		return duration(text, time.Millisecond)
	case "EXAT", "PXAT":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || c.sent.IsZero() {
			return 0, false
		}
		at := time.UnixMilli(n)
		if option == "EXAT" {
			at = time.Unix(n, 0)
		}
		if n > 1 && c.sent.Sub(at) > near { // 0 and 1 are ways to delete a key
			return 0, false
		}
		return min(at.Sub(c.sent.Time), Endless), true
	default:
		return 0, false
	}
}

// absurd is a time to live that nobody can mean.
const absurd = 20 * 365 * 24 * time.Hour

// duration is a number of units, Endless at the most.
func duration(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || guessed(text) {
		return 0, false
	}
	if n > int64(Endless/unit) {
		return Endless, n/1000 < int64(absurd/unit/1000)
	}
	return max(time.Duration(n), 0) * unit, true
}
