package redismodel

import (
	"math"
	"strconv"
	"strings"
)

func (s *Server) doString(n name, args []string) Reply {
	key := args[1]
	switch n {
	case cmdSet:
		return s.doSet(args)
	case cmdSetNX:
		return truth(s.set(key, args[2], setting{absent: true, expires: never}).Kind == Status)
	case cmdSetEX:
		return s.setUntil(args, 1000)
	case cmdPSetEX:
		return s.setUntil(args, 1)
	case cmdGet:
		return s.get(key)
	case cmdMGet:
		return s.getSeveral(args[1:])
	case cmdGetSet:
		return s.set(key, args[2], setting{get: true, expires: never})
	case cmdGetDel:
		reply := s.get(key)
		if reply.Kind == Bulk {
			s.change(s.data.entries[key], effect{op: opDel, key: key})
		}
		return reply
	case cmdGetRange:
		return s.getRange(args)
	case cmdMSet, cmdMSetNX:
		return s.setSeveral(args, n == cmdMSetNX)
	case cmdIncr:
		return s.incr(key, 1)
	case cmdDecr:
		return s.incr(key, -1)
	default: // cmdIncrBy, cmdDecrBy
		by, fine := parseInt(args[2])
		switch {
		case !fine:
			return Fail(errNotInteger)
		case n == cmdIncrBy:
			return s.incr(key, by)
		case by == math.MinInt64:
			return Fail("ERR decrement would overflow")
		default:
			return s.incr(key, -by)
		}
	}
}

func (s *Server) get(key string) Reply {
	e, bad := s.lookupKind(key, aString)
	switch {
	case bad:
		return Fail(errWrongType)
	case e == nil:
		return absent
	default:
		return Text(e.text)
	}
}

// getSeveral is MGET: of what is no text there is no value.
func (s *Server) getSeveral(keys []string) Reply {
	s.items = s.items[:0]
	for _, key := range keys {
		reply := s.get(key)
		if reply.Failed() {
			reply = absent
		}
		s.items = append(s.items, reply)
	}
	return Reply{Kind: Array, Items: s.items}
}

// getRange is GETRANGE: a part of the text, whose ends count from behind if
// they are negative.
func (s *Server) getRange(args []string) Reply {
	from, fine := parseInt(args[2])
	to, fine2 := parseInt(args[3])
	if !fine || !fine2 {
		return Fail(errNotInteger)
	}
	reply := s.get(args[1])
	switch n := int64(len(reply.Text)); {
	case reply.Kind == Error:
		return reply
	case from < 0 && to < 0 && from > to:
		return Text("")
	default:
		from, to = fromFront(from, n), min(fromFront(to, n), n-1)
		if n == 0 || from > to {
			return Text("")
		}
		return Text(reply.Text[from : to+1])
	}
}

// fromFront is where an index is that may count from behind.
func fromFront(i, length int64) int64 {
	if i < 0 {
		i = max(i+length, 0)
	}
	return i
}

// setSeveral is MSET, and MSETNX, which does nothing if one of the keys is there.
func (s *Server) setSeveral(args []string, absent bool) Reply {
	if len(args)%2 == 0 {
		return wrongNumber(args[0])
	}
	for i := 1; absent && i < len(args); i += 2 {
		if s.lookup(args[i]) != nil {
			return Integer(0)
		}
	}
	for i := 1; i < len(args); i += 2 {
		s.set(args[i], args[i+1], setting{expires: never})
	}
	if absent {
		return Integer(1)
	}
	return okay
}

// setting is how SET sets: its options.
type setting struct {
	absent, present bool // only if the key is not there, only if it is
	get             bool // answer the old value
	keep            bool // the old expiry time
	expires         int64
}

func (s *Server) set(key, value string, o setting) Reply {
	e := s.lookup(key)
	reply := okay
	if o.get {
		switch {
		case e != nil && e.kind != aString:
			return Fail(errWrongType)
		case e == nil:
			reply = absent
		default:
			reply = Text(e.text)
		}
	}
	if o.absent && e != nil || o.present && e == nil {
		if o.get {
			return reply
		}
		return absent
	}
	if o.keep && e != nil {
		o.expires = e.expires
	}
	s.change(e, effect{op: opSet, key: key, text: value, expires: o.expires})
	return reply
}

// setUntil is SETEX and PSETEX.
func (s *Server) setUntil(args []string, unit int64) Reply {
	expires, fault, bad := s.deadline(args[0], args[2], unit, true)
	if bad {
		return fault
	}
	return s.set(args[1], args[3], setting{expires: expires})
}

// deadline reads an expiry time of SET and its kin, which must be positive.
func (s *Server) deadline(command, text string, unit int64, relative bool) (int64, Reply, bool) {
	n, fine := parseInt(text)
	if !fine {
		return 0, Fail(errNotInteger), true
	}
	if n <= 0 || n > math.MaxInt64/unit {
		return 0, badExpiry(command), true
	}
	n *= unit
	if relative {
		if n > math.MaxInt64-s.ms {
			return 0, badExpiry(command), true
		}
		n += s.ms
	}
	return n, Reply{}, false
}

// doSet reads SET's options. Only when all are read is the time of the last
// one looked at, as in Redis: a syntax error comes before a bad number.
func (s *Server) doSet(args []string) Reply {
	o := setting{expires: never}
	var unit int64
	var relative bool
	var until string
	for i := 3; i < len(args); i++ {
		last := i == len(args)-1
		switch option := upper(args[i]); {
		case option == "NX" && !o.present:
			o.absent = true
		case option == "XX" && !o.absent:
			o.present = true
		case option == "GET":
			o.get = true
		case option == "KEEPTTL" && unit == 0:
			o.keep = true
		case !last && !o.keep && units[option].unit > 0 && (unit == 0 || units[option] == timeOption{unit, relative}):
			unit, relative = units[option].unit, units[option].relative
			i++
			until = args[i]
		default:
			return Fail(errSyntax)
		}
	}
	if unit > 0 {
		expires, fault, bad := s.deadline(args[0], until, unit, relative)
		if bad {
			return fault
		}
		o.expires = expires
	}
	return s.set(args[1], args[2], o)
}

// timeOption is an option of SET that is followed by a time.
type timeOption struct {
	unit     int64 // in milliseconds
	relative bool
}

var units = map[string]timeOption{"EX": {1000, true}, "PX": {1, true}, "EXAT": {1000, false}, "PXAT": {1, false}}

// upper is strings.ToUpper, which is slower for what is in upper case.
func upper(text string) string {
	for i := range len(text) {
		if text[i] >= 'a' && text[i] <= 'z' {
			return strings.ToUpper(text)
		}
	}
	return text
}

func (s *Server) incr(key string, by int64) Reply {
	e, bad := s.lookupKind(key, aString)
	if bad {
		return Fail(errWrongType)
	}
	var n int64
	expires := int64(never)
	if e != nil {
		var fine bool
		if n, fine = parseInt(e.text); !fine {
			return Fail(errNotInteger)
		}
		expires = e.expires
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return Fail(errOverflow)
	}
	n += by
	s.change(e, effect{op: opSet, key: key, text: strconv.FormatInt(n, 10), expires: expires})
	return Integer(n)
}
