package virtual

import "testing"

// The right resource refuses what is smaller than the largest token that it took,
// and a read tells the last write that it took.
func TestFencing(t *testing.T) {
	var f fencing
	for _, w := range []struct {
		token   uint64
		taken   bool
		highest uint64
	}{{2, true, 2}, {2, true, 2}, {1, false, 2}, {0, true, 2}, {3, true, 3}, {2, false, 3}} {
		if taken, highest := f.write(w.token, "v"); taken != w.taken || highest != w.highest {
			t.Errorf("a write with token %d: %t, %d, want %t, %d", w.token, taken, highest, w.taken, w.highest)
		}
	}
	f.write(4, "last")
	f.write(3, "refused")
	if value, token := f.read(); value != "last" || token != 4 {
		t.Errorf("a read tells %q with token %d", value, token)
	}
}
