package documented

import (
	"testing"
	"time"
)

// A time to live is given in seconds, as documented, where it is a whole number
// of them, and else in milliseconds.
func TestTimes(t *testing.T) {
	for ttl, want := range map[time.Duration]times{
		time.Second:             {"EX", "EXPIRE", "SETEX", "1"},
		30 * time.Second:        {"EX", "EXPIRE", "SETEX", "30"},
		1500 * time.Millisecond: {"PX", "PEXPIRE", "PSETEX", "1500"},
		35 * time.Second / 30:   {"PX", "PEXPIRE", "PSETEX", "1166"},
	} {
		if got := timesOf(ttl); got != want {
			t.Errorf("%v: %+v, want %+v", ttl, got, want)
		}
	}
}
