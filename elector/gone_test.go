package elector

import (
	"testing"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// A candidate with a longer lease than this one's asks less often, and is not taken for
// gone before it would have asked.
func TestGone(t *testing.T) {
	for longest, want := range map[time.Duration]bool{15 * time.Second: true, 40 * time.Second: false} {
		e := &Elector{cfg: Config{Lease: 15 * time.Second, LongestLease: longest, RequestTimeout: 2 * time.Second}}
		if gone := e.gone(store.Candidate{Seen: 30 * time.Second}); gone != want {
			t.Errorf("with leases of up to %v a candidate that was heard of 30 s ago is gone: %v", longest, gone)
		}
	}
}
