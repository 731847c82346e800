package live

import (
	"testing"

	"github.com/recount-io/recount/elector/redisstore"
)

// An entry that comes again is told from a new one for as long as it may come, and
// what is remembered does not grow with the run.
func TestRecent(t *testing.T) {
	var r recent
	entry := func(n int) redisstore.AuditEntry { return redisstore.AuditEntry{Request: uint64(n)} }
	most := 0
	for n := range 5 * remembered {
		if r.repeats(entry(n)) {
			t.Fatalf("entry %d came before", n)
		}
		for _, old := range []int{n, n - remembered/2, n - remembered + 1} {
			if old >= 0 && !r.repeats(entry(old)) {
				t.Fatalf("after %d entries, entry %d is new", n+1, old)
			}
		}
		most = max(most, len(r.now)+len(r.before))
	}
	if most > 2*remembered {
		t.Errorf("%d entries were remembered", most)
	}
}
