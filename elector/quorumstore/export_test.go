package quorumstore

// Busy says whether requests to nodes are under way.
func (s *Store) Busy() bool {
	for _, n := range s.nodes {
		if len(n.slots) > 0 {
			return true
		}
	}
	return false
}
