package redismodel

import (
	"math"
	"slices"
	"strings"
)

func (s *Server) doKey(n name, args []string) Reply {
	key := args[1]
	switch n {
	case cmdDel:
		return Integer(s.del(args[1:]))
	case cmdExists:
		var found int64
		for _, key := range args[1:] {
			if s.lookup(key) != nil {
				found++
			}
		}
		return Integer(found)
	case cmdType:
		if e := s.lookup(key); e != nil {
			return Reply{Kind: Status, Text: e.kind.String()}
		}
		return Reply{Kind: Status, Text: "none"}
	case cmdExpire:
		return s.expire(args, 1000, s.ms)
	case cmdPExpire:
		return s.expire(args, 1, s.ms)
	case cmdExpireAt:
		return s.expire(args, 1000, 0)
	case cmdPExpireAt:
		return s.expire(args, 1, 0)
	case cmdPersist:
		e := s.lookup(key)
		if e == nil || e.expires == never {
			return Integer(0)
		}
		s.change(e, effect{op: opExpire, key: key, expires: never})
		return Integer(1)
	case cmdTTL:
		return Integer(seconds(s.left(key, s.ms)))
	case cmdPTTL:
		return Integer(s.left(key, s.ms))
	case cmdExpireTime:
		return Integer(seconds(s.left(key, 0)))
	case cmdKeys:
		return s.matching(key)
	default: // cmdPExpireTime
		return Integer(s.left(key, 0))
	}
}

// matching are the keys that match a pattern. Redis gives them in any order,
// the model in that of their bytes.
func (s *Server) matching(pattern string) Reply {
	s.items = s.items[:0]
	for key, e := range s.data.entries {
		if !e.expired(s.ms) && matches(pattern, key) {
			s.items = append(s.items, Text(key))
		}
	}
	slices.SortFunc(s.items, func(a, b Reply) int { return strings.Compare(a.Text, b.Text) })
	return Reply{Kind: Array, Items: s.items}
}

func (s *Server) del(keys []string) int64 {
	var found int64
	for _, key := range keys {
		if e := s.lookup(key); e != nil {
			s.change(e, effect{op: opDel, key: key})
			found++
		}
	}
	return found
}

// left is the key's expiry time, in milliseconds after base: -2 if it is not
// there, -1 if it has none. It is 0 in the last millisecond.
func (s *Server) left(key string, base int64) int64 {
	e := s.lookup(key)
	switch {
	case e == nil:
		return -2
	case e.expires == never:
		return -1
	default:
		return e.expires - base
	}
}

// seconds rounds half up. It leaves alone what stands for no time.
func seconds(ms int64) int64 {
	if ms < 0 {
		return ms
	}
	return int64((uint64(ms) + 500) / 1000)
}

// expire is EXPIRE and its kin; base is what their time counts from.
func (s *Server) expire(args []string, unit, base int64) Reply {
	only, fault, bad := expireOptions(args[3:])
	if bad {
		return fault
	}
	at, fine := parseInt(args[2])
	if !fine {
		return Fail(errNotInteger)
	}
	if at > math.MaxInt64/unit || at < math.MinInt64/unit || at*unit > math.MaxInt64-base {
		return badExpiry(args[0])
	}
	at = at*unit + base
	e := s.lookup(args[1])
	if e == nil || !only.allows(e.expires, at) {
		return Integer(0)
	}
	s.expireAt(e, args[1], at)
	return Integer(1)
}

// expireAt gives the key an expiry time, or deletes it if that is over. Here
// the present millisecond counts as over, other than for a key that has it.
func (s *Server) expireAt(e *entry, key string, at int64) {
	if at <= s.ms {
		s.change(e, effect{op: opDel, key: key})
		return
	}
	s.change(e, effect{op: opExpire, key: key, expires: at})
}

// only is when EXPIRE does something: if the key has no expiry time, has one,
// or if the new one is later or earlier.
type only struct{ none, some, later, earlier bool }

func expireOptions(options []string) (only, Reply, bool) {
	var o only
	for _, option := range options {
		switch upper(option) {
		case "NX":
			o.none = true
		case "XX":
			o.some = true
		case "GT":
			o.later = true
		case "LT":
			o.earlier = true
		default:
			return o, Fail("ERR Unsupported option " + option), true
		}
	}
	switch {
	case o.none && (o.some || o.later || o.earlier):
		return o, Fail("ERR NX and XX, GT or LT options at the same time are not compatible"), true
	case o.later && o.earlier:
		return o, Fail("ERR GT and LT options at the same time are not compatible"), true
	default:
		return o, Reply{}, false
	}
}

// allows compares the present expiry time with the new one. No expiry time is
// later than any.
func (o only) allows(is, at int64) bool {
	switch {
	case o.none && is != never, o.some && is == never:
		return false
	case o.later && (is == never || at <= is):
		return false
	default:
		return !o.earlier || is == never || at < is
	}
}
