package redismodel

func (s *Server) doList(n name, args []string) Reply {
	var first, last int64
	if n == cmdLRange || n == cmdLTrim {
		var fine, fine2 bool
		first, fine = parseInt(args[2])
		last, fine2 = parseInt(args[3])
		if !fine || !fine2 {
			return Fail(errNotInteger)
		}
	}
	key := args[1]
	e, bad := s.lookupKind(key, aList)
	if bad {
		return Fail(errWrongType)
	}
	switch n {
	case cmdLLen:
		if e == nil {
			return Integer(0)
		}
		return Integer(int64(len(e.items)))
	case cmdLRange:
		return s.lrange(e, first, last)
	case cmdLTrim:
		return s.ltrim(e, key, first, last)
	case cmdLPush:
		return s.push(e, key, args[2:], opLPush)
	default: // cmdRPush
		return s.push(e, key, args[2:], opRPush)
	}
}

func (s *Server) push(e *entry, key string, items []string, op op) Reply {
	var n int64
	for _, item := range items {
		n = s.pushOne(e, key, item, op)
		e = s.data.entries[key]
	}
	return Integer(n)
}

func (s *Server) pushOne(e *entry, key, item string, op op) int64 {
	return int64(len(s.change(e, effect{op: op, key: key, text: item}).items))
}

func (s *Server) lrange(e *entry, first, last int64) Reply {
	if e == nil {
		return s.array()
	}
	begin, end := e.span(first, last)
	return s.texts(e, begin, end)
}

// ltrim keeps what LRANGE shows.
func (s *Server) ltrim(e *entry, key string, first, last int64) Reply {
	if e == nil {
		return okay
	}
	begin, end := e.span(first, last)
	for n := len(e.items); n > end; n-- {
		e = s.change(e, effect{op: opRPop, key: key})
	}
	for range min(begin, end) {
		e = s.change(e, effect{op: opLPop, key: key})
	}
	return okay
}

// span is the part of a list between two indices, which count from the end where
// they are negative: from begin to before end.
func (e *entry) span(first, last int64) (begin, end int) {
	n := int64(len(e.items))
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last += n
	}
	last = min(last, n-1)
	if first > last {
		return 0, 0
	}
	return int(first), int(last) + 1
}
