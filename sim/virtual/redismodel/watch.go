package redismodel

import "time"

// Changes counts how often a key has changed since it was asked for the first time: a
// client that watches the key compares two answers. now is as in Do.
func (s *Server) Changes(now time.Duration, key string) uint64 {
	s.begin(now)
	s.lookup(key) // one that has expired changes by that
	if s.changes == nil {
		s.changes = map[string]uint64{}
	}
	n := s.changes[key]
	s.changes[key] = n
	return n
}

// changed counts a change of a key, or of all, which somebody watches.
func (s *Server) changed(f *effect) {
	if f.op == opClear {
		for key := range s.changes { // in any order: the outcome is the same
			s.changes[key]++
		}
		return
	}
	if n, watched := s.changes[f.key]; watched {
		s.changes[f.key] = n + 1
	}
}
