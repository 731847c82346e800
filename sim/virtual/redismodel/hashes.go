package redismodel

import (
	"math"
	"strconv"
)

func (s *Server) doHash(n name, args []string) Reply {
	if n == cmdHSet && len(args)%2 != 0 {
		return wrongNumber(args[0])
	}
	var by int64
	if n == cmdHIncrBy {
		var fine bool
		if by, fine = parseInt(args[3]); !fine {
			return Fail(errNotInteger)
		}
	}
	key := args[1]
	e, bad := s.lookupKind(key, aHash)
	if bad {
		return Fail(errWrongType)
	}
	switch n {
	case cmdHSet:
		return s.hset(e, key, args[2:])
	case cmdHIncrBy:
		return s.hincr(e, key, args[2], by)
	case cmdHLen:
		if e == nil {
			return Integer(0)
		}
		return Integer(int64(len(e.items) / 2))
	case cmdHGetAll:
		return s.texts(e, 0, math.MaxInt)
	case cmdHDel:
		return s.hdel(e, key, args[2:])
	case cmdHMGet:
		return s.hmget(e, args[2:])
	}
	i := -1
	if e != nil {
		i = e.field(args[2])
	}
	switch {
	case n == cmdHExists:
		return truth(i >= 0)
	case i < 0:
		return absent
	default: // cmdHGet
		return Text(e.items[i+1])
	}
}

func (s *Server) hmget(e *entry, fields []string) Reply {
	s.items = s.items[:0]
	for _, field := range fields {
		reply := absent
		if e != nil {
			if i := e.field(field); i >= 0 {
				reply = Text(e.items[i+1])
			}
		}
		s.items = append(s.items, reply)
	}
	return Reply{Kind: Array, Items: s.items}
}

func (s *Server) hset(e *entry, key string, pairs []string) Reply {
	var created int64
	for i := 0; i < len(pairs); i += 2 {
		if e == nil || e.field(pairs[i]) < 0 {
			created++
		}
		e = s.change(e, effect{op: opHSet, key: key, text: pairs[i], more: pairs[i+1]})
	}
	return Integer(created)
}

func (s *Server) hdel(e *entry, key string, fields []string) Reply {
	var found int64
	for _, field := range fields {
		if e == nil || e.field(field) < 0 {
			continue
		}
		e = s.change(e, effect{op: opHDel, key: key, text: field})
		found++
	}
	return Integer(found)
}

func (s *Server) hincr(e *entry, key, field string, by int64) Reply {
	var n int64
	if e != nil {
		if i := e.field(field); i >= 0 {
			var fine bool
			if n, fine = parseInt(e.items[i+1]); !fine {
				return Fail("ERR hash value is not an integer")
			}
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return Fail(errOverflow)
	}
	n += by
	s.change(e, effect{op: opHSet, key: key, text: field, more: strconv.FormatInt(n, 10)})
	return Integer(n)
}

// texts makes an array of the entry's items from the first one to before the
// end, or fewer if it has fewer.
func (s *Server) texts(e *entry, first, end int) Reply {
	s.items = s.items[:0]
	if e != nil {
		for _, text := range e.items[first:min(end, len(e.items))] {
			s.items = append(s.items, Text(text))
		}
	}
	return Reply{Kind: Array, Items: s.items}
}
