package quorumstore

// Busy reports whether requests to nodes are under way.
func (s *Store) Busy() bool {
	for _, n := range s.nodes {
		if len(n.slots) > 0 {
			return true
		}
	}
	return false
}

// Known is how many attempts and elections the Store remembers.
func (s *Store) Known() (attempts, elections int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.elections {
		attempts += e.machine.Claims()
	}
	return attempts, len(s.elections)
}
