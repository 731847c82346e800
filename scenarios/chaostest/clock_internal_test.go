package chaostest

import (
	"testing"
	"time"
)

// A process that is held up between looking at one clock and at the other does not take
// that for a difference between them.
func TestBaseOfHeldUp(t *testing.T) {
	begin, passed, n := time.Now(), time.Duration(0), 0
	own := func() time.Duration {
		passed += time.Microsecond
		return passed
	}
	now := func() time.Time {
		if n++; n%4 != 0 {
			passed += 5 * time.Millisecond // before it looks
		}
		return begin.Add(passed)
	}
	if off := baseOf(own, now).Sub(begin); off < 0 || off > 2*time.Microsecond {
		t.Errorf("the clocks seem to be %v apart", off)
	}
}
