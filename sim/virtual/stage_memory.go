package virtual

import (
	"context"

	"github.com/recount-io/recount/faults"
)

// FlushStore implements faults.World.
func (s *stage) FlushStore(context.Context) (string, error) {
	if s.store.down {
		return "", errDown
	}
	if s.store.do("EXISTS", s.store.keys.lease).Int == 0 {
		return "", faults.NoEffect("there was no lease to delete")
	}
	s.store.do("FLUSHALL")
	return "every key was deleted, the lease's among them", nil
}

// EvictKeys implements faults.World. Of the keys that are modelled, the lease's
// alone has a time to live.
func (s *stage) EvictKeys(context.Context) (string, error) {
	return s.wants("lease to evict", "the store ran out of memory and evicted the lease", "DEL", s.store.keys.lease)
}
